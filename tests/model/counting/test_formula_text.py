"""Texts, code and sympy's expressions of quasi-polynomials against their values."""

from math import floor
from random import Random

import islpy as isl
import pytest

from polyml import polyhedra
from polyml.model.counting import formula_text
from polyml.model.counting.cardinality import Count, count
from polyml.model.counting.quasi_polynomial import Poly
from polyml.model.counting.quasi_polynomial import floor as quotient
from tests.model.counting.test_cardinality import WRITTEN, number_of_points, random_set


def at(expression, values):
    return expression.subs({symbol: values[symbol.name] for symbol in expression.free_symbols})


def random_poly(rng, factors):
    names = ["N", "M", "K"]
    product = Poly.number(rng.choice([1, 2, -3, 6]))
    for _ in range(factors):
        factor = Poly.linear([(n, rng.randint(-2, 2)) for n in rng.sample(names, rng.randint(1, 2))], rng.randint(-3, 3))
        if rng.random() < 0.2:
            factor = factor + quotient(Poly.linear([(rng.choice(names), 1)], rng.randint(0, 5)), rng.randint(2, 4))
        product = product * factor
    return product


@pytest.mark.parametrize("seed", range(80))
def test_texts_and_code_of_random_products(seed):
    rng = Random(seed)
    poly = random_poly(rng, rng.randint(0, 3)) + (Poly() if rng.random() < 0.7 else random_poly(rng, 2))
    for _ in range(5):
        values = {name: rng.randint(-5, 9) for name in "NMK"}
        wanted = poly.evaluate(values)
        assert round(eval(formula_text.text(poly), {"floor": floor}, values), 9) == wanted
        expression, divisor = formula_text.code(poly, {name: name for name in "NMK"})
        assert eval(expression, {}, values) == wanted * divisor
        assert at(formula_text.symbolic(poly), values) == wanted


@pytest.mark.parametrize("seed", range(40))
def test_factors_multiply_to_the_whole(seed):
    poly = random_poly(Random(seed), 3)
    if poly.is_number:
        return
    number, factors = formula_text.factored(poly)
    product = Poly.number(number)
    for factor, power in factors:
        product = product * factor.power(power)
    assert product == poly


def n(shift=0):
    return Poly.linear([("N", 1)], shift)


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (n() * n(1), "N*(N + 1)"),
        (n(-2) * n(-2), "(N - 2)**2"),
        (n() * n() * Poly.number(3), "3*N**2"),
        (n(), "N"),
        (-n(), "-N"),
        (Poly.number(4), "4"),
        (Poly(), "0"),
        (quotient(n(7), 8) * n(), "N*floor((N + 7)/8)"),
        (quotient(n(), 8) + Poly.number(1), "floor(N/8) + 1"),
    ],
)
def test_text(poly, text):
    assert formula_text.text(poly) == text


@pytest.mark.parametrize("seed", range(60))
def test_cases_of_random_sets(seed):
    rng = Random(seed)
    domain = isl.Set(random_set(rng))
    context = isl.Set("[N, M] -> { : N >= 1 and M >= 1 }")
    found = count(domain)
    within = found.within(context)
    for _ in range(8):
        values = {"N": rng.randint(1, 9), "M": rng.randint(1, 9)}
        wanted = number_of_points(domain, values)
        assert within.evaluate(values) == wanted
        assert at(within.sympy(), values) == wanted
        assert found.substitute({"N": values["N"]}).evaluate({"M": values["M"]}) == wanted
        assert sum(not polyhedra.fix(region, values).is_empty() for region, _ in within.pieces) <= 1


@pytest.mark.parametrize("text", WRITTEN)
def test_texts_of_cases(text):
    domain, rng = isl.Set(text), Random(2)
    context = polyhedra.box_around(domain).params()
    found: Count = count(domain).within(context)
    for _ in range(6):
        values = {name: rng.randint(0, 20) for name in polyhedra.parameter_names(domain)}
        if polyhedra.fix(context, values).is_empty():
            continue
        formula = found.text(values).split(" where ")[0]
        assert round(eval(formula, {"floor": floor}, values), 9) == number_of_points(domain, values)
