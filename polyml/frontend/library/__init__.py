"""NumPy's functions that are written in polyml's own language: texts that are put in the place of calls, and never run as Python.

Their subscripts are never negative and never outside of an array, since no test of them is made.
"""
