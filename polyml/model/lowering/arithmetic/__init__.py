"""Arithmetic of numbers that processors do not have: complex ones become two real ones, and half-precision ones float32.

`complex_parts.in_parts`, `conditional_extrema.with_extrema` and `conditional_flags.with_disjunctions` are passes; `half_arithmetic.widened`
rewrites one operation.
"""
