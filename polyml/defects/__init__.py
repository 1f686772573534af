"""Defects of polyml itself, from their bundles: repeated, made smaller, and where results begin to differ.

The doors are `repeat.repeat`, `reduce.reduced` and `bisect.bisect`.
"""
