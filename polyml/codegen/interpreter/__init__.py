"""A Program run on NumPy arrays, instance by instance: the oracle of every pass that needs no LLVM. The function to call is
`run.run`.
"""
