"""Defects of polyml itself, from their bundles: repeated, made smaller, and where results begin to differ.

Doors: `repeat.repeat`, `reduce.reduced` and `bisect.bisect`.
"""
