"""Compiled kernels and schedules on disk: artifacts as data, keys that digest what code depends on, and files with checksums. The
door is `disk_cache.open_cache`.
"""
