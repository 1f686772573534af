"""`while`, `break`, `continue`, the `else` of loops and early returns mean what they mean in Python, interpreted and compiled."""

import warnings

import numpy as np
import pytest

import polyml
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse, refused
from polyml.frontend.types.infer import infer

VALUES = [
    np.array(values, dtype=float)
    for values in ([1, 2, 0, 5], [0, 1, 1, 1], [3, -1, 2, 7], [-2, 5, 0, -1], [4, 4, 4, 4], [8, 1, 6, 0])
]


def breaks(A):
    s = 0.0
    for i in range(A.shape[0]):
        if A[i] == 0:
            break
        s += A[i]
    return s


def continues(A):
    s = 0.0
    for i in range(A.shape[0]):
        if A[i] < 0:
            continue
        s += A[i]
        A[i] = s
    return s


def breaks_and_continues(A):
    s = 0.0
    for i in range(A.shape[0]):
        if A[i] < 0:
            continue
        if A[i] > 5:
            break
        for j in range(A.shape[0]):
            if A[j] > A[i]:
                break
            if A[j] == 0:
                continue
            s += A[i] * A[j]
    return s


def else_of_a_for(A):
    place = -5
    for i in range(A.shape[0]):
        if A[i] == 0:
            place = i
            break
    else:
        place = -1
        A[0] = 9.0
    return place


def else_without_break(A):
    s = 0
    for i in range(A.shape[0]):
        if A[i] == 0:
            continue
        s += 1
    else:
        s += 100
    return s


def break_in_the_else(A):
    s = 0
    for i in range(4):
        for j in range(i):
            if A[j] < 0:
                break
        else:
            s += 1
            if A[i] > 4:
                break
        s += 10
    return s


def else_of_a_while(A):
    n = 0
    while n < 4 and A[n] != 0:
        if A[n] > 5:
            n += 100
            break
        n += 1
    else:
        n += 1000
    return n


def endless(A):
    n = 0
    while True:
        A[n % 4] += 1
        n += 1
        if A[n % 4] > 5 + n % 3:
            break
    return n


def never(A):
    while False:
        A[0] = 7
    else:
        A[1] = 8


def continue_tests_again(A):
    n = 0
    while n < 4:
        n += 1
        if A[n - 1] < 0:
            continue
        A[n - 1] = -A[n - 1]
    return n


def early_return(A):
    for i in range(A.shape[0]):
        if A[i] < 0:
            return i, A[i]
    return -1, 0.0


def return_of_nothing(A):
    for i in range(A.shape[0]):
        if A[i] == 0:
            return
        A[i] = 1 / A[i]


def return_of_a_while(A):
    n = 0
    while True:
        if n == 4:
            return -1
        for i in range(n, 4):
            if A[i] > A[n]:
                return n
        n += 1


def first_after(A, start):
    for i in range(start, A.shape[0]):
        if A[i] > 1:
            return i
    return A.shape[0]


def skip(A, i):
    if A[i] > 0:
        A[i] -= 1
        return
    while A[i] < 0:
        A[i] += 1
        if A[i] == -1:
            return
    A[i] = 5


def inlined(A):
    n = first_after(A, 0)
    m = first_after(A, min(n + 1, 3))
    for i in range(4):
        if i == m:
            continue
        skip(A, i)
    return n, m


def parts_of_a_tuple(A):
    s = 0.0
    for i in (0, 2, 3):
        if A[i] < 0:
            continue
        if A[i] > 6:
            break
        s += A[i]
    else:
        s += 100
    return s


def chained_condition(A):
    n = 0
    while 0 <= n < 4 and (A[n] > 0 or A[n] < -1):
        n += 1
    return n


FUNCTIONS = [
    breaks, continues, breaks_and_continues, else_of_a_for, else_without_break, break_in_the_else, else_of_a_while, endless, never,
    continue_tests_again, early_return, return_of_nothing, return_of_a_while, inlined, parts_of_a_tuple, chained_condition,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_jumps_lead_where_python_goes(function):
    interpreted = infer(parse(function), [arg_type(VALUES[0])])
    compiled = polyml.kernel(function, cache=False, fallback="error")
    for values in VALUES:
        wanted = values.copy()
        result = function(wanted)
        for run in (lambda A: interpret(interpreted, [A]), compiled):
            given = values.copy()
            assert run(given) == result
            assert given.tolist() == wanted.tolist()
    assert compiled.compiled


def all_refused(A, S):
    for i in range(A.shape[0]):
        for k in range(S.count(i)):
            if A[k] < 0:
                continue
            A[i] += S.count(k)


def test_a_loop_all_of_whose_statements_are_refused_has_its_continue():
    assert [each.place.line - all_refused.__code__.co_firstlineno for each in refused(all_refused).statements] == [2, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        A = np.zeros(2)
        polyml.kernel(all_refused, cache=False)(A, [0, 1, 1])
        assert A.tolist() == [1.0, 3.0]
