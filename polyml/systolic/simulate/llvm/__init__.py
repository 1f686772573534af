"""Folds run as machine code: the code of one fold, values in lanes, and blocks of cycles. The door is `engine.Compiled`."""
