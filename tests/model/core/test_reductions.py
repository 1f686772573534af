"""Which updates are free, and that any order of theirs computes the same."""

import itertools
import random

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.dtypes import BOOL, F32, F64, I32, I64, PYINT, U8
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import identity, reductions, relaxed, relaxed_validity
from polyml.polyhedra import points
from tests.model.modelling import MATRIX, VECTOR, model, model_for


def total(A, s):
    for i in range(A.shape[0]):
        s[0] = s[0] + A[i]


def subtract(A, s):
    for i in range(A.shape[0]):
        s[0] -= A[i] * 2


def chain(A, s):
    for i in range(A.shape[0]):
        s[0] = 1 + (s[0] - A[i]) + A[i] * A[i]


def multiply(A, s):
    for i in range(A.shape[0]):
        s[0] = A[i] * s[0] * 2


def least(A, s):
    for i in range(A.shape[0]):
        s[0] = min(s[0], A[i])


def greatest(A, s):
    for i in range(A.shape[0]):
        s[0] = max(max(s[0], A[i]), 2 * A[i])


def numpy_least(A, s):
    for i in range(A.shape[0]):
        s[0] = np.minimum(A[i], s[0])


def passed_over(A, s):
    for i in range(A.shape[0]):
        s[0] = np.fmax(s[0], A[i])


def assigned_greatest(A, s):
    for i in range(A.shape[0]):
        if A[i] > s[0]:
            s[0] = A[i]


def assigned_least(A, s):
    for i in range(A.shape[0]):
        if s[0] >= A[i]:
            s[0] = A[i]


def positive(A, s):
    for i in range(A.shape[0]):
        if A[i] > 0:
            s[0] += A[i]


OPERATORS = {
    total: "+", subtract: "+", chain: "+", multiply: "*", least: "min", greatest: "max", numpy_least: "minimum",
    passed_over: "fmax", assigned_greatest: "max", assigned_least: "min", positive: "+",
}  # fmt: skip


def nan_wins(A, s):
    for i in range(A.shape[0]):
        s[0] = min(A[i], s[0])


def nan_is_taken(A, s):
    for i in range(A.shape[0]):
        if not A[i] <= s[0]:
            s[0] = A[i]


def divided(A, s):
    for i in range(A.shape[0]):
        s[0] = A[i] - s[0]


def mixed(A, s):
    for i in range(A.shape[0]):
        s[0] = (s[0] + A[i]) * 2


def twice(A, s):
    for i in range(A.shape[0]):
        s[0] = s[0] + s[0] * A[i]


def decided_by_itself(A, s):
    for i in range(A.shape[0]):
        s[0] = s[0] + A[i] if s[0] < 3 else s[0]


@pytest.mark.parametrize("function", OPERATORS)
def test_free_updates_are_recognised(function):
    scop = model(function, VECTOR, VECTOR)
    (found,) = reductions(scop, "reassociate").values()
    assert (found.operator, found.array, found.statement) == (OPERATORS[function], "s", "S0")
    assert scop.statements["S0"].reads[found.access].array == "s"
    assert reductions(scop, "fast") == {"S0": found}
    assert reductions(scop, "strict") == {}


@pytest.mark.parametrize("function", [nan_wins, nan_is_taken, divided, mixed, twice, decided_by_itself])
def test_updates_whose_order_matters_are_not(function):
    assert reductions(model(function, VECTOR, VECTOR), "fast") == {}


def test_integer_updates_are_free_in_strict_too():
    scop = model(total, ArrayType(I32, 1), ArrayType(I32, 1))
    assert reductions(scop, "strict")["S0"].operator == "+"
    assert reductions(model(nan_wins, ArrayType(I32, 1), ArrayType(I32, 1)), "strict")["S0"].operator == "min"


def test_bits_and_truth_values():
    def bits(A, s):
        for i in range(A.shape[0]):
            s[0] = s[0] ^ A[i]
            s[1] = A[i] | s[1]
            s[2] &= A[i]

    found = reductions(model(bits, ArrayType(U8, 1), ArrayType(U8, 1)), "strict")
    assert [r.operator for r in found.values()] == ["^", "|", "&"]

    def truths(A, s):
        for i in range(A.shape[0]):
            s[0] = s[0] or A[i]
            s[1] = A[i] and s[1]

    found = reductions(model(truths, ArrayType(BOOL, 1), ArrayType(BOOL, 1)), "strict")
    assert [r.operator for r in found.values()] == ["|", "&"]


def test_all_orders_of_the_updates_of_one_element_are_allowed():
    def product(A, B, C):
        for k in range(3):
            for i in range(2):
                for j in range(2):
                    C[i, j] += A[i, k] * B[k, j]

    scop = model(product, MATRIX, MATRIX, MATRIX)
    found = reductions(scop, "reassociate")
    every = points(dependences(scop).validity)
    assert points(relaxed(scop, found)) == every and len(every) == 4 * 3
    assert relaxed_validity(dependences(scop), scop, found).is_empty()
    assert relaxed_validity(dependences(scop), scop, {}).is_equal(dependences(scop).validity)


def test_updates_by_one_operator_from_several_statements_are_free_together():
    def both(A, B, s):
        for i in range(2):
            s[0] += A[i]
            s[0] -= B[i]
            s[1] *= B[i]

    scop = model(both, VECTOR, VECTOR, VECTOR)
    assert relaxed_validity(dependences(scop), scop, reductions(scop, "reassociate")).is_empty()


def test_what_others_do_between_two_updates_keeps_its_place():
    def reset(A, s):
        for i in range(3):
            s[0] += A[i]
            A[i] = s[0]

    scop = model(reset, VECTOR, VECTOR)
    found = reductions(scop, "reassociate")
    kept = points(relaxed_validity(dependences(scop), scop, found))
    assert {(("S0", (i,)), ("S1", (j,))) for i in range(3) for j in range(i, 3)} <= kept
    assert {(("S1", (i,)), ("S0", (j,))) for i in range(3) for j in range(i + 1, 3)} <= kept


def test_an_update_that_reads_other_elements_of_its_array_keeps_those_dependences():
    def triangular(A, B):
        n = A.shape[0]
        for i in range(n):
            for j in range(n):
                for k in range(i + 1, n):
                    B[i, j] += A[k, i] * B[k, j]

    scop = model(triangular, MATRIX, MATRIX)
    found = reductions(scop, "reassociate")
    kept = points(relaxed_validity(dependences(scop), scop, found), n=3)
    assert (("S0", (0, 0, 1)), ("S0", (1, 0, 2))) in kept
    assert (("S0", (0, 0, 1)), ("S0", (0, 0, 2))) not in kept


@pytest.mark.parametrize("function", [f for f in OPERATORS if f not in (multiply, subtract, chain)])
def test_every_order_gives_the_same_with_nan_and_infinity(function):
    """Over exactly representable numbers, so that rounding does not matter."""
    values = [2.0, float("nan"), -1.0, float("inf")]
    if function in (total, positive):
        values = [2.0, -1.0, 8.0, float("inf")]
    for start in (0.0, float("nan")):
        results = set()
        for order in itertools.permutations(values):
            s = np.array([start])
            interpret(parse(function), [np.array(order), s])
            results.add(repr(s[0]))
        assert len(results) == 1


@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize("element", [I64, F64])
def test_partial_results_that_start_with_the_identity_join_to_the_whole(function, element):
    rng = random.Random(3)
    values = [rng.randint(-3, 3) for _ in range(6)]
    operator, kind = OPERATORS[function], element.numpy_name
    join = {"+": np.add, "*": np.multiply, "min": min, "max": max, "minimum": np.minimum, "fmax": np.fmax}
    whole, parts = np.array([5], kind), np.array([5], kind)
    interpret(parse(function), [np.array(values, kind), whole])
    for chosen in (values[::2], values[1::2]):
        partial = np.array([identity(operator, element)], kind)
        interpret(parse(function), [np.array(chosen, kind), partial])
        parts[0] = join[operator](parts[0], partial[0])
    assert whole[0] == parts[0]


@pytest.mark.parametrize("element", [F64, F32, I64, I32, U8, BOOL])
@pytest.mark.parametrize("operator", ["+", "*", "&", "|", "^", "minimum", "maximum", "fmin", "fmax"])
def test_the_identity_changes_nothing(operator, element):
    if element.is_float and operator in "&|^":
        return
    function = {
        "+": np.add, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
        "minimum": np.minimum, "maximum": np.maximum, "fmin": np.fmin, "fmax": np.fmax,
    }[operator]  # fmt: skip
    values = {"b": [0, 1], "f": [-0.0, 0.0, 2.5, float("inf"), float("-inf")]}.get(element.kind, [0, 1, 7])
    start = np.array([identity(operator, element)]).astype(element.numpy_name)[0]
    for value in np.array(values).astype(element.numpy_name):
        result = function(start, value)
        assert result == value and np.signbit(np.float64(result)) == np.signbit(np.float64(value))


def test_a_python_int_counter_is_free():
    def count(A):
        n = 0
        for i in range(A.shape[0]):
            if A[i] > 0:
                n += 1
        return n

    scop = model(count, VECTOR)
    (found,) = reductions(scop, "strict").values()
    assert (found.array, found.operator, scop.arrays["n"].element) == ("n", "+", PYINT)
    args = [np.array([1.0, -1.0, 2.0])]
    assert run(build(scop, scop.schedule), {"A": args[0]}) == 2 == interpret(parse(count), args)
    assert model_for(count, args).results == scop.results
