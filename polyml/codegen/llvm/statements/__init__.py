"""Instances of statements -> instructions, for all the iterations that run together.

`instances.StatementEmitter` is the door. `locations` says where accesses are, `expressions` computes values, `prefix_sums` those
that pass from lane to lane, and `loop_elements` finds what an innermost loop may keep in registers.
"""
