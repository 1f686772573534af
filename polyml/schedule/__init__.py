"""Scheduling: from a SCoP and its dependences to a schedule tree.

`compute` runs the passes; the folders are the tree as a value, proofs, analyses of loops, isl's scheduler and fusion, tiling, GPUs,
and schedules that users write.
"""
