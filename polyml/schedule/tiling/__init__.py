"""Tiles: over time, of blocked factorizations, of contractions, of all other bands, and chunks of rows around nests.

The passes are `time_tiling`, `blocked_factorization`, `contraction`, `cpu_mapping` and `row_chunks`; the other modules are parts of
these.
"""
