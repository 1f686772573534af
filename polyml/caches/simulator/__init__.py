"""Exact misses of a Program in a hierarchy of caches, by LLVM code that makes its accesses. The door is `simulate.simulate`."""
