"""Tuples as values: a name that is bound to a tuple is a name for each of its parts."""
