"""Programs and SCoPs run on terms instead of numbers, so that each value is known by the operations that made it: terms, the memory that
holds them, what instances do to it, conflicts of iterations that run at the same time, and two runs compared.
"""
