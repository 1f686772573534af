"""Analyses of loops by which a schedule is chosen: strides, traffic, the role of each loop in a contraction."""
