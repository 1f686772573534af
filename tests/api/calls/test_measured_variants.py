"""Times of variants: how often calls are made for them."""

import numpy as np

from polyml.api.calls import measured_variants


def test_calls_are_few_however_short_they_are_and_get_copies(monkeypatch):
    monkeypatch.setattr(measured_variants, "_SECONDS", 1e9)
    given, seen = np.zeros(2), []

    def call(A):
        seen.append(A)
        A += 1

    assert measured_variants.least_seconds(call, [given]) >= 0
    assert len(seen) == 1_001 and given.tolist() == [0, 0] and seen[-1].tolist() == [1, 1]


def test_long_calls_are_made_three_times(monkeypatch):
    monkeypatch.setattr(measured_variants, "_SECONDS", 0)
    seen = []
    measured_variants.least_seconds(lambda: seen.append(0), [])
    assert len(seen) == 4
