"""The Program, loops over instances of statements, with its accesses, array layouts, the words of the entry, and its
text.
"""
