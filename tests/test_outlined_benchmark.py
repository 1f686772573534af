"""The functions of `benchmarks.outlined` give plain Python's results, draw the same random numbers, and have compiled parts."""

import warnings

import pytest

import polyml
from benchmarks.outlined import CASES, agrees


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_results_and_generators_are_plain_pythons(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert agrees(case)


@pytest.mark.parametrize("case", CASES[:1], ids=lambda case: case.function.__name__)
def test_what_stands_around_a_call_is_compiled(case):
    kernel = polyml.kernel(cache=False, fallback="silent")(case.function)
    kernel(*case.make())
    assert kernel.status().form == "in parts"
