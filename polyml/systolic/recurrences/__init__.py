"""Loop nests as uniform recurrences: where each value comes from, by which steps it travels, and what a space-time mapping of it
is. Begin with `nests.nests` and `layouts.layouts`.
"""
