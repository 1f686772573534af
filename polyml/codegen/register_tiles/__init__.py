"""Register tiles of a nest: which are legal, in `legal_tilings`, and the nest in one of them: `register_tile.register_tile`."""
