"""Lists that grow: numbers, tuples and lists that are added to them, taken out and asked for."""
