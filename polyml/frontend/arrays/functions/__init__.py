"""NumPy's functions of whole arrays, by its headings: elements where they only rearrange, loops where they add up.

The door is `table.called`.
"""
