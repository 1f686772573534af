"""Remarks on kernels that run on GPUs and systolic arrays."""
