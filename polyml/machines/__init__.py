"""Machines as data: processors, GPUs and systolic arrays with their rates, read from TOML files, presets and text.

Such text is `32 KiB` or `32K:8:64`. Nothing is measured here. The doors are `catalogue.preset` and `descriptions`, whose classes
the rest of polyml takes.
"""
