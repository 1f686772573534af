"""Programs and SCoPs run on terms instead of numbers, so that each value is identified by the operations that made it.

Here are terms, the memory that holds them, the effects of instances, conflicts of iterations that run at the same time, and the
comparison of two runs.
"""
