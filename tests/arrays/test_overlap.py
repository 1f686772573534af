"""An array that is stored into while it is read: NumPy reads everything first."""

import contextlib
import itertools
import random

import numpy as np
import pytest

from polyml.frontend.argument_types import arg_type, with_ones
from polyml.frontend.arrays.lower import lowered
from polyml.frontend.interpreter import Unspecialised, interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.text.writer import text
from polyml.frontend.types.infer import infer
from tests.frontend.define import define

SLICES = ["1:", ":-1", "::-1", "2:5", ":3", "::2", "1::2", "4:1:-1", "-3:", ":", "k:", ":k", "k", "0", "-1", "-2", "k - 3", "k + 1"]


def cases():
    """Pairs of parts of a 6 x 6 array that have one shape."""
    rng, found = random.Random(3), []
    parts = list(itertools.product(SLICES, SLICES))
    while len(found) < 300:
        target, one, other = (rng.choice(parts) for _ in range(3))
        shapes = {np.zeros((6, 6))[eval(f"np.s_[{a}, {b}]", {"np": np, "k": 2})].shape for a, b in (target, one, other)}
        if len(shapes) == 1 and shapes != {()}:
            found.append((", ".join(target), ", ".join(one), ", ".join(other)))
    return found


@pytest.mark.parametrize(("target", "one", "other"), cases())
def test_what_is_stored_is_not_read_again(target, one, other):
    function = define(f"def f(A, k):\n    A[{target}] = A[{one}] + 2 * A[{other}]\n")
    wanted, got = np.arange(36.0).reshape(6, 6), np.arange(36.0).reshape(6, 6)
    function(wanted, 2)
    kernel = lowered(parse(function), [with_ones(arg_type(a), a) for a in (got, 2)])
    with contextlib.suppress(Unspecialised):  # a subscript that turns out to be negative is plain Python's
        interpret(kernel, [got, 2])
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("statement", "is_needed"),
    [
        ("A[:-1] = A[1:]", False), ("A[1:] = A[:-1]", True), ("A[0] = A[1]", False), ("A[:, 0] = A[:, 1]", False),
        ("A[:] = A.T", True), ("A[:, 1:] = A[:, :-1] + A[:, 1:]", True), ("A[:3] = A[3:]", False),
        ("A[1:, 1:] -= np.outer(A[1:, 0], A[0, 1:])", False), ("A[::2] = A[1::2]", False), ("A *= A", False),
    ],
)  # fmt: skip
def test_a_temporary_is_made_only_where_it_is_needed(statement, is_needed):
    function = define(f"def f(A):\n    {statement}\n")
    kernel = lowered(parse(function), [arg_type(np.zeros((6, 6)))])
    assert ("Alloc" in repr(kernel.body)) == is_needed


@pytest.mark.parametrize(
    ("statement", "copied"),
    [
        ("A[:] = np.minimum(A, A[:, 2, None] + A[3])", ["[A.shape[0]]", "[A.shape[1]]"]), ("A[:] = A / A[0, 0]", []),
        ("A[1:] -= A[2] * A[0]", ["[A.shape[1]]"]), ("A[:, :, None] = A[:, :, None] + A[:, 1, None, None]", ["[A.shape[0]]"]),
        ("A[:] = A.T + A[0]", ["[A.shape[0], A.shape[1]]"]),
    ],
)  # fmt: skip
def test_rows_and_numbers_that_are_overwritten_are_copied(statement, copied):
    function = define(f"def f(A):\n    {statement}\n")
    given = arg_type(np.zeros((6, 6)))
    found = [line.split("alloc ")[1] for line in text(infer(parse(function), (given,))).splitlines() if "alloc" in line]
    assert [each[each.index("[") : each.index(":")] for each in found] == copied
