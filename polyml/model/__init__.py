"""A typed kernel -> a SCoP, and what is known of one: `core` has the values, `nest_passes`, `lowering` and `scop_passes` make them,
`counting` counts their points.
"""
