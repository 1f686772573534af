"""Machines by name or from files: the host and what it was measured to reach, presets, descriptions that users write."""
