"""Integer expressions as C."""

import pytest

from polyml.codegen.gpu.text.integers import condition, extreme, factor, integer, row_major
from polyml.quasi_affine.affine import Affine, Compare, Logic, choice, extremum, floor_div, negate, variable

I, J, N = variable("i"), variable("j"), variable("N")


def use(name):
    return name


@pytest.mark.parametrize("value, expected", [
    (I * 2 - J + 3, "2*i - j + 3"),
    (J - I * 2 + 3, "j + 3 - 2*i"),
    (Affine(constant=2) - N, "2 - N"),
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


@pytest.mark.parametrize("subscripts, sizes, expected", [
    ((), (), "0"),
    (("i",), (), "i"),
    (("i", "j"), ("m",), "i*m + j"),
    (("i - 1", "-j + 2"), ("m",), "(i - 1)*m - j + 2"),
    (("0", "j"), ("m",), "j"),
    (("1", "j"), ("m",), "m + j"),
    (("i", "0"), ("m",), "i*m"),
    (("i", "0", "k"), ("m", "n"), "i*m*n + k"),
    (("0", "0", "0"), ("m", "n"), "0"),
    (("0", "1", "k"), ("m", "n"), "n + k"),
    (("i - 1", "0"), ("1",), "i - 1"),
    (("i - 1", "0", "k"), ("1", "n"), "(i - 1)*n + k"),
    (("i", "0", "0"), ("m", "1"), "i*m"),
    (("i", "j + 1", "-k"), ("m", "(n - 2)"), "(i*m + j + 1)*(n - 2) - k"),
])  # fmt: skip
def test_an_element_s_number_is_counted_row_by_row(subscripts, sizes, expected):
    assert row_major(subscripts, sizes) == expected
    values = {"i": 7, "j": 3, "k": 2, "m": 11, "n": 13}
    number = 0
    for text, size in zip(subscripts, ("0", *sizes)):
        number = number * eval(size, {}, values) + eval(text, {}, values)
    assert eval(expected, {}, values) == number


def test_factors_have_parentheses_where_they_are_sums():
    assert [factor(value, use) for value in (I, I + 1, I * -1, I * 3, Affine(constant=4), Affine(constant=-4))] == [
        "i", "(i + 1)", "(-i)", "3*i", "4", "(-4)",
    ]  # fmt: skip
    assert extreme("min", [I, J, N], use) == "min_index(min_index(i, j), N)"
    assert condition(negate(Compare(">=", I)), use) == "i < 0"
