"""What runs kernels on GPUs: drivers of devices, and calls through them. The door is `call.run`."""
