"""Numbers that loops only set to a constant: what they give, and that they have lanes and threads."""

import numpy as np
import pytest

import polyml


def same(A, B):
    equal = True
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] != B[i, j]:
                equal = False
    return equal


def found(A, B):
    any_of_them = False
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 9.0:
                any_of_them = True
    return any_of_them, B[0, 0]


def changed(A, B):
    rounds = 0
    change = 1
    while change > 0 and rounds < 5:
        change = 0
        rounds += 1
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                if A[i, j] > B[i, j]:
                    A[i, j] -= 0.5
                    change = 1
    return rounds, change


def two_values(A, B):
    kind = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > B[i, j]:
                kind = 1
            elif A[i, j] < B[i, j]:
                kind = 2
    return kind


def read_inside(A, B):
    seen = False
    count = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if not seen and A[i, j] > B[i, j]:
                seen = True
                count += 1
            if seen:
                count += 1
    return count


def left_early(A, B):
    bad = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > B[i, j]:
                bad = 1.5
        if bad > 1.0:
            break
    return bad, i


def of_rows(A, B):
    rows = 0
    for i in range(A.shape[0]):
        differs = 0
        for j in range(A.shape[1]):
            if A[i, j] != B[i, j]:
                differs = 1
        rows += differs
    return rows


def at_an_index(A, B):
    outside = False
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if B[i, int(A[i, j])] > 2.0:
                outside = True
    return outside


FUNCTIONS = [same, found, changed, two_values, read_inside, left_early, of_rows]


def arguments(kind):
    rng = np.random.default_rng(2)
    A = rng.integers(0, 4, (7, 11)).astype(float)
    B = {"equal": A.copy(), "other": rng.integers(0, 4, (7, 11)).astype(float), "nan": np.full((7, 11), np.nan)}[kind]
    if kind == "equal":
        A[6, 10] = B[6, 10] = 10.0
    return A, B


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sweep("function", keep=2)
def test_they_are_what_python_makes_of_them(function, fp, threads):
    kernel = polyml.kernel(function, cache=False, fallback="error", fp=fp, threads=threads)
    for kind in ("equal", "other", "nan"):
        own, other = arguments(kind), arguments(kind)
        got, wanted = kernel(*own), function(*other)
        assert repr(got) == repr(wanted)
        assert np.array_equal(own[0], other[0])


@pytest.mark.parametrize("function", [same, found])
def test_they_have_lanes(function):
    kernel = polyml.kernel(function, cache=False, fallback="error")
    assert "together" in kernel.inspect_ast(*(np.ones((700, 700)) for _ in range(2)))


def test_conditions_are_evaluated_whatever_was_found_before():
    kernel = polyml.kernel(at_an_index, cache=False, fallback="error")
    A, B = np.zeros((2, 3)), np.full((2, 3), 5.0)
    assert kernel(A, B) is True
    A[1, 2] = 7.0
    for call in (at_an_index, kernel):
        with pytest.raises(IndexError, match="index 7"):
            call(A, B)


def searched(A):
    best, place, is_found = A[0], -1, 0
    for i in range(A.shape[0]):
        if A[i] < best:
            best = A[i]
            place = i
            is_found = 1
    return best, place, is_found


def test_numbers_that_a_search_sets_stay_with_it():
    A = np.random.default_rng(4).random(5000)
    kernel = polyml.kernel(searched, cache=False, fallback="error")
    assert kernel(A) == searched(A)
    assert "hit" not in kernel.inspect_ast(A)
