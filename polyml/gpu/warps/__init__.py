"""What the requests of warps move, counted for all of them at once: sectors and lines, passes through the banks of shared memory.

The door is `coalescing.requests`.
"""
