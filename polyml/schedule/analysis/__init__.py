"""Questions about loops that a schedule is chosen by: strides, traffic, the role of each loop in a contraction."""
