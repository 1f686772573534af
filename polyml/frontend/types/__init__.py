"""The types of the arguments -> the type of every expression, by NumPy's rules of promotion and Python's. The door is `infer.infer`."""
