"""What instructions and functions cost, counted in simple instructions."""

from __future__ import annotations

OPERATIONS = {  # simple instructions, a division as eight
    "exp": 34.0, "exp2": 34.0, "expm1": 44.0, "sinh": 54.0, "cosh": 51.0, "tanh": 46.0,
    "log": 38.0, "log2": 40.0, "log10": 41.0, "log1p": 58.0, "arcsinh": 82.0, "arccosh": 88.0, "arctanh": 54.0,
    "sin": 52.0, "cos": 52.0, "tan": 72.0, "arcsin": 48.0, "arccos": 52.0, "arctan": 58.0, "arctan2": 80.0,
    "pow": 106.0, "hypot": 40.0, "cbrt": 35.0,
}  # fmt: skip

EASY_POWERS = (2, 3, -1, 0.5)

MOST_APART = 4  # elements that lanes are apart in a row of memory for which the row is loaded whole
