"""Arrays whose size data decide: what a mask selects, and where it is true. `places.FUNCTIONS` are NumPy's functions of this kind."""
