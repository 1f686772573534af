"""Misses, reuse and footprints as formulas of the sizes, from isl relations.

The doors are `reuse_distances.distances` and `footprints.footprints`.
"""
