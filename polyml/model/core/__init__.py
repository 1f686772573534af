"""The values of the model: SCoP and nest, quasi-affine expressions, dependences, reductions, the interface that callers see, and their
text.
"""
