"""A Program as text with all that it is, and back: `writer.text`, with the grammar, and `reader.parse`.

The dump that people see is `codegen.ir.printer`.
"""
