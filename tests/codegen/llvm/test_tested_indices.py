"""Indices of regions are tested once, or before a loop, and an index that may have changed is tested again."""

import re

import numpy as np
import pytest

import polyml


def added(x, k):
    for i in range(k.shape[0]):
        x[k[i]] += 1.0


def swapped(x, k):
    for i in range(k.shape[0]):
        x[k[i]], x[i] = x[i], x[k[i]]


def moved_between(x, k):
    for i in range(k.shape[0]):
        j = k[i]
        x[j] = x[j] + 1.0
        j += 1
        x[j] = x[j] + 2.0


def indices_change(x, k):
    for i in range(k.shape[0]):
        x[k[i]] = x[k[i]] + 1.0
        k[i] = k[i] + 1
        x[k[i]] = x[k[i]] + 2.0


def one_side(x, k):
    for i in range(k.shape[0]):
        if x[i % x.shape[0]] > 0.0:
            x[k[i]] = -1.0
        x[k[i]] = x[k[i]] + 0.5


def asked_before(x, k):
    for i in range(k.shape[0]):
        if x[k[i]] > 0.0 and x[k[i] - 1] > 0.0:
            x[k[i]] = x[k[i] - 1]


def left_early(x, k):
    total = 0.0
    for i in range(k.shape[0]):
        while True:
            if k[i] > 3:
                break
            total += x[k[i]]
            k[i] += 1
        total += x[k[i]]
    return total


INDICES = ([0, 1, 2, 3], [3, -1, 0, -4], [0, 9, 1, 1], [-5, 0, 0, 0], [3, 3, 3, 2], [])


def outcome(function, x, k):
    """What a call returns or raises, and what its arguments are then."""
    try:
        result = function(x, k)
    except IndexError as error:
        result = re.search(r"index (-?\d+)", str(error))[0]
    return result, x.tolist(), k.tolist()


@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("function", [added, swapped, moved_between, indices_change, one_side, asked_before, left_early])
@pytest.mark.sweep("function", keep=7)
def test_each_index_is_the_one_of_plain_python(function, indices):
    kernel = polyml.kernel(function, threads=1, fallback="error", cache=False)
    arguments = lambda: (np.arange(5.0) - 1.0, np.array(indices, int))  # noqa: E731
    mine, plain = outcome(kernel, *arguments()), outcome(function, *arguments())
    assert mine == plain


def test_an_array_that_may_be_the_indices_is_tested_again():
    def same(x, k):
        for i in range(k.shape[0] - 1):
            x[k[i]] = x[k[i]] + 7
            x[k[i]] = x[k[i]] + 1

    kernel = polyml.kernel(same, threads=1, fallback="error", cache=False)
    mine, plain = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 0])
    for call, array in ((kernel, mine), (same, plain)):
        with pytest.raises(IndexError):
            call(array, array)
    assert mine.tolist() == plain.tolist()


def count_of_tests(function, *args):
    text = str(polyml.kernel(function, threads=1, cache=False, fallback="error").inspect_llvm(*args))
    return sum(line.startswith("outside") for line in text.splitlines())


def test_an_element_that_is_read_and_written_is_tested_once():
    assert count_of_tests(added, np.zeros(3), np.zeros(3, int)) == 1
    assert count_of_tests(indices_change, np.zeros(3), np.zeros(3, int)) == 2


def sorted_by_insertion(x, first):
    for i in range(1, x.shape[0]):
        value = x[i]
        j = i - 1 + first
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


def searched(x, first):
    j = first
    while j < x.shape[0] and x[j] < 3.0:
        x[j] += 0.5
        j += 1
    return j


def searched_too_far(x, first):
    j = first
    while j <= x.shape[0] and x[j] < 3.0:
        j += 1
    return j


def searched_from_end(x, first):
    j = x.shape[0] + first
    while x[j - 1] > 0.0:
        j -= 1
    return j


def both_ways(x, first):
    j = first
    steps = 0
    while 0 <= j and j < x.shape[0] and steps < 9:
        j += 1 if x[j] > 1.0 else -1
        steps += 1
    return j


def limited_by_a_float(x, first):
    j = first
    limit = 2.5
    while j < limit:
        x[j] += 1.0
        j += 1
    return j


def limit_moves(x, first):
    j = first
    end = x.shape[0]
    while j < end and x[j] >= 0.0:
        if x[j] > 2.0:
            end += 1
        j += 1
    return j


@pytest.mark.parametrize("first", [0, 1, -1, 2, -3, 5, 9])
@pytest.mark.parametrize("x", [[], [4.0], [0.5, 0.2, 0.1], [3.0, 1.0, 2.0, 0.0, 5.0]])
@pytest.mark.parametrize(
    "function", [sorted_by_insertion, searched, searched_too_far, searched_from_end, both_ways, limited_by_a_float, limit_moves]
)
@pytest.mark.sweep("function", keep=7)
def test_indices_of_while_loops_are_those_of_plain_python(function, x, first):
    kernel = polyml.kernel(function, threads=1, fallback="error", cache=False)

    def ends(call):
        own = np.array(x)
        try:
            result = call(own, first)
        except IndexError as error:
            result = re.search(r"index (-?\d+)", str(error))[0]
        return result, own.tolist()

    assert ends(kernel) == ends(function)


def test_indices_of_while_loops_are_tested_before_them():
    text = str(polyml.kernel(sorted_by_insertion, threads=1, cache=False, fallback="error").inspect_llvm(np.zeros(3), 0))
    fast = text[text.index("\nfast") :]
    assert "outside" not in fast[: fast.index("\nslow")]
