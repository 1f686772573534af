"""The instances that the interpreter reports."""

from __future__ import annotations

import numpy as np
import pytest

from polyml.errors import PolymlOverflowError
from polyml.frontend.interpreter import TraceEvent, interpret, trace
from polyml.frontend.live_ranges import split
from polyml.frontend.parsing.parse import parse
from tests.frontend.define import define, message


def traced(text, *args):
    return list(trace(parse(define(text)), list(args)))


def test_each_instance_is_reported_in_source_order_with_what_it_reads_and_writes():
    text = """
    def f(A, B, x):
        for i in range(1, 3):
            for j in range(i):
                A[i, j] = A[i - 1][j] * x + B[-1]
            B[i] = i
    """
    assert traced(text, np.ones((3, 3)), np.ones(4), 2.0) == [
        TraceEvent((0, 0, 0), (1, 0), (("A", (0, 0)), ("B", (3,))), ("A", (1, 0))),
        TraceEvent((0, 1), (1,), (), ("B", (1,))),
        TraceEvent((0, 0, 0), (2, 0), (("A", (1, 0)), ("B", (3,))), ("A", (2, 0))),
        TraceEvent((0, 0, 0), (2, 1), (("A", (1, 1)), ("B", (3,))), ("A", (2, 1))),
        TraceEvent((0, 1), (2,), (), ("B", (2,))),
    ]


def test_local_numbers_are_arrays_without_dimensions():
    text = """
    def f(A, n):
        s = A[0] + n
        for i in range(n):
            s += A[i]
        n = s
        return n
    """
    assert traced(text, np.ones(3), 1) == [
        TraceEvent((0,), (), (("A", (0,)),), ("s", ())),
        TraceEvent((1, 0), (0,), (("s", ()), ("A", (0,))), ("s", ())),
        TraceEvent((2,), (), (("s", ()),), ("n", ())),
        TraceEvent((3,), (), (("n", ()),), None),
    ]


def test_conditions_and_bounds_are_reported_where_they_read():
    text = """
    def f(A, I):
        for i in range(I[0]):
            if A[i] > 0:
                A[i] = 0
            elif i > 5:
                pass
            else:
                A[i] = 1
    """
    assert traced(text, np.array([1.0, -1.0]), np.array([2])) == [
        TraceEvent((0,), (), (("I", (0,)),), None),
        TraceEvent((0, 0), (0,), (("A", (0,)),), None),
        TraceEvent((0, 0, 0), (0,), (), ("A", (0,))),
        TraceEvent((0, 0), (1,), (("A", (1,)),), None),
        TraceEvent((0, 0, 1, 0), (1,), (), ("A", (1,))),
    ]


def test_only_what_a_conditional_expression_evaluates_is_read():
    text = "def f(A):\n    A[0] = A[1] if A[2] > 0 and A[3] > 0 else A[4]\n"
    assert traced(text, np.zeros(5)) == [TraceEvent((0,), (), (("A", (2,)), ("A", (4,))), ("A", (0,)))]


def test_filling_an_array_is_one_instance_per_element():
    text = """
    def f(A):
        for i in range(2):
            T = np.full((1, 2), A[i])
            E = np.empty(2)
    """
    events = traced(text, np.zeros(2))
    assert events[:2] == [
        TraceEvent((0, 0), (0, 0, 0), (("A", (0,)),), ("T", (0, 0))),
        TraceEvent((0, 0), (0, 0, 1), (("A", (0,)),), ("T", (0, 1))),
    ]
    assert len(events) == 4


def test_a_kernel_split_into_webs_is_traced_under_their_names():
    text = """
    def f(A, x):
        t = A[0]
        A[1] = t
        t = x
        x = t
        return x
    """
    kernel = split(parse(define(text)))
    assert [e.write for e in trace(kernel, [np.zeros(2), 1.0])] == [
        ("t", ()),
        ("A", (1,)),
        ("t.1", ()),
        ("x.1", ()),
        None,
    ]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("def f(A):\n    A[3] = 1\n", [np.zeros(3)]),
        ("def f(A):\n    return A[-4]\n", [np.zeros(3)]),
        ("def f(A):\n    return A[0]\n", [np.zeros((3, 3))]),
    ],
)
def test_a_subscript_outside_its_array_is_an_index_error(text, args):
    with pytest.raises(IndexError):
        interpret(parse(define(text)), args)


@pytest.mark.parametrize("text", ["A[True] = 1", "A[A[0] > 1] = 1", "A[0] = len(A) < 2\n    A[1.0] = 2"])
def test_a_subscript_that_is_not_an_integer_is_a_type_error(text):
    with pytest.raises(TypeError):
        interpret(parse(define(f"def f(A):\n    {text}\n")), [np.zeros(3)])


def test_a_shape_of_another_length_than_its_targets_is_a_value_error():
    with pytest.raises(ValueError, match="A has 1 dimensions, not 2"):
        interpret(parse(define("def f(A):\n    n, m = A.shape\n")), [np.zeros(3)])


def test_the_number_of_arguments_is_checked():
    with pytest.raises(TypeError, match="f takes 1 arguments, not 0"):
        interpret(parse(define("def f(A):\n    pass\n")), [])


@pytest.mark.parametrize("text", ["n + n", "n * n", "-(-n - 1 - 1)", "abs(-n - 1)", "n << 1", "1 << n", "2 ** n", "int(n * 2.0)"])
def test_a_python_int_beyond_64_bits_is_refused(text):
    function = define(f"def f(n):\n    return {text}\n")
    with pytest.raises(PolymlOverflowError) as caught:
        interpret(parse(function), [2**63 - 1])
    first, *_, last = message(caught.value, function).splitlines()
    assert first.startswith("kernel.py:2:") and first.endswith(": error: a Python int leaves 64 bits")
    assert last == "  note: accepted: np.int64(x), which wraps, or float(x)"
