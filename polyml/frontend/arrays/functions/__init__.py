"""NumPy's functions of whole arrays, by its headings: those that only rearrange become views, those that add up become loops.

Each function takes (builder, args, options, loc): the values of its operands, its other arguments by name, and the call's place.
The door is `function_table.called`.
"""
