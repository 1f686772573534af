"""The parser turns Python's own syntax tree into the grammar of `frontend.syntax`: statements, expressions, allocations, inlined
functions.

The door is `parse.parse`.
"""
