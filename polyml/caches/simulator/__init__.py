"""Exact misses of a Program in a hierarchy of caches, by LLVM code that makes its accesses. Use `simulate.simulate`.

Functions here that emit something append LLVM instructions to the function `fn`, and return the name of the value computed.
"""
