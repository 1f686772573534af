"""From a typed kernel to a SCoP, and what is known of a SCoP.

`core` holds the values; `nest_passes`, `lowering` and `scop_passes` make them; `counting` counts their points; `text` writes and
reads them.
"""
