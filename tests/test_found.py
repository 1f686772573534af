"""`benchmarks.found`: what its table says of functions, here without the packages that have them."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from benchmarks.found import functions, measured
from benchmarks.found.__main__ import main
from benchmarks.found.comparison import Outcome, as_python, difference, outcome
from benchmarks.found.entry import Found
from benchmarks.found.measured import Job, Ready, Row, prepare
from benchmarks.found.table import line, markdown, summary


class Dispatcher:
    """A Dispatcher is to Python what numba's is: it holds a Python function, and gives Python's numbers."""

    def __init__(self, py_func):
        self.py_func = py_func

    def __call__(self, *values):
        return self.py_func(*values)


def _doubled(x):
    return 2 * x


doubled = Dispatcher(_doubled)


def _sum_of_doubles(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += doubled(x[i])
    return s


def _with_a_dict(x):
    found = {}
    for i in range(x.shape[0]):
        found[i] = x[i]
    return len(found)


@pytest.fixture
def package(monkeypatch):
    """A module with functions of its own, as a package for numba has them."""
    module = ModuleType("package_for_numba")
    module.sum_of_doubles, module.with_a_dict = Dispatcher(_sum_of_doubles), Dispatcher(_with_a_dict)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = {
        name: Found("package", module.__name__, name, lambda rng, n: (rng.random(n),), 1_000)
        for name in ("sum_of_doubles", "with_a_dict")
    }
    monkeypatch.setattr(measured, "functions", lambda: found)
    return found


def test_a_function_that_is_compiled_whole_is_compared_and_timed(package):
    for peer in ("polyml", "numba"):
        ready, turn = prepare(Job(peer, "sum_of_doubles", 1))
        assert (ready.whole, ready.reason, ready.problem) == (True, "", "")
        assert turn() > 0


def test_a_function_that_is_not_has_a_reason_and_no_time(package):
    ready, _ = prepare(Job("polyml", "with_a_dict", 1))
    assert not ready.whole and not ready.is_timed
    assert "a dict is" in ready.reason
    assert not ready.problem


def test_a_wrong_result_is_told(package, monkeypatch):
    monkeypatch.setattr(measured, "as_python", lambda function: lambda x: np.float64(-1.0))
    ready, _ = prepare(Job("polyml", "sum_of_doubles", 1))
    assert ready.problem.startswith("result: ") and ready.problem.endswith(", not -1.0")


def test_dispatchers_that_a_function_calls_are_their_python_functions_and_the_module_stays_as_it_was():
    function = as_python(_sum_of_doubles)
    assert function.__globals__["doubled"].__code__ is _doubled.__code__
    assert _sum_of_doubles.__globals__["doubled"] is doubled
    assert function(np.ones(3)) == 6.0


@pytest.mark.parametrize(
    ("wanted", "found", "told"),
    [
        (1.0, 1.0 + 1e-12, ""),
        (1.0, 1, "result: int, not float"),
        ((1, np.zeros(2)), (1, np.zeros(3)), "result: float64[3], not float64[2]"),
        (np.zeros(2), np.zeros(2, np.float32), "result: float32[2], not float64[2]"),
        (np.array([1, 2]), np.array([1, 3]), "result: [1 3], not [1 2]"),
        (np.array([np.nan]), np.array([np.nan]), ""),
        ((1, 2), (1, 2, 3), "result: 3 values, not 2"),
        (None, None, ""),
    ],
)
def test_results_are_compared_by_type_and_within_rounding(wanted, found, told):
    assert difference(Outcome(wanted, None, ()), Outcome(found, None, ())) == told


def test_errors_and_arguments_are_compared():
    def fills(A):
        A[0] = 1
        raise ValueError("too late")

    first, second = outcome(fills, (np.zeros(2),)), outcome(fills, (np.zeros(2),))
    assert difference(first, second) == "" and first.arguments[0].tolist() == [1, 0]
    assert difference(Outcome(None, None, ()), first) == "raises ValueError: too late, not nothing"
    assert difference(Outcome(1, None, (np.zeros(1),)), Outcome(1, None, (np.ones(1),))) == "argument 0: [1.], not [0.]"


ROWS = [
    Row("package.f", "package 1.0", Ready(seconds=0.02), {"polyml": 0.001, "numba": 0.002}, 2.0),
    Row("package.g", "package 1.0", Ready(False, 2, "a dict | a set", is_timed=False), {}, None),
    Row("other.h", "other 2.0", Ready(problem="result: 1, not 2"), {}, None),
]


def test_a_line_has_times_or_the_reason_or_what_is_wrong():
    first, second, third = map(line, ROWS)
    assert first.split() == ["package.f", "yes", "20", "1.000", "2.000", "2.00"]
    assert second.split()[:4] == ["package.g", "2", "p.", "0"] and second.endswith("a dict | a set")
    assert third.endswith("WRONG: result: 1, not 2")


def test_the_summary_counts_reasons_and_ratios():
    assert summary(ROWS) == [
        "2 of 3 functions are compiled whole",
        "   1 a dict | a set",
        "numba / polyml: geometric mean 2.00 of 1, least 2.00 (package.f)",
    ]


def test_a_document_has_a_table_for_each_package():
    lines = markdown(ROWS)
    assert [text for text in lines if text.startswith("**")] == ["**package 1.0**", "**other 2.0**"]
    assert "| `package.f` | whole | 1.000 | 2.000 | 2.00 |" in lines
    assert "| `package.g` | a dict \\| a set |  |  |  |" in lines


def test_there_are_functions_of_five_packages(capsys):
    found = functions()
    assert len(found) >= 48
    assert len({each.distribution for each in found.values()}) == 5
    assert main(["--list", "umap.utils"]) == 0
    assert "umap.utils.norm" in capsys.readouterr().out.splitlines()


def test_arguments_are_made_for_every_function_and_are_the_same_each_time():
    for each in functions().values():
        first, second = measured.arguments(each, each.small), measured.arguments(each, each.small)
        assert difference(Outcome(None, None, first), Outcome(None, None, second)) == ""
