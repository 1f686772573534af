"""The frontend turns a Python function into a typed kernel, which is a `syntax.Kernel`.

Nothing here knows isl. What works on the syntax as a whole stands in this folder: traversal, names, live ranges, and the
interpreter that defines what a kernel means.
"""
