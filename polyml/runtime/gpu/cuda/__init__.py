"""CUDA devices: one driver over two libraries, pycuda and NVIDIA's cuda.bindings. The door is `driver.open_device`."""
