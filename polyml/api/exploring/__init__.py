"""Pages that explore and steer kernels: `Kernel.explore`."""
