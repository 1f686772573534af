"""Dependences between single references, with distance and direction vectors: `direct.dependences`, and their text."""
