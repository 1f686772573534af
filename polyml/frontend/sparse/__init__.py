"""Sparse matrices as arguments: which objects are some, what their attributes are, and their products as loops over these."""
