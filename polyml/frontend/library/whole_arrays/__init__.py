"""NumPy's functions of whole arrays as texts of others, which are inlined like functions of users: `texts.TEXTS`."""
