"""Quasi-affine expressions and conditions, which the model and the code share: `affine` has them, `to_isl` and `from_isl` hand them to isl
and take them back, `complexity` measures them.
"""
