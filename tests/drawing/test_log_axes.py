"""Marks along logarithmic axes."""

import random

from polyml.drawing.log_axes import marks


def test_every_axis_has_marks_at_round_values_and_not_too_many():
    generator = random.Random(0)
    for _ in range(500):
        low = 10 ** generator.uniform(-9, 12)
        high = low * 10 ** generator.uniform(0.45, 9)
        found = marks(low, high)
        assert 1 <= len(found) <= 7 and all(low <= value <= high for value in found) and found == sorted(found)
        assert all(f"{value:e}"[0] in "1235" and set(f"{value:e}".split("e")[0][1:]) <= set(".0") for value in found)
