"""A call on a systolic array: mappings, cycles, traffic, energy, and simulated values beside the processor's.

The doors are `report.report` and `comparison.compared`.
"""
