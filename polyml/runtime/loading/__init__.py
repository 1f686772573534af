"""LLVM text -> object code -> memory, and the runtime's own code there: the pool of threads, memory for local arrays. The door is
`load.load`.
"""
