"""Kernels on a GPU beside libraries: how fast each is, and whether its results are right."""
