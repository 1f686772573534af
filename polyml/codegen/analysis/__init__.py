"""The analyses of a Program that passes decide by: which iterations access the same element, what one way of running a nest
costs, and which values integers may take.
"""
