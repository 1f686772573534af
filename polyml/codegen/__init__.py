"""SCoP and schedule -> `ir.program.Program` -> LLVM text.

`astgen` makes the loops, `passes` change them, `llvm` prints them, `interpreter` runs them without LLVM.
"""
