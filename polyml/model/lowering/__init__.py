"""Typed syntax -> nest -> SCoP: what is affine becomes sets and relations, complex and half-precision numbers become plain ones, bounds
become checks at entry. `extract.extract` is the door, and the list of these steps.
"""
