"""What a call goes through: the forms compiled for its types and sizes, the parts of a function that is not compiled as a whole, calls
that run as plain Python.
"""
