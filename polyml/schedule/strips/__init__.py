"""Strips of rows: nests share a parallel loop over strips, in which what they hand on stays in the second cache.

`row_nests` reads nests from a tree and writes them back, `shared_loops` says which loops they may share, `groups` searches the nests
that gain from it, and `row_strips` chooses the rows of a strip and makes the tree.
"""
