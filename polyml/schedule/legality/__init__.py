"""The proof that an order keeps every dependence and runs every instance once: `check.check_legal`."""
