"""The functions that `benchmarks.plain` times give Python's results, call after call."""

import copy
import re
import sys
import warnings

import pytest

import polyml
from benchmarks.plain import same, whole
from benchmarks.python_functions import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_results_are_python_s(case, monkeypatch):
    module, name = sys.modules[case.function.__module__], case.function.__name__
    kernel = polyml.kernel(cache=False)(case.function)
    given = case.make()
    for _ in range(22):  # past the calls in which parts are compared with Python
        mine, plain = (tuple(x if callable(x) else copy.deepcopy(x) for x in given) for _ in range(2))
        monkeypatch.setattr(module, name, case.function)
        wanted = whole(case.function(*plain))
        monkeypatch.setattr(module, name, kernel)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert same(wanted, whole(kernel(*mine)))
        assert all(same(a, b) for a, b in zip(plain, mine) if type(a).__eq__ is not object.__eq__)


def test_there_are_sixty_of_eight_kinds():
    assert len(CASES) >= 60 and len({case.kind for case in CASES}) >= 8


def numbers_in(text):
    return [int(found) * FACTOR for found in re.findall(r"\d+", text)]


FACTOR = 1


def test_a_settled_call_asks_for_its_own_names_alone(monkeypatch):
    kernel = polyml.kernel(cache=False, fallback="silent")(numbers_in)
    for _ in range(5):
        assert kernel("1a2") == [1, 2]
    (settled,) = kernel._kinds.settled.values()
    assert {"re"} <= {guard.key for guard in settled.guards} <= {"re", "int", "FACTOR"}  # not those that `re.findall` leads to
    monkeypatch.setitem(globals(), "FACTOR", 10)
    assert kernel("1a2") == [10, 20]
