"""A SCoP as text, and back: `writer.text`, with the grammar, and `reader.parse`. The text of a program has one in it.

The dump that people see is `model.core.printer`; this one has all that a SCoP is.
"""
