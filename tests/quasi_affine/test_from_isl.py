"""Functions of isl as expressions: those that are read from their texts are those that isl's own generator makes."""

from itertools import product

import islpy as isl
import pytest

from polyml.quasi_affine.from_isl import _as_parameters, _of_text, condition_expression, expression_of_iterators, integer_expression

LINEAR = [
    "{ S[i, j] -> [(i + 2j - 1)] }", "[N] -> { S[i] -> [(N)] }", "[N, M] -> { [(N - 3M)] }", "{ S[i] -> [(0)] }", "{ S[i] -> [(-i)] }",
    "[N] -> { S[] -> [(N - 1)] }", "[n_0] -> { S3_1[c0, c1] -> [(12c0 - 5c1 + 7n_0 - 40)] }", "{ [i] -> [(2i)] }", "{ [(-7)] }",
]  # fmt: skip
OTHERS = [
    "{ S[i] -> [(floor((i)/2))] }", "[N] -> { S[i, j] -> [(i + 3*floor((N - j)/3))] }", "{ S[i] -> [(i mod 4)] }",
    "{ S[i] -> [(i)] : i > 0; S[i] -> [(-i)] : i <= 0 }", "{ S[i] -> [(i)] : i >= 3 }",
]  # fmt: skip


@pytest.mark.parametrize("text", LINEAR + OTHERS)
def test_a_function_is_the_expression_that_isl_makes_of_it(text, monkeypatch):
    value = isl.PwAff(text)
    by_isl = integer_expression(_as_parameters(str(value)))
    _of_text.cache_clear()
    if text in LINEAR:
        monkeypatch.setattr("polyml.quasi_affine.from_isl.integer_expression", None)
    assert expression_of_iterators(value) == by_isl


@pytest.mark.parametrize(
    "text",
    [
        "[N, M] -> { : N = 0 or M >= N + 2 }", "[N, M, k] -> { : k < 0 and N > 3 or k = 7 }", "[N] -> { : false }", "[N] -> { : N >= 0 }",
        "[N, M] -> { : N != M }", "[N] -> { : N mod 4 = 1 }", "[N, M] -> { : exists a: N = 3a and M > a }", "[k] -> { : -2 < k < 5 }",
    ],
)  # fmt: skip
def test_a_condition_holds_for_the_values_of_the_set(text):
    """Where sizes are not negative, as the context says."""
    values = isl.Set(text)
    found = condition_expression(values, isl.Set("[N, M] -> { : N >= 0 and M >= 0 }"))
    for n, m, k in product(range(8), range(8), range(-3, 9)):
        point = isl.Set(f"[N, M, k] -> {{ : N = {n} and M = {m} and k = {k} }}")
        assert found.evaluate({"N": n, "M": m, "k": k}) is not values.intersect(point).is_empty()
