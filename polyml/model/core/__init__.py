"""The values of the model: SCoP, nest, dependences and reductions, the interface that callers see, and their text."""
