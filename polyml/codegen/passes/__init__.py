"""Passes from a Program to a Program, one file each: full tiles, private arrays, partial results, prefetches, register tiles, vectors."""
