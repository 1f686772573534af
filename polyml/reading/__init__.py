"""Readers of what people write, each within limits: files, numbers, the text of a function, and the tokens of a text of polyml.

The doors are `userfiles.read_text`, `input_limits.whole_number`, `function_source.definition_of` and `text_scanner.opened`.
"""
