"""Small systems of linear constraints over integers, decided without isl: Pugh's Omega test, operations on the linear expressions
(rows) that systems consist of, and case splits.
"""
