"""A Program as text that reads back to an equal one: `writer.text`, with the grammar, and `reader.parse`.

The dump that people see is `codegen.ir.printer`.
"""
