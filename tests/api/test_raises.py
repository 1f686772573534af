"""`raise` and `assert` in kernels: the exception, its text, and what was written before are those of plain Python."""

from __future__ import annotations

import traceback
import warnings

import numpy as np
import pytest

import polyml
from polyml.frontend.text import reader, writer
from tests.api.asserting import checked, fails, formatted_test, halved, holds, sizes


def roots(A, B):
    for i in range(A.shape[0]):
        if A[i] < 0:
            raise ValueError("negative")
        B[i] = np.sqrt(A[i])


def first_below(A, limit):
    for i in range(A.shape[0]):
        if A[i] < limit:
            return i
    raise LookupError("none is below", "the limit")


def guarded(A, lowest):
    if A[0] < lowest:
        raise ArithmeticError
    for i in range(A.shape[0]):
        A[i] += 1
    return A.sum()


def either(A, n):
    if A[0] > 0:
        x = A[0] * 2
    elif n > 3:
        x = A[0] * 3
    else:
        raise KeyError("no x")
    A[1] = x
    return x


def inner(x):
    if x > 2:
        raise OverflowError("too great")
    return x * 2


def called(A):
    for i in range(A.shape[0]):
        A[i] = inner(A[i])


def compiled(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


def ran(function, *arguments):
    """Returns the result or (class, arguments) of the exception of a call, with its arrays as they are then."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except Exception as error:
        result = type(error), error.args
    return [result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


CALLS = [
    (roots, np.array([1.0, 4.0, -1.0, 9.0]), np.zeros(4)),
    (roots, np.array([1.0, 4.0, 9.0]), np.zeros(3)),
    (roots, np.empty(0), np.empty(0)),
    (roots, np.array([-1]), np.zeros(1)),
    (roots, np.array([2, -2], np.int16), np.zeros(2, np.float32)),
    (first_below, np.array([3.0, 1.0, 0.0]), 2.0),
    (first_below, np.array([3, 1, 0], np.int32), -2),
    (first_below, np.empty(0, np.float32), 1.0),
    (halved, np.array([64.0])),
    (halved, np.array([1e9], np.float32)),
    (guarded, np.array([1.0, 2.0]), 0.5),
    (guarded, np.array([1.0, 2.0]), 1.5),
    (guarded, np.array([1, 2]), 2),
    (either, np.array([1.0, 2.0]), 0),
    (either, np.array([-1.0, 2.0]), 4),
    (either, np.array([-1.0, 2.0]), 2),
    (checked, np.array([1.0, 2.0]), np.ones(3)),
    (checked, np.array([1, 2, -1], np.int32), np.array([2.0, 1.0])),
    (checked, np.array([1.0, -2.0]), np.array([2.0, 1.0])),
    (called, np.array([1.0, 2.0, 3.0, 1.0])),
    (called, np.array([1, 2, 2], np.int8)),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in CALLS], ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.sweep("function", keep=4)
def test_exceptions_and_what_was_written_are_pythons(function, arguments, fp, threads):
    kernel = compiled(function, fp=fp, threads=threads)
    for _ in range(2):
        assert ran(kernel, *arguments)[0] == ran(function, *arguments)[0]
        if threads == 1:
            assert ran(kernel, *arguments) == ran(function, *arguments)
        assert kernel.compiled


def test_threads_report_the_first_iteration_in_the_sources_order():
    def refused(A, B):
        for i in range(A.shape[0]):
            if A[i] == 1:
                raise ValueError("one")
            if A[i] == 2:
                raise TypeError("two")
            B[i] = A[i]

    A = np.zeros(100_000)
    A[[60_000, 90_000]] = 2, 1
    B = np.ones(100_000)
    with pytest.raises(TypeError, match="^two$"):
        compiled(refused, threads=4)(A, B)
    assert not B[:60_000].any() and B[60_000] == 1


def in_loop(A, n):
    for i in range(n):
        A[i] = i
        if i > 4:
            raise IndexError("far")


@pytest.mark.parametrize(
    "function, arguments",
    [
        (sizes, (np.ones((3, 3)), np.ones((3, 3)), 2)), (sizes, (np.ones((3, 3)), np.ones((2, 3)), 2)), (sizes, (np.ones((3, 3)), np.ones((3, 3)), 1)),
        (in_loop, (np.zeros(9), 5)), (in_loop, (np.zeros(9), 7)), (in_loop, (np.zeros(9), -1)),
    ],
)  # fmt: skip
def test_what_sizes_and_integers_decide_is_tested_at_entry_and_warns_of_nothing(function, arguments):
    kernel = polyml.kernel(function, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert ran(kernel, *arguments) == ran(function, *arguments) == ran(compiled(function), *arguments)


def test_affine_loops_behind_such_a_test_have_their_tiles_and_vectors():
    kernel = compiled(sizes)
    kernel(np.ones((64, 64)), np.ones((64, 64)), 3)
    assert "region" not in kernel.explain() and "its iterations are lanes" in kernel.explain()


def test_a_traceback_ends_at_the_line_that_raises():
    with pytest.raises(ValueError, match="negative") as caught:
        compiled(roots)(np.array([-1.0]), np.zeros(1))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name, last.line) == (__file__, "roots", 'raise ValueError("negative")')


def test_an_exception_is_kept_on_disk(tmp_path):
    arguments = np.array([1.0, -1.0]), np.zeros(2)
    with polyml.config.scope(cache_dir=str(tmp_path)):
        for expected in (False, True):
            kernel = polyml.kernel(roots, fallback="error", cache=True)
            assert ran(kernel, *arguments) == ran(roots, *arguments)
            assert kernel.from_cache is expected


def test_conditions_that_are_known_raise_always_or_never():
    assert ran(compiled(fails), np.zeros(2)) == [(AssertionError, ("always",)), [1.0, 0.0]]
    assert ran(compiled(holds), np.zeros(2)) == [None, [1.0, 0.0]]


class Own(Exception):
    pass


def own(A):
    if A[0] < 0:
        raise Own("mine")


def chained(A):
    if A[0] < 0:
        raise ValueError("x") from None


def formatted(A):
    if A[0] < 0:
        raise ValueError(f"{A[0]}")


@pytest.mark.parametrize("function", [own, chained, formatted, formatted_test])
def test_other_exceptions_are_left_to_python(function):
    with pytest.raises(polyml.NotAffineError, match="is not raised by compiled code|is not a constant"):
        compiled(function)(np.ones(2))
    kernel = polyml.kernel(function, cache=False, fallback="silent")
    assert ran(kernel, np.array([-1.0])) == ran(function, np.array([-1.0]))


def test_a_kernel_that_raises_has_a_text():
    from polyml.frontend.parsing.parse import parse

    for function in (roots, first_below, halved, guarded):
        text = writer.text(parse(function))
        assert writer.text(reader.parse(text)) == text and "raise " in text
    wrong = text.replace("ArithmeticError", "Arithmetic")
    with pytest.raises(polyml.PolymlError, match="one of Python's exceptions"):
        reader.parse(wrong)
