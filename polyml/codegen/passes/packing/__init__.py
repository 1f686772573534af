"""Packing: tiles of operands are copied next to each other before they are read many times. The door is `pack.pack`."""
