"""Type inference gives each expression a type, by NumPy's rules of promotion and Python's.

The door is `infer.infer`.
"""
