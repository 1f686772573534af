"""Questions about a Program that passes decide by: which iterations touch the same element, what a shape of a nest costs, ranges of
integers.
"""
