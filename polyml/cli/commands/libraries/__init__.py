"""`polyml build`."""
