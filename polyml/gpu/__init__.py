"""What a mapping of loops to threads does on a GPU: requests of warps, banks of shared memory, occupancy, registers."""
