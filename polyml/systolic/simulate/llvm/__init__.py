"""Folds run as machine code: the code of one fold, values in vectors, and blocks of cycles. The door is `engine.CompiledEngine`."""
