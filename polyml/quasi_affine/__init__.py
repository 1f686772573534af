"""Quasi-affine expressions and conditions, which the model and the code share: `affine` defines them, `to_isl` and `from_isl`
convert them to isl's objects and back, `complexity` measures them.
"""
