"""Packing: tiles of operands are copied next to each other before they are read many times. The function to call is `pack.pack`."""
