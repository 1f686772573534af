"""Sizes that data decide, compared as the program runs: operands that fit together, parts that are assigned, and NumPy's errors."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python


def means(v, w, p):
    k = p % 3
    return np.bincount(k, v[: k.shape[0]]) / np.bincount(k)


def selections(v, w, p):
    one, other = v[v > 3], w[w < p[0] * 5]
    both = one * other - one
    return both.sum(), both.shape[0], both


def copies(v, w, p):
    for i in range(p.shape[0] - 3):
        v[p[i] : p[i + 1]] = w[p[i + 2] : p[i + 3]]
    return v.sum()


def sums(v, w, p):
    total = v[0] * 0
    for i in range(p.shape[0] - 3):
        total += (v[p[i] : p[i + 1]] + w[p[i + 2] : p[i + 3]]).sum()
    return total


def shifts(v, w, p):
    j = p[0]
    v[j + 1 :] = v[j:-1]
    return v * 1


def updates(v, w, p):
    v[p[0] : p[1]] += w[p[2] : p[3]]
    return v[0]


def rows(v, w, p):
    M, T = v.reshape(5, 2) * 1, w.reshape(5, 2)
    M[p[0] : p[1], :] = T[p[2] : p[3], 1:2]
    return M, (M[p[0] : p[1]] * T[p[2] : p[3]]).sum(axis=0)


def three(v, w, p):
    return np.where(v[p[0] : p[1]] > 4, w[p[2] : p[3]], v[p[1] : p[2]]).sum()


def of_lists(v, w, p):
    one, other = [x for x in v if x > p[0]], [x for x in w if x > p[1]]
    return (np.array(one, dtype=np.float64) * np.array(other, dtype=np.float64)).sum()


FUNCTIONS = [means, selections, copies, sums, shifts, updates, rows, three, of_lists]
PLACES = [
    (0, 2, 4, 6, 8, 10), (0, 3, 5, 8, 9, 9), (1, 2, 3, 3, 4, 4), (0, 4, 2, 3, 5, 6), (2, 2, 3, 4, 4, 4), (5, 6, 0, 4, 4, 1), (4, 4, 4, 4, 4, 4)
]  # fmt: skip


@pytest.mark.parametrize("places", PLACES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_sizes_that_data_decide_fit_as_in_numpy(function, places):
    for dtype in ("f8", "i4"):
        assert_python(function, np.arange(10).astype(dtype), (np.arange(10) * 3 % 11).astype(dtype), np.array(places))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("function", "places"), [(sums, (0, 4, 2, 5)), (selections, (1, 0, 0, 0)), (rows, (0, 2, 1, 4)), (three, (0, 2, 5, 8))]
)
def test_sizes_that_do_not_fit_raise_the_error_of_numpy(function, places, threads):
    with pytest.raises(ValueError, match="broadcast") as expected:
        function(np.arange(10.0), np.arange(10.0), np.array(places))
    for _ in range(2):
        with pytest.raises(ValueError, match="broadcast") as found:
            polyml.kernel(cache=False, fallback="error", threads=threads)(function)(
                np.arange(10.0), np.arange(10.0), np.array(places)
            )
        assert str(found.value) == str(expected.value)


def test_an_error_behind_what_is_written_has_no_sizes():
    def written(v, p):
        v[0] = 7.0
        v[p[0] : p[1]] = v[p[2] : p[3]]

    v = np.arange(10.0)
    with pytest.raises(ValueError, match="^could not broadcast input array into another shape$"):
        polyml.kernel(cache=False, fallback="error")(written)(v, np.array((0, 4, 2, 5)))
    assert v[0] == 7.0 and v[1] == 1.0
