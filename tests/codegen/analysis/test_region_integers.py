"""The intervals of the integers of regions contain every value that they take, and are small where that is known."""

import pytest

from polyml.codegen.analysis.integer_ranges import PARAMETER_LIMIT
from polyml.codegen.analysis.region_integers import FULL, RegionIntegers, changed_in
from polyml.dtypes import I32, I64, PYINT
from polyml.frontend import syntax
from polyml.frontend.parsing.parse import parse
from tests.frontend.define import define
from tests.model.modelling import INT, VECTOR, model

INDICES, COUNTED = syntax.ArrayType(I64, 1), 2**53


def region_of(body):
    """The region that statements of A, k and n are, and the sizes of its SCoP."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    scop = model(define(f"def f(A, k, n):\n{lines}"), VECTOR, INDICES, INT, regions=True)
    [region] = [s.region for s in scop.statements.values() if s.region is not None]
    return region, frozenset(p.name for p in scop.parameters if p.is_size)


@pytest.mark.parametrize(
    "first, step, low, high",
    [
        ("0", "c + 1", 0, COUNTED),
        ("100", "c - 3", 100 - COUNTED, 100),
        ("0", "c + 1 if A[c] > 2 else c - 1", *FULL),
        ("5", "c % 7", 0, 6),
        ("5", "(c - 9) // 2", FULL[0] // 2, FULL[1] // 2),
        ("5", "c * 2", *FULL),
        ("5", "c + 17", *FULL),
        ("n", "c + 1", *FULL),
        ("0", "min(c + k[c], 9)", FULL[0], 9),
        ("0", "max(c + k[c], 9)", 0, FULL[1]),
        ("0", "abs(c % 5 - 3)", -1, 3),  # the greater one of 3 - c % 5 and c % 5 - 3
        ("0", "A.shape[0] // 2 - 1", -1, PARAMETER_LIMIT // 2 - 1),
        ("2", "c & 12", 0, 12),
        ("2", "3 if A[c] > 2 else 8", 2, 8),
    ],
)
def test_numbers_have_intervals(first, step, low, high):
    region, sizes = region_of(f"c = {first}\nwhile A[c] > 0:\n    c = {step}")
    number = syntax.Name("c", dtype=dict(region.numbers)["c"])
    assert RegionIntegers(region, sizes).of(number) == (low, high)


@pytest.mark.parametrize(
    "bounds, low, high",
    [
        ("k[0]", 0, FULL[1] - 1),
        ("k[0], -1, -1", 0, FULL[1]),
        ("3, k[0], 2", 3, FULL[1] - 1),
        ("k[0] % 10, 20", 0, 19),
        ("20, k[0] % 10, -3", 1, 20),
    ],
)
def test_variables_of_loops_have_intervals(bounds, low, high):
    region, sizes = region_of(f"for i in range({bounds}):\n    A[i % 3] += 1.0")
    assert RegionIntegers(region, sizes).of(syntax.Name("i", dtype=PYINT)) == (low, high)


def test_an_integer_of_32_bits_stays_within_them():
    function = define("def f(A, k):\n    c = k[0]\n    while A[c] > 0:\n        c = c * c\n")
    scop = model(function, VECTOR, syntax.ArrayType(I32, 1), regions=True)
    [region] = [s.region for s in scop.statements.values() if s.region is not None]
    assert RegionIntegers(region, frozenset()).of(syntax.Name("c", dtype=I32)) == (-(2**31), 2**31 - 1)


COLLATZ = """
def f(n):
    steps = 0
    top = n % 1000 + 1
    while top != 1:
        top = top // 2 if top % 2 == 0 else 3 * top + 1
        steps += 1
    return steps
"""


def test_every_value_that_numbers_take_is_inside():
    """The values are those of a run in the interpreter, by their names."""
    function = define(COLLATZ)
    scop = model(function, INT, regions=True)
    [region] = [s.region for s in scop.statements.values() if s.region is not None]
    known = RegionIntegers(region, frozenset())
    for start in range(0, 999, 37):
        top, steps = start + 1, 0
        while top != 1:
            top, steps = (top // 2 if top % 2 == 0 else 3 * top + 1), steps + 1
            for name, value in (("top", top), ("steps", steps)):
                low, high = known.of(syntax.Name(name, dtype=PYINT))
                assert low <= value <= high


def test_what_a_loop_changes_are_its_variables_numbers_and_arrays():
    kernel = parse(define("def f(A, B):\n    for i in range(3):\n        s = B[i]\n        if s > 0:\n            A[i] = s\n"))
    assert changed_in(kernel.body) == {"i", "s", "A"}
