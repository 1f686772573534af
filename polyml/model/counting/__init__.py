"""How many points sets have, as formulas of the sizes, and lower bounds on what any order of a kernel's instances moves.

The entry points are `cardinality.count` and `io_lower_bound.lower_bound`.
"""
