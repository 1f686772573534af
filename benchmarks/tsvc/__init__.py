"""The Test Suite for Vectorizing Compilers in Python: its loops by polyml, C compilers and numba."""
