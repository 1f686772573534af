"""Loops of which the last statements alone carry numbers are divided: where that is so, and what it gives."""

from functools import partial

import numpy as np
import pytest

import polyml
from polyml.dtypes import I64
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.index_arrays.carried_rest import rest_apart
from polyml.model.index_arrays.kernel_names import NewNames
from polyml.pipeline.regions import shared_loops
from tests.model.index_arrays import rows as rows_of
from tests.model.modelling import VECTOR

INDICES = syntax.ArrayType(I64, 1)
arguments = partial(rows_of.arguments, spread=9.0)


def cheapest(ptr, x, y):
    best = np.inf
    place = -1
    for i in range(y.shape[0]):
        cost = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            cost = max(cost, abs(x[p]))
        if cost < best:
            best = cost
            place = i
    return best, place


def first_of_most(ptr, x, y):
    most = 0
    place = 0
    rounds = 0.0
    for i in range(2, y.shape[0]):
        value, steps = y[i], 0
        while value > 1.0:
            value *= 0.5
            steps += 1
        y[i] = value
        is_even = steps % 2 == 0
        if steps > most or i == 2:
            most = steps
            place = i + 1
        if is_even:
            rounds = 0.5 * rounds + value
    return most, place, rounds


def recurrence(ptr, x, y):
    state = 1.0
    made = np.zeros(y.shape[0])
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            total += x[p]
        state = 0.5 * state + total
        made[i] = state
    return state, made


def written(ptr, x, y):
    best = -1.0
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            total += x[p]
        if total > best:
            best = total
        y[i] = best
    return best


def read_in_the_search(ptr, x, y):
    best = 9.0
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            if total > best:
                break
            total += x[p]
        best = min(best, total) + 0.0 * i
    return best


def kept_on_some_paths(ptr, x, y):
    last = 0.0
    total = 0.0
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            total = 0.0
            for p in range(ptr[i], ptr[i + 1]):
                total += x[p]
        last = 0.5 * last + total
    return last


FUNCTIONS = [cheapest, first_of_most, recurrence, written, read_in_the_search, kept_on_some_paths]


def numbers(result):
    """All numbers of a result, in one array."""
    return np.concatenate([np.ravel(each) for each in (result if isinstance(result, tuple) else (result,))]).astype(float)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sweep("function", keep=2)
def test_they_give_what_python_gives(monkeypatch, function, fp, threads):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", 0)
    kernel = polyml.kernel(function, cache=False, fp=fp, threads=threads, fallback="error")
    rounding = {"rtol": 0, "atol": 0} if fp == "strict" else {"rtol": 1e-12, "atol": 1e-12}
    for seed, rows in ((0, 40), (1, 3), (2, 0), (3, 1), (4, 200)):
        wanted, own = arguments(seed, rows), arguments(seed, rows)
        right, got = function(*wanted), kernel(*own)
        np.testing.assert_allclose(numbers(got), numbers(right), **rounding)
        for one, other in zip(wanted, own):
            np.testing.assert_allclose(other, one, **rounding)


def divided(function):
    kernel = infer(parse(function), (INDICES, VECTOR, VECTOR))
    [loop] = [s for s in kernel.body if isinstance(s, syntax.For)]
    made = rest_apart(loop, kernel, NewNames(kernel))
    return [s.name for s in statements(made) if isinstance(s, syntax.Alloc)], sum(isinstance(s, syntax.For) for s in made)


def test_numbers_are_handed_from_the_first_loop_to_the_second():
    assert divided(cheapest) == (["cost_handed_0"], 2)
    assert divided(first_of_most) == (["is_even_handed_0", "steps_handed_0", "value_handed_0"], 2)
    assert divided(recurrence) == (["total_handed_0"], 2)


@pytest.mark.parametrize("function", [written, read_in_the_search, kept_on_some_paths])
def test_what_the_loops_inside_need_or_others_see_stays_whole(function):
    assert divided(function) == ([], 0)


def test_the_searches_go_to_threads_where_they_have_work():
    kernel = polyml.kernel(cheapest, cache=False, threads=2, fallback="error")
    kernel(*arguments(0))
    assert "runs in order" in kernel.explain()
    kernel(*arguments(0, 5000))
    assert "its iterations go to threads" in kernel.explain()
    assert kernel(*arguments(5, 5000)) == cheapest(*arguments(5, 5000))
