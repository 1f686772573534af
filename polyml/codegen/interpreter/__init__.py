"""A Program run on NumPy arrays, instance by instance: the oracle of every pass that needs no LLVM. The door is `run.run`."""
