"""Regions -> instructions: their statements become blocks, and their indices are tested."""
