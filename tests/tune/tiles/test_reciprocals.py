"""What costs of some tiles say of others."""

import numpy as np

from polyml.tune.tiles.reciprocals import expected


def cost(i, j):
    return 2.0 + 8.0 / j + 30.0 / (i * j)


def test_sums_of_reciprocals_are_found_again():
    known = {(i, j): cost(i, j) for i in (4, 16, 64) for j in (4, 32, 128)}
    others = np.array([(8, 8), (128, 16), (4, 64)])
    np.testing.assert_allclose(expected(known, others), [cost(*each) for each in others], rtol=0.02)


def test_few_that_are_known_say_which_loop_matters():
    known = {s: cost(*s) for s in ((64, 64), (8, 64), (64, 8))}
    short, long = expected(known, np.array([(8, 8), (128, 128)]))
    assert short > max(known.values()) and long < min(known.values()) * 1.02
