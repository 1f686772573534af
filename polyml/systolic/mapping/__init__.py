"""The mappings of a nest onto an array: found and proved, by the names that users know or as they write them, and in order of their
cost. Begin with `dataflows.plans`, which finds mappings, or `parse.plan`, which reads one.
"""
