"""Launches of kernels on GPUs: the loops of a schedule on blocks and threads, and their text in OpenCL C or CUDA C++. The doors
are `program.gpu_program` and `printer.source`.
"""
