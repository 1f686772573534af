"""What commands are given and how they print: options as values, kernels in files, arguments, numbers, tables. The doors are
`kernel_file.load_kernel_file`, `arguments.call_arguments` and `output`.
"""
