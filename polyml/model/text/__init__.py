"""A SCoP as text, and back: `writer.text`, with the grammar, and `reader.parse`. The text of a program contains one.

The dump that people see is `model.core.printer`; this one has everything that a SCoP is.
"""
