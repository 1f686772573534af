"""NVIDIA's compiler and disassembler, which make text and machine code of CUDA C++ without a GPU."""
