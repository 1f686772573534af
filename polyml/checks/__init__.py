"""Checkers of passes: what each pass made is run beside what it was given, at small sizes, and compared element by element.

Kernels and nests run on random data; SCoPs and programs run on terms, so that each element is identified by the operations that
made it. The door is `watcher.Watcher`.
"""
