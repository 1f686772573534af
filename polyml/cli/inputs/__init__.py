"""What commands are given and how they print: kernels in files, arguments from specs, numbers, tables."""
