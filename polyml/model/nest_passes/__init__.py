"""Passes from a nest to a nest, before anything is an isl set: scalars that are only names, small loops written out, arrays that hold a
value on its way. Each file is one pass.
"""
