"""Texts that the frontend refuses, by topic, each with the message in full. `tests/frontend/test_errors.py` runs them."""
