"""Methods of lists, slices, sums, `in`, `del`, `sorted` and comparisons with a list without elements."""

import itertools

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal


def asked(A, n):
    out = []
    for x in A:
        out.append(int(x))
    if out == []:
        raise ValueError("none")
    if out != [] and not out:
        raise ValueError("some")
    out.sort()
    return out[0], out[-1], n in out, n not in out, out.count(n), out


def changed(A, n):
    out = [int(x) for x in A if x > 0]
    out.insert(n, 99)
    out.reverse()
    del out[n]
    return out


def removed(A, n):
    out = [int(x) for x in A]
    s = sorted(out)
    r = sorted(out, reverse=True)
    t = out.copy()
    t.sort(reverse=True)
    out.remove(n)
    return s, r, t, out, sorted(A)


def sliced(A, n):
    out = []
    for x in A:
        out.append(x)
    a, b, c, d, e, f = out[1:], out[:n], out[-2:], out[n:-n], out[::-1], out[:]
    f.append(A.sum())
    total = 0
    for x in out[n:]:
        total += int(x)
    return a, b, c, d, e, f, out, len(out[n:]), total


def summed(A, n):
    w = [0] * abs(n)
    v = w[1:] + w
    u = [1] + v + [2, 3]
    w.sort()
    return len(v), u, 3 in u


def of_tuples(A, n):
    t = [(1, 2), (3, 4)]
    t.append((5, n))
    t.insert(n, (9, 9))
    t.reverse()
    del t[0]
    u = t[1:]
    u += t[:1]
    return t, u, t.copy()


def of_lists(A, n):
    rows = [[] for _ in range(3)]
    for i in range(3):
        for x in A:
            if int(x) not in rows[i]:
                rows[i].append(int(x) * i)
        rows[i].sort()
        rows[i].insert(0, 5)
        del rows[i][-1]
        rows[i].reverse()
    path, found = [], []
    for i in range(3):
        path.append(i)
        found.append(path[:])
        found.append(path.copy())
        found.append(sorted(rows[i]))
        found.append(path + [7])
    return rows, found, rows[0].count(5), len(rows[1][1:])


def is_constant(A, n):
    return 1 if n in [1, 2, 3] else 0


FUNCTIONS = [asked, changed, removed, sliced, summed, of_tuples, of_lists, is_constant]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_methods_of_lists_do_what_they_do_in_python(function):
    A = np.array([3, 1, 2, 1, -5, 7])
    for n in (1, -3, 9):
        assert_python(function, A, n)
    assert_python(function, A[:0], 0)
    assert_python(function, A[:1], 3)


def permutations(n):
    out, path, used = [], [], [False] * n

    def go():
        if len(path) == n:
            out.append(path[:])
            return
        for i in range(n):
            if not used[i]:
                used[i] = True
                path.append(i)
                go()
                path.pop()
                used[i] = False

    go()
    return out


def test_backtracking():
    for n in range(4):
        found = polyml.kernel(permutations, cache=False, fallback="error")(n)
        assert found == list(map(list, itertools.permutations(range(n))))


def deleted(n):
    out = [1, 2]
    del out[n]
    return out


def removed_one(n):
    out = [1, 2]
    out.remove(n)
    return out


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [(deleted, IndexError, "list assignment index out of range"), (removed_one, ValueError, "list.remove(x): x not in list")],
)
def test_errors_have_the_text_of_python(function, error, text):
    for called in (function, polyml.kernel(function, cache=False, fallback="error")):
        with pytest.raises(error) as caught:
            called(7)
        assert str(caught.value) == text


def floats(A, n):
    out = []
    for x in A:
        out.append(x)
    return A[0] in out


def floats_sorted(A, n):
    out = sorted(A)
    return len(out)


def by_a_key(A, n):
    out = [1, 2]
    out.sort(key=abs)
    return out


def in_steps(A, n):
    out = [1, 2]
    return out[::2]


def searched(A, n):
    out = [1, 2]
    return out.index(n)


def array_and_list(A, n):
    return (A + [n])[0]


REFUSED = {
    floats: "this must be an integer, not float64",
    floats_sorted: "this must be an integer, not float64",
    by_a_key: "`.sort()` of a list",
    in_steps: "a slice of a list with a step",
    searched: "`out.index(n)`",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    assert REFUSED[function] in refusal(function, np.ones(3), 2)
    assert_python(function, np.ones(3), 2, compiles=False)


def test_an_array_and_a_list_are_added_as_arrays():
    assert_python(array_and_list, np.ones(3), 2, compiles=False)
