"""Python's own syntax tree -> the grammar of `frontend.syntax`: statements, expressions, allocations, calls of Python functions.

The door is `parse.parse`.
"""
