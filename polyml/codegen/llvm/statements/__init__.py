"""Instances of statements become instructions, for all iterations that run together. The door is `instances.StatementEmitter`.

`locations` says where accesses are, `expressions` computes values, `prefix_sums` computes those that are passed from lane to
lane, and `loop_elements` finds what an innermost loop may keep in registers.
"""
