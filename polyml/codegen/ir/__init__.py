"""The Program, loops over instances of statements, with its integer expressions, accesses, array layouts, the words of the entry, and its
text.
"""
