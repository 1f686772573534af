"""Live ranges, local arrays and reaching definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.live_ranges import split
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from tests.frontend.define import define


def written(kernel):
    """The names of the local numbers and arrays, in order of assignment."""
    names = [s.target.name for s in statements(kernel.body) if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name)]
    return names, [s.name for s in statements(kernel.body) if isinstance(s, syntax.Alloc)]


def live_ranges_of(text):
    return written(split(parse(define(text))))[0]


def test_unrelated_uses_of_a_name_are_two_numbers():
    assert live_ranges_of("def f(A):\n    x = 1\n    A[0] = x\n    x = 2\n    A[1] = x\n") == ["x", "x.1"]


def test_assignments_that_reach_one_read_are_one_number():
    text = """
    def f(A):
        x = 0
        for i in range(3):
            x += A[i]
        if x > 1:
            x = 1
        return x
    """
    assert live_ranges_of(text) == ["x", "x", "x"]


def test_a_number_of_one_iteration_does_not_live_into_the_next():
    text = """
    def f(A):
        t = 1
        A[0] = t
        for i in range(3):
            t = A[i]
            A[i] = t
            t = i
            A[t] = t
    """
    assert live_ranges_of(text) == ["t", "t.1", "t.2"]


def test_a_branch_keeps_what_it_does_not_assign():
    text = """
    def f(A, n):
        a = 1
        b = 2
        if n > 0:
            a = 3
            A[0] = b
            b = 4
            A[1] = b
        A[2] = a
    """
    assert live_ranges_of(text) == ["a", "b", "a", "b.1"]


def test_a_parameter_is_never_assigned():
    kernel = split(parse(define("def f(n, A):\n    A[0] = n\n    n = n + 1\n    A[1] = n\n    n = 5\n    return n\n")))
    assert written(kernel)[0] == ["n.1", "n.2"]
    kernel = split(parse(define("def f(n, A):\n    if A[0] > 0:\n        n = 2\n    return n\n")))
    assert written(kernel)[0] == ["n.1", "n.1"]
    assert kernel.body[0] == syntax.Assign(syntax.Name("n.1"), syntax.Name("n"))


def test_a_number_is_not_called_like_a_loop_variable():
    text = "def f(A):\n    i = 2\n    A[i] = 0\n    for i in range(3):\n        A[i] = 1\n    i = 1\n    return i\n"
    assert live_ranges_of(text) == ["i.1", "i.2"]
    array = np.zeros(3)
    assert interpret(split(parse(define(text))), [array]) == 1 and array.tolist() == [1, 1, 1]


def test_each_local_array_has_its_own_name():
    text = """
    def f(A):
        T = np.zeros(3)
        for i in range(3):
            T[i] = A[i]
            A = np.ones(4)
            A[0] = i
        T = np.zeros_like(T)
        return T
    """
    # the second read of A in the loop would be of either array, so that A is a name which is bound to them
    assert written(parse(define(text)))[1] == ["T", "A.1", "T.1"]
    kernel = parse(define(text.replace("            A = np.ones(4)\n            A[0] = i\n", "")))
    assert written(kernel)[1] == ["T", "T.1"]
    assert kernel.body[2].shape == syntax.Like("T") and kernel.body[3].values == (syntax.ArrayName("T.1"),)


def test_an_array_made_under_a_parameter_s_name_is_another_one():
    kernel = parse(define("def f(A):\n    B = np.zeros(2)\n    B[0] = A[0]\n    A = np.ones_like(A)\n    return A, B\n"))
    assert written(kernel)[1] == ["B", "A.1"]
    array = np.zeros(2)
    result, _ = interpret(kernel, [array])
    assert result is not array and array.tolist() == [0, 0]


def test_a_discarded_loop_variable_may_be_nested():
    kernel = parse(define("def f(A):\n    for _ in range(2):\n        for _ in range(_ + 1, 3):\n            A[_] += 1\n"))
    assert [s.var for s in statements(kernel.body) if isinstance(s, syntax.For)] == ["_", "_1"]
    array = np.zeros(3)
    interpret(kernel, [array])
    assert array.tolist() == [0, 1, 2]


def test_temporaries_do_not_clash_with_names_of_the_kernel():
    kernel = parse(define("def f(A, _value1):\n    a = b = A[0] + _value1\n    return a + b\n"))
    assert written(kernel)[0] == ["_value2", "a", "b"]


def test_a_swap_needs_temporaries_and_independent_assignments_do_not():
    swap = parse(define("def f(x, y):\n    x, y = y, x\n    return x, y\n"))
    assert len(written(swap)[0]) == 4 and interpret(swap, [1, 2]) == (2, 1)
    plain = parse(define("def f(x, y):\n    a, b = y, x\n    return a, b\n"))
    assert written(plain)[0] == ["a", "b"]


def test_live_ranges_do_not_change_the_result():
    """All programs of three statements from a small stock, each against its split form."""
    stock = ["x = A[0]", "x += 1", "A[1] = x", "if A[1] > n: x = 3", "for i in range(n): x = x * 2 - A[i]", "n = x"]
    tested = 0
    for lines in itertools.product(stock, repeat=3):
        text = "def f(A, n):\n    x = 5\n" + "".join(f"    {line}\n" for line in lines) + "    return x, n\n"
        if "n = x" in lines and "range(n)" in text:
            continue
        kernel = parse(define(text))
        one, other = np.array([2.0, 7.0, 1.0]), np.array([2.0, 7.0, 1.0])
        assert interpret(kernel, [one, 2]) == interpret(split(kernel), [other, 2]) and (one == other).all()
        tested += 1
    assert tested > 100


def test_types_are_one_per_live_range():
    text = """
    def f(F, I):
        x = F[0]
        F[1] = x
        x = I[0]
        F[2] = x
        x = 3
        return x
    """
    kernel = infer(parse(define(text)), [arg_type(np.zeros(3, "f4")), arg_type(np.zeros(3, "u2"))])
    assert [(name, str(dtype)) for name, dtype in kernel.scalars] == [("x", "f32"), ("x.1", "u16"), ("x.2", "int")]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("s = 0.0\n    for i in range(n): s += F[i]", {"s": "f32"}),
        ("s = 0\n    for i in range(n): s += F[i]", {"s": "f32"}),
        ("s = 0\n    for i in range(n): s += 0.5 * i", {"s": "f64"}),
        ("s = 0\n    for i in range(n): s += I[i]", {"s": "i32"}),
        ("s = 0\n    for i in range(n): s += i", {"s": "int"}),
        ("s = np.float64(0)\n    for i in range(n): s += F[i]", {"s": "f64"}),
        (
            "s = 0.0\n    t = F[0]\n    for i in range(n):\n        s = s + t\n        t = s * 2",
            {"s": "f32", "t": "f32"},
        ),
        ("s = 0.1\n    for i in range(n): s += F[i]", {"s": "f64"}),
        ("s = n / 2\n    for i in range(n): s += F[i]", {"s": "f64"}),
        ("s = n\n    for i in range(n): s += I[i]", {"s": "i64"}),
        ("s = 0.0\n    for i in range(n): s += F[i]\n    s = np.sqrt(s)", {"s": "f32", "s.1": "f32"}),
        ("s = 0.0\n    for i in range(n): s = max(s, F[i])\n    s *= 2", {"s": "f32", "s.1": "f32"}),
        ("s = min(max(F[0], 0.0), 1.0) * 255", {"s": "f32"}),
        ("s = max(F[0], 0.0) * (n / 2)", {"s": "f32"}),
        ("s = 0.5\n    if n > 1: s = np.float64(F[0])\n    s = s * (n / 3)", {"s": "f64", "s.1": "f64"}),
        ("s = F[0] if n > 1 else 0\n    s = s + F[1] * 0.1", {"s": "f32", "s.1": "f32"}),
        ("s = False\n    for i in range(n): s = s or F[i] > 0", {"s": "bool"}),
        ("s = n / 2", {"s": "f64"}),
        ("s = F[0] * n + 0.5", {"s": "f32"}),
        ("s = I[0] * 0.5", {"s": "f64"}),
        ("s = I[0] // n", {"s": "i32"}),
    ],
)
def test_a_number_has_the_type_that_holds_all_of_it(text, types):
    kernel = parse(define(f"def f(F, I, n):\n    {text}\n    return s\n"))
    typed = infer(kernel, [arg_type(np.zeros(2, "f4")), arg_type(np.zeros(2, "i4")), arg_type(3)])
    assert {name: str(dtype) for name, dtype in typed.scalars} == types


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("0", "I[i]", "s"),
        ("0.0", "I[i]", "s"),
        ("0.1", "F[i]", "s"),
        ("k", "I[i]", "s"),
        ("F[0] / 2", "D[i]", "s"),
        ("0.1", "D[i]", "s * F[0]"),
    ],
)
def test_a_number_from_before_a_loop_that_does_not_run_is_pythons(before, inside, after, n):
    text = f"def f(F, I, D, n, k):\n    s = {before}\n    for i in range(n): s = {inside}\n    return {after}\n"
    arguments = np.full(2, 0.7, "f4"), np.array([3, 4], "i4"), np.ones(2), n, 7
    function = define(text)
    wanted, got = function(*arguments), polyml.kernel(cache=False)(function)(*arguments)
    assert type(wanted) is type(got) and wanted == got


def test_a_loop_that_others_cut_short_is_taken_to_run():
    text = "def f(F):\n    for i in range(2):\n        s = 0.1\n        for j in range(i): s = F[j]\n        F[i] = s\n"
    function, one, other = define(text), np.full(2, 0.7, "f4"), np.full(2, 0.7, "f4")
    polyml.kernel(cache=False, fallback="error")(function)(one)
    function(other)
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize(("before", "inside"), [("D[0]", "I[i]"), ("D[0]", "F[i]"), ("0.5", "I[i]"), ("I[0]", "U[i]")])
def test_a_number_that_a_loop_would_change_without_running_has_no_one_type(before, inside):
    text = f"def f(F, I, D, U, n):\n    s = {before}\n    for i in range(n): s = {inside}\n    return s\n"
    types = [arg_type(np.zeros(2, dtype)) for dtype in ("f4", "i4", "f8", "u1")]
    with pytest.raises(PolymlTypeError):
        infer(parse(define(text)), [*types, arg_type(3)])


def test_two_types_on_two_paths_are_held_in_one_that_has_both():
    text = "def f(F, I, n):\n    s = F[0]\n    if n > 1: s = I[0]\n    F[1] = s\n    I[1] = s\n"
    typed = infer(parse(define(text)), [arg_type(np.zeros(2, "f4")), arg_type(np.zeros(2, "i4")), arg_type(3)])
    assert [(name, str(dtype)) for name, dtype in typed.scalars] == [("s", "f64")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros((2, 3), "f4"), "f32[:, :]"),
        (np.zeros((), "?"), "bool[]"),
        (1, "int"),
        (1.5, "float"),
        (True, "pybool"),
        (np.float32(1), "f32"),
        (np.uint8(1), "u8"),
        (np.zeros(2, "q"), "i64[:]"),
        (np.longlong(1), "i64"),
    ],
)
def test_an_argument_has_a_type(value, expected):
    assert str(arg_type(value)) == expected


TYPES = "complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool, in the machine's byte order"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros(2, "G"), f"error: `x` is an array of {np.dtype('G').name}\n  note: accepted: {TYPES}"),
        (np.zeros(2, ">f8"), f"error: `x` is an array of float64 in foreign byte order\n  note: accepted: {TYPES}"),
        (np.zeros(2, "O"), f"error: `x` is an array of object\n  note: accepted: {TYPES}"),
        (np.clongdouble(1), f"error: `x` is a {np.dtype('G').name} number\n  note: accepted: {TYPES}"),
        (np.ma.zeros(2), "error: `x` is a MaskedArray\n  note: accepted: a plain array, np.asarray(x)"),
        ([1], "error: `x` is a list\n  note: accepted: a NumPy array, an int, float, complex or bool, or a NumPy scalar"),
        (None, "error: `x` is a NoneType\n  note: accepted: a NumPy array, an int, float, complex or bool, or a NumPy scalar"),
    ],
)
def test_an_argument_of_no_type_is_refused(value, expected):
    with pytest.raises(PolymlTypeError) as caught:
        arg_type(value, "x")
    assert str(caught.value) == expected
