"""Tiles: blocks of contractions, blocked factorisations, tiles over time, chunks of rows, and what of it is shared by threads.

`cpu_mapping` puts them on a tree.
"""
