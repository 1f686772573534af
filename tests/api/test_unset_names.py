"""Names that some path does not assign: where they are read there, a kernel raises what Python raises."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def carried(A, out):
    for i in range(A.shape[0]):
        if A[i] > 0:
            x = A[i]
        out[i] = x


def returned(A, out):
    for i in range(A.shape[0]):
        if A[i] > 2:
            x = A[i] * 2
    return x + 1, A[0]


def read_under_the_same_condition(A, out):
    for i in range(A.shape[0]):
        if A[i] > 1:
            y = 2
        out[i] = A[i] > 1 and y
        out[i] += y if A[i] > 1 else 7


def behind_another_error(A, out):
    for i in range(A.shape[0]):
        if A[i] > 0:
            x = 1
        out[i] = A[int(A[i] * 3)] + x


def of_a_while(A, out):
    i = 0
    while i < A.shape[0] and A[i] < 5:
        if A[i] == 1:
            z = i
        i += 1
    out[0] = z
    out[1] = z * 2.5


def as_an_index(A, out):
    for i in range(A.shape[0]):
        if A[i] > 0:
            p = i
    out[p] = 3
    for j in range(p):
        out[j] += 1


def assigned_on_each_path_behind(A, out):
    for i in range(A.shape[0]):
        if A[i] > 0:
            x = A[i]
        else:
            out[i] = x
            x = 1
        x += A[i]
    out[0] = x


def of_a_truth(A, out):
    for i in range(A.shape[0]):
        if A[i] > 1:
            large = A[i] > 2
        out[i] = large


FUNCTIONS = [
    carried,
    returned,
    read_under_the_same_condition,
    behind_another_error,
    of_a_while,
    as_an_index,
    assigned_on_each_path_behind,
    of_a_truth,
]


def ran(function, arguments):
    own = [argument.copy() for argument in arguments]
    try:
        return function(*own), own
    except (UnboundLocalError, IndexError) as error:
        kind = UnboundLocalError if isinstance(error, UnboundLocalError) else IndexError
        return (kind, str(error).partition("\n")[0] if kind is UnboundLocalError else ""), own


@pytest.mark.parametrize("settings", [{}, {"fp": "strict"}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("element", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_name_without_a_value_raises_what_python_raises(function, element, settings):
    kernel = polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)
    for numbers in ([1, 3, 0, 2], [0, 1, 2, 3], [2, 2, 2, 1], [0, 0, 0, 0], [5, 1, 1, 1], [3]):
        arguments = np.array(numbers, element), np.zeros(5, element)
        result, own = ran(kernel, arguments)
        wanted, changed = ran(function, arguments)
        assert repr(result) == repr(wanted)
        assert all(map(np.array_equal, own, changed))
        assert kernel.compiled


def last_of_a_loop(A, n):
    for i in range(n):
        for j in range(A.shape[0]):
            last = A[j] * i
        A[0] = last
    return last


def test_a_loop_that_assigns_is_tested_at_entry():
    kernel = polyml.kernel(last_of_a_loop, cache=False, fallback="error")
    assert kernel(np.arange(4.0), 3) == last_of_a_loop(np.arange(4.0), 3) and kernel.compiled
    assert "region" not in kernel.explain()
    kernel = polyml.kernel(last_of_a_loop, cache=False)
    for A, n in ((np.arange(4.0), 0), (np.zeros(0), 2)):
        with pytest.raises(UnboundLocalError, match="'last'"):
            kernel(A, n)


def checked(A, i):
    if A[i] > 1:
        v = A[i]
    return v


def of_a_called_function(A, out):
    for i in range(A.shape[0]):
        out[i] = checked(A, i)


def test_the_names_of_a_called_function_have_no_value_in_its_next_call():
    kernel, out = polyml.kernel(of_a_called_function, cache=False), np.zeros(2)
    with pytest.warns(polyml.PolymlPerformanceWarning), pytest.raises(UnboundLocalError):
        kernel(np.array([2.0, 0.0]), out)
    assert out.tolist() == [2, 0]
