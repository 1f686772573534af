"""The Program, which is loops over instances of statements, with its accesses, array layouts, the arguments of compiled code, and
its text.
"""
