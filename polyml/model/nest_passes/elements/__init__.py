"""Loops over the elements of arrays become one loop, as they would be if the program were written in loops.

`element_loops` finds such loops and says which may be one; `array_contraction`, `in_place_sums` and `update_chains` are the passes.
"""
