"""Compiled kernels and schedules on disk: artifacts as data, keys that digest what code depends on, sealed files."""
