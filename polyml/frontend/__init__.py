"""A Python function -> a typed kernel, which is `syntax.Kernel`.

Nothing here knows isl. What works on the syntax as a whole stands in this folder: traversal, names, live ranges, the interpreter that
defines what a kernel means.
"""
