"""The irregular functions are right, as plain Python and as polyml compiles them, and change nothing but their outputs."""

import copy
import inspect

import numpy as np
import pytest

import polyml
from polyml.kernels.irregular import functions

named = pytest.mark.parametrize("case", functions().values(), ids=lambda case: case.name)


def problem(case, function, seed):
    """Returns in words what is wrong after a call, or ""."""
    arguments = case.arguments("SMALL", seed)
    wanted, before = case.reference(*copy.deepcopy(arguments)), copy.deepcopy(arguments)
    result = function(*arguments)
    names = case.function.__code__.co_varnames
    for name, one, other in zip(names, arguments, before):
        if name not in wanted and not np.array_equal(one, other):
            return f"{name} is changed, and is no output"
    return case.problem(wanted, arguments, result)


@named
def test_plain_python_gives_what_the_reference_gives(case):
    assert problem(case, case.function, seed=0) == ""
    assert problem(case, case.function, seed=1) == ""


@named
@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")
def test_a_kernel_gives_what_the_reference_gives(case):
    assert problem(case, polyml.kernel(case.function, cache=False), seed=1) == ""


@named
def test_a_reference_leaves_its_arguments_as_they_are(case):
    arguments, before = case.arguments("SMALL"), case.arguments("SMALL")
    case.reference(*arguments)
    assert all(np.array_equal(one, other) for one, other in zip(arguments, before))


@named
def test_a_function_needs_nothing_but_math_and_numpy(case):
    used = inspect.getclosurevars(case.function)
    assert set(used.globals) <= {"math", "np"}
    assert not used.nonlocals


def test_there_are_many_functions_on_many_subjects():
    assert len(functions()) >= 64
