"""A mapping on an array of a given size: its folds, cycles, busy PEs, traffic, and what waits between folds. The door is
`folds.fold`.
"""
