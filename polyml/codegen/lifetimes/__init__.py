"""How long the elements of local arrays have values, on the finished loops of a Program."""
