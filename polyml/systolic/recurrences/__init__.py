"""Nests as uniform recurrences and the space-time mappings that keep them: where each value comes from and which way it takes."""
