"""Functions that are not affine as a whole: the loops that are get functions of their own, and Python runs the rest.

The door is `loop_lifting.lift_parts`.
"""
