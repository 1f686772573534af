"""Misses, reuse and footprints as formulas of the sizes, from isl relations.

Other folders call `reuse_distances.distances`, `reuse_classes.reuse`, `footprints.footprints` and
`set_conflicts.strided_walks`.
"""
