"""Integer expressions as C."""

import pytest

from polyml.codegen.gpu.text.integers import condition, extreme, factor, integer
from polyml.quasi_affine.affine import Affine, Compare, Logic, choice, extremum, floor_div, negate, variable

I, J, N = variable("i"), variable("j"), variable("N")


def use(name):
    return name


@pytest.mark.parametrize("value, expected", [
    (I * 2 - J + 3, "2*i - j + 3"),
    (Affine(), "0"),
    (I * -1 - 4, "-i - 4"),
    (floor_div(I + N, 4) * 3, "3*floor_divide_index(N + i, 4)"),
    (extremum("max", [I, N - 1]), "max_index(N - 1, i)"),
    (choice(Compare(">=", I - N), I, J), "(i >= N ? i : j)"),
])  # fmt: skip
def test_an_expression_is_a_sum(value, expected):
    assert integer(value, use) == expected


@pytest.mark.parametrize("value, expected", [
    (Compare(">=", N - I - 1), "i < N"),
    (Compare(">=", I - 1), "i > 0"),
    (Compare(">=", I), "i >= 0"),
    (Compare("==", I - J), "i == j"),
    (Compare(">=", I - N), "i >= N"),
    (Logic("and", (Compare(">=", I), Compare(">=", N - I - 1))), "i >= 0 && i < N"),
    (Logic("or", (Logic("and", (Compare(">=", I), Compare(">=", J))), Compare("==", N))), "(i >= 0 && j >= 0) || N == 0"),
    (Logic("and", ()), "1"),
    (Logic("or", ()), "0"),
])  # fmt: skip
def test_a_condition_reads_as_one_would_write_it(value, expected):
    assert condition(value, use) == expected


@pytest.mark.parametrize("op", [">=", "=="])
@pytest.mark.parametrize("expression", [N - I - 1, I - 1, I, I + 2, I * -1, I - N, N - I, I * -1 - 3, N - I + J - 2, J * 2 - I - 5])
def test_a_condition_means_what_its_expression_does(op, expression):
    text = condition(Compare(op, expression), use)
    for values in ({"i": i, "j": j, "N": n} for i in range(-4, 5) for j in range(-3, 4) for n in range(5)):
        assert eval(text, {}, values) == Compare(op, expression).evaluate(values)


def test_factors_have_parentheses_where_they_are_sums():
    assert [factor(value, use) for value in (I, I + 1, I * -1, I * 3, Affine(constant=4), Affine(constant=-4))] == [
        "i", "(i + 1)", "(-i)", "3*i", "4", "(-4)",
    ]  # fmt: skip
    assert extreme("min", [I, J, N], use) == "min_index(min_index(i, j), N)"
    assert condition(negate(Compare(">=", I)), use) == "i < 0"
