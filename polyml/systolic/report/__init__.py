"""A call on a systolic array: mappings, cycles, traffic, energy, and simulated values beside the processor's.

Begin with `report.report` and `comparison.compared`.
"""
