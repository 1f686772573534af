"""Lists in a list of lists that are replaced by new ones, beside plain Python."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python


def rows(n, k):
    w = [[] for _ in range(n)]
    for i in range(n):
        w[i] = [i, i + 1]
        w[i].append(3)
    w[k] = []
    return w


def crossed(n, x):
    w = [[1.0], [2.0, 3.0]]
    for i in range(n):
        w[i % 2] = [v * 2 for v in w[(i + 1) % 2] if v < x]
    return w


def tuples(n):
    w = [[(0, 1)] for _ in range(n)]
    for i in range(n):
        w[i] = [(i, j) for j in range(i)]
    w[-1] = [(5, 6)] + [(7, 8)]
    return w, [len(row) for row in w]


def built(n):
    w = [[] for _ in range(n)]
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j * i)
        w[i] = row
    return w


def best_paths(costs):
    paths = [[0] for _ in range(costs.shape[0])]
    score = np.zeros(costs.shape[0])
    for i in range(1, costs.shape[0]):
        for j in range(i):
            if score[j] + costs[j] > score[i]:
                score[i] = score[j] + costs[j]
                paths[i] = paths[j] + [i]
    return paths, score


def copies(n):
    w = [[i] for i in range(n)]
    w[0] = sorted([3, 1, 2])
    w[1] = w[0][1:]
    w[2] = list(w[1])
    w[2].append(9)
    total = 0
    for i, x in enumerate(w[0]):
        total += i * x
    return w, total


def grown(n):
    w = []
    for i in range(n):
        w.append([i])
        w[i] = [i, i]
        w[i // 2] = [x + 1 for x in w[i // 2]]
    return w


def named(n):
    w = [[i] for i in range(n)]
    row = w[0]
    w[0] = [5]
    row.append(3)
    return w, row


def unpacked(n):
    w = [[i] for i in range(n)]
    a, b = w[0], w[1]
    w[0] = [5]
    a.append(3)
    return w, b


def gone_over(n):
    w = [[i, 1] for i in range(n)]
    s = 0
    for v in w[0]:
        w[0] = [7]
        s += v
    return s


def over_all(n):
    w = [[i] for i in range(n)]
    for row in w:
        w[0] = [8]
        row.append(2)
    return w


def put(w, i):
    w[i] = [4, 4]


def of_another(n):
    w = [[i] for i in range(n)]
    put(w, 0)
    return w


def handed_back(row):
    return row


def through_a_function(n):
    w = [[i] for i in range(n)]
    row = handed_back(w[0])
    w[0] = [3]
    row.append(1)
    return w


def from_a_name(n):
    w, row = [[i] for i in range(n)], [1, 2]
    w[0] = row
    row.append(3)
    return w


CALLS = [
    (rows, (3, 1)), (rows, (3, -1)), (rows, (1, 0)), (crossed, (5, 100.0)), (crossed, (0, 1.0)), (crossed, (4, 3.5)), (tuples, (4,)), (tuples, (1,)),
    (built, (5,)), (built, (0,)), (built, (1,)), (best_paths, (np.array([2.0, -1.0, 3.0, 0.5]),)), (best_paths, (np.zeros(0),)),
    (copies, (4,)), (copies, (3,)), (grown, (6,)), (grown, (0,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given"), CALLS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_lists_are_replaced(function, given):
    assert_python(function, *given)


def test_an_index_outside_raises_the_error_of_python():
    for n, k in ((3, 3), (3, -4), (0, 0)):
        with pytest.raises(IndexError, match="^list assignment index out of range$"):
            polyml.kernel(fallback="error")(rows)(n, k)


@pytest.mark.parametrize(
    "function", [named, unpacked, gone_over, over_all, of_another, through_a_function, from_a_name], ids=lambda f: f.__name__
)
def test_what_names_may_stand_for_is_refused(function):
    with pytest.raises(polyml.PolymlError, match="may stand for it|of which the loop replaces elements|may go on with|is neither"):
        polyml.kernel(fallback="error", cache=False)(function)(3)
    assert polyml.kernel(fallback="silent", cache=False)(function)(3) == function(3)
