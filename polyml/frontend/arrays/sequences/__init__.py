"""Sequences that are written out, as arrays and conditions: `np.array` of lists, and comparisons of tuples; and views as parts of results."""
