"""Quasi-affine expressions against Python's own arithmetic, before and after isl has them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.polyhedra import Frame, points
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.complexity import depth
from polyml.quasi_affine.to_isl import to_pw_aff, to_set

NAMES = ("i", "N")
FRAME = Frame(("N",), ("i",))


class Both:
    """An affine expression and the Python function it stands for."""

    def __init__(self, affine, function):
        self.affine, self.function = affine, function


def _leaf(draw):
    if draw(st.booleans()):
        name = draw(st.sampled_from(NAMES))
        return Both(af.variable(name), lambda env: env[name])
    value = draw(st.integers(-4, 4))
    return Both(Affine(value), lambda env: value)


@st.composite
def formulas(draw, depth):
    kind = draw(st.sampled_from(("compare", "not", "and", "or") if depth else ("compare",)))
    if kind == "compare":
        a, b = draw(expressions(depth=min(depth, 1))), draw(expressions(depth=0))
        op = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")))
        return Both(
            af.compare(op, a.affine, b.affine),
            lambda env: eval(f"x {op} y", {"x": a.function(env), "y": b.function(env)}),
        )
    first = draw(formulas(depth=depth - 1))
    if kind == "not":
        return Both(af.negate(first.affine), lambda env: not first.function(env))
    second = draw(formulas(depth=depth - 1))
    if kind == "and":
        return Both(af.conjunction(first.affine, second.affine), lambda env: first.function(env) and second.function(env))
    return Both(af.disjunction(first.affine, second.affine), lambda env: first.function(env) or second.function(env))


@st.composite
def expressions(draw, depth=3):
    if depth == 0:
        return _leaf(draw)
    a = draw(expressions(depth=depth - 1))
    kind = draw(st.sampled_from(("leaf", "add", "sub", "scale", "floor", "mod", "min", "max", "choice")))
    if kind == "leaf":
        return _leaf(draw)
    if kind == "scale":
        factor = draw(st.integers(-3, 3))
        return Both(a.affine * factor, lambda env: factor * a.function(env))
    if kind in ("floor", "mod"):
        divisor = draw(st.sampled_from((-3, -2, -1, 1, 2, 3, 4)))
        if kind == "floor":
            return Both(af.floor_div(a.affine, divisor), lambda env: a.function(env) // divisor)
        return Both(af.modulo(a.affine, divisor), lambda env: a.function(env) % divisor)
    b = draw(expressions(depth=depth - 1))
    if kind == "add":
        return Both(a.affine + b.affine, lambda env: a.function(env) + b.function(env))
    if kind == "sub":
        return Both(a.affine - b.affine, lambda env: a.function(env) - b.function(env))
    if kind == "choice":
        test = draw(formulas(depth=1))
        return Both(
            af.choice(test.affine, a.affine, b.affine),
            lambda env: a.function(env) if test.function(env) else b.function(env),
        )
    choose = min if kind == "min" else max
    return Both(af.extremum(kind, (a.affine, b.affine), as_written=True), lambda env: choose(a.function(env), b.function(env)))


RANGE = [(i, n) for i in range(-3, 4) for n in range(-2, 4)]


@settings(max_examples=120, deadline=None)
@given(expressions())
def test_values_in_isl_are_those_of_python(both):
    graph = to_pw_aff(both.affine, FRAME).as_map()
    for i, n in RANGE[::5]:
        here = graph.intersect_domain(to_set(af.zero(af.variable("i") - i), FRAME))
        found = points(here.range(), N=n)
        assert found == {("", (both.function({"i": i, "N": n}),))}


@settings(max_examples=120, deadline=None)
@given(formulas(depth=3))
def test_formulas_hold_where_python_says_so(both):
    i = af.variable("i")
    box = af.conjunction(af.compare(">=", i, Affine(-3)), af.compare("<", i, Affine(4)))
    inside = to_set(both.affine, FRAME).intersect(to_set(box, FRAME))
    for n in (-2, 0, 3):
        expected = {("", (i,)) for i in range(-3, 4) if both.function({"i": i, "N": n})}
        assert points(inside, N=n) == expected


def test_equal_expressions_are_equal_objects():
    i, n = af.variable("i"), af.variable("N")
    assert i + n - i == n
    assert af.floor_div(i * 4 + 6, 2) == i * 2 + 3
    assert af.modulo(i * 4 + 5, 4) == Affine(1)
    assert af.extremum("max", (i + 1, i)) == i + 1
    assert af.choice(af.TRUE, i, n) == i


def test_products_are_affine_only_with_a_constant():
    i = af.variable("i")
    assert af.product(i, Affine(3)) == i * 3 == af.product(Affine(3), i)
    assert af.product(i, i) is None


def test_expressions_print_as_python_would_write_them():
    i, n = af.variable("i"), af.variable("N")
    assert str(i * 2 - n + 1) == "-N + 2*i + 1"
    assert str(af.floor_div(i + 1, 3)) == "((i + 1) // 3)"
    assert str(af.extremum("min", (i, n), as_written=True) - 2) == "min(i, N) - 2"
    assert str(Affine(0)) == "0"


def test_names_and_depth_see_inside():
    nested = af.floor_div(af.extremum("min", (af.variable("i"), af.variable("N"))), 2)
    assert nested.names == {"i", "N"}
    assert depth(nested) == 2
