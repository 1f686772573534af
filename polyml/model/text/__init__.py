"""A SCoP as text, which `writer.text` writes and `reader.parse` reads. The text of a whole program contains one.

`model.core.printer` makes a shorter text for people; this one holds everything that a SCoP does.
"""
