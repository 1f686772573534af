"""The functions that kernels call where C has other rules than Python and NumPy, or none, as texts in which words in capitals are left open."""
