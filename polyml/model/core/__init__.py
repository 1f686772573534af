"""The values of the model: SCoP, nest, quasi-affine expressions, dependences and reductions, the interface that callers see, and
their text.
"""
