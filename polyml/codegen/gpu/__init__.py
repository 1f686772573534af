"""Launches of kernels on GPUs: the loops of a schedule on blocks and threads. The door is `program.gpu_program`."""
