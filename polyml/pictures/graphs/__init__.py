"""Graphs and bars: which nests hand arrays on to which, and where the time of a compilation went."""
