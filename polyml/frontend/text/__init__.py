"""A kernel as text, and back: `writer.text` and `reader.parse`, whose grammar is in `writer`.

What the texts of later stages share with it stands here too: constants, types, expressions over leaves of any kind.
"""
