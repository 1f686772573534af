"""The elements of arrays as pictures: what a kernel reads and writes, and where its misses fall."""
