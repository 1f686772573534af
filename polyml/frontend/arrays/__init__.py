"""Array expressions of NumPy become loops over elements.

`lower` walks the statements, `views` are arrays as functions from a point to an element, and `loop_builder` is what the functions
of arrays, in `functions`, use. The door is `lower.lowered`.
"""
