"""How many points sets have, as formulas of the sizes, and lower bounds on what any order of a kernel moves.

`cardinality.count` and `io_lower_bound.lower_bound` are the doors.
"""
