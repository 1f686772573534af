"""The passes from a Program to a Program, one file each; `pipeline/passes.py` says in which order they run, and why."""
