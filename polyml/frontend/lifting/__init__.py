"""Functions that are not affine as a whole are divided: their affine parts become functions of their own, and Python runs the rest.

The door is `loop_lifting.lift_parts`.
"""
