"""Passes from a nest to a nest, before anything is an isl set. Each file is one pass.

Scalars that only name a value are substituted, small loops are unrolled, arrays that only pass a value on are removed.
"""
