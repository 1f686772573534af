"""SCoP and dependences -> a schedule tree.

`compute` is the list of steps; the folders are the tree as a value, proofs, what is asked about loops, isl's scheduler and fusion,
tiling, GPUs, and schedules that users write.
"""
