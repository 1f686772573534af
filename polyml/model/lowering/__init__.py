"""Lowering from typed syntax to a nest, and from a nest to a SCoP.

What is affine becomes sets and relations, what is not becomes regions, bounds become checks at entry. The entry points are
`resolve.resolve` and `extract.to_scop`; `pipeline.passes` has the list of the steps.
"""
