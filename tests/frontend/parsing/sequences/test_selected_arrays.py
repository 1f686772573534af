"""np.select in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.define import define
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "float16", "int64", "int8", "bool", "uint64"]


def selected(x, y):
    some = np.select([x < 2, x < 5], [x, y], default=x[0]), np.select((x < 2, y > 3), (y * 2, x))
    return some, np.select([x < 2], [y], x), np.select([x < 2, x < 5], [x * 1, y * 2], x.max())


def numbers_among_arrays(x, y):
    return np.select([x < 2, y < 5], [1.5, x], y), np.select([x < 2, x < 5], [x, 2], -1), np.select([x < 5], [1.5], 2)


def of_other_shapes(A, x):
    rows = np.select([A < 2, x > 3], [A, x], 0)
    return rows, np.select(condlist=[A < 2, (x > 3)[None, :]], choicelist=[x, A[:, :1]], default=x[0])


def by_name(x, s):
    conditions, choices = (x < 2, x < 5), (s, x)
    return np.select(conditions, choices)


def by_masks(x, m):
    return np.select([m, x < 3], [x, x + 1])


def of_numbers(x):
    return np.select([x[0] < 1, x[0] < 2], [1, 2])


@pytest.mark.parametrize("kind", KINDS)
def test_choices_of_each_type_are_numpys(kind):
    x = (np.random.default_rng(0).random(9) * 9).astype(kind)
    for other in KINDS:
        y = (np.random.default_rng(1).random(9) * 9).astype(other)
        A = (np.random.default_rng(2).random((4, 9)) * 9).astype(other)
        check(selected, (x, y), settings=({},))
        check(of_other_shapes, (A, x), settings=({},))
        if "uint64" not in (kind, other):
            check(numbers_among_arrays, (x, y), settings=({},))
    check(by_masks, (x, x > 3), settings=({},))


def test_choices_are_the_same_in_each_setting():
    x = np.random.default_rng(0).random(3000) * 9
    check(selected, (x, x[::-1].copy()), (x[:1], x[:1]))
    check(by_name, (x, 1.5), (x, 3), (x[:0], 2.0))


@pytest.mark.parametrize("default", [300, -1, 2])
@pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "bool"])
def test_ints_of_python_are_what_numpy_makes_of_them(kind, default):
    x = np.array([1, 5]).astype(kind)
    for number in ("n", str(default)):
        for call in (f"np.select([x > 3], [x], {number})", f"np.select([x > 3], [{number}], x)"):
            runs_as_python(define(f"def f(x, n):\n    return {call}\n"), x, default)


def test_other_calls_are_left_to_python():
    runs_as_python(of_numbers, np.ones(3))
    runs_as_python(by_masks, np.ones(3), np.ones(3, int))
    runs_as_python(selected, np.ones(3), np.ones(2))
    with pytest.raises(polyml.NotAffineError, match="conditions that may be none"):
        polyml.kernel(fallback="error")(by_masks)(np.ones(3), np.ones(3, int))
