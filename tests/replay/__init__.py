"""What the compiler makes of many programs, kept as text, so that two commits can be compared line by line.

subjects.py  the programs: all kernels, the array programs, random ones
capture.py   runs them with the polyml that is imported and writes one file for each
compare.py   captures a commit and the working tree, and prints where they differ
"""
