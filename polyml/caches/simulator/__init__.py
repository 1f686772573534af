"""Exact misses of a Program in a hierarchy of caches, by LLVM code that makes its accesses. Use `simulate.simulate`."""
