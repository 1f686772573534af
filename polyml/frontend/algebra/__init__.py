"""Algebra: array expressions are rewritten by rules of linear algebra, before they become loops: `rewrite.rewritten`.

A @ B @ x   ->   A @ (B @ x)
"""
