"""The parser turns Python's own syntax tree into the grammar of `frontend.syntax`.

Statements, assignments, expressions, calls, allocations and inlined functions have a module each. The door is `parse.parse`.
"""
