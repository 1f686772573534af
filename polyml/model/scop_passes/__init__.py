"""Passes from a SCoP to a SCoP: expansion of scalars and arrays, node splitting, index-set splitting. Each file is one pass."""
