"""The compiler as the list of its stages, from a parsed kernel to machine code, and how much work one compilation may take. The
list is `passes`, and the door is `compile.compile`.
"""
