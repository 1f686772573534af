"""The CUDA text of kernels, compiled by nvcc where there is one (`pip install polyml[gpu-test]`): no GPU is needed, and nothing runs."""
