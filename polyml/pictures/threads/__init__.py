"""What the blocks, warps and threads of a GPU run, and what blocks keep in shared memory, as pictures."""
