"""Instances of regions that run together, as the lanes of vectors: which of them are at a place of the code is a mask."""
