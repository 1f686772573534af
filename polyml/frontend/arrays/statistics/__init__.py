"""NumPy's reductions that leave NaN out, and comparisons of whole arrays. `nans.FUNCTIONS` and `comparisons.FUNCTIONS` are the functions."""
