"""How the values of two runs are compared, and what is shown of it."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import polyml
from polyml.systolic.report.comparison import agreement, values
from polyml.systolic.report.comparison_text import agreement_text
from polyml.systolic.report.comparison_values import Agreement
from polyml.systolic.report.rounding_bound import NoBound
from tests.systolic.designs import matmul


def never():
    raise AssertionError("no bound is needed")


def compared(got, wanted, bound=never):
    """Of what is returned."""
    return agreement(values({}, got), values({}, wanted), bound)


@pytest.mark.parametrize(
    "value",
    [None, 3, 2.5, np.float32(1), np.nan, (1, np.inf), np.arange(4), np.array([np.nan, -np.inf, 0.0]), np.array([1 + 2j])],
    ids=repr,
)
def test_what_is_equal_needs_no_bound(value):
    assert compared(value, value) == Agreement(0.0, 0.0) and compared(value, value).ok


@pytest.mark.parametrize(
    "got, wanted, types",
    [
        (3, 3.0, "int in place of float"),
        (np.float32(1), np.float64(1), "float32 in place of float64"),
        (np.ones(3), np.ones(3, np.float32), "float64[3] in place of float32[3]"),
        (np.ones(3), np.ones((3, 1)), "float64[3] in place of float64[3, 1]"),
        ((1, 2), (1, 2, 3), "2 results in place of 3"),
        (None, 1, "0 results in place of 1"),
    ],
)
def test_types_and_shapes_are_the_same(got, wanted, types):
    found = compared(got, wanted)
    assert not found.ok and found.types == types and agreement_text(found) == f"WRONG: what it returns is {types}"


def test_integers_are_equal():
    found = compared((np.array([1, 2, 3]), 5), (np.array([1, 2, 7]), 6))
    assert (found.error, found.ratio, found.output) == (4.0, math.inf, "result 1")


def bound(scale):
    return lambda: (0.25, values({}, scale))


def test_floats_are_within_twice_the_bound_of_each_element():
    wanted, scale = np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 0.0])
    found = compared(wanted + [0.5, -1.0, 0.0], wanted, bound(scale))
    assert found == Agreement(1.0, 0.5, "what it returns") and found.ok
    assert compared(wanted + [2.0, 0.0, 0.0], wanted, bound(scale)).ratio == 1.0
    assert not compared(wanted + [2.1, 0.0, 0.0], wanted, bound(scale)).ok
    assert compared(wanted + [0.0, 0.0, 1e-9], wanted, bound(scale)).ratio == math.inf


@pytest.mark.parametrize("got, wanted", [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf), (1.0, np.inf)])
def test_what_is_not_finite_is_the_same(got, wanted):
    assert compared(got, wanted, bound(4.0)).ratio == math.inf


def test_complex_numbers_are_compared_part_by_part():
    found = compared(np.array([1 + 2j]), np.array([1.5 + 1j]), bound(np.array([4.0])))
    assert found.error == 1.0 and found.ratio == 0.5


def test_without_a_bound_only_what_is_equal_agrees():
    def none():
        raise NoBound("`sqrt`")

    found = compared(1.0, 1.5, none)
    assert (found.ok, found.reason) == (False, "no rounding bound is known of `sqrt`")
    assert agreement_text(found).startswith("not known to agree: what it returns differs from the compiled kernel's by up to 0.5")


def test_a_notebook_shows_a_page_and_json_is_json():
    args = [np.ones(s) for s in ((5, 4), (4, 3), (5, 3))]
    found = polyml.kernel(matmul, cache=False).compare(*args, array=(4, 4), trace=True)
    page = ElementTree.fromstring(found._repr_html_())
    text = "".join(page.itertext())
    assert "mapping  " in text and "t = i + j + k" in text and "units at work" in text
    wrong = compared(1, 2)
    data = type(found)(found.report, found.engine, (type(found.trials[0])(found.trials[0].simulation, wrong),)).data()
    assert "Infinity" not in json.dumps(data) and data["simulations"][0]["values"]["ratio"] is None
