"""What a kernel takes from outside, and that a change of it is noticed."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest

from polyml.errors import LanguageError
from polyml.frontend.captures import MISSING, Captured, changed
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import captured, parse
from polyml.frontend.syntax import Const
from polyml.frontend.traversal import nodes
from tests.frontend.define import define

TEXT = """
def f(A):
    for i in range(0, N, STEP):
        A[i] = math.sqrt(SCALE) + min(1, 2) + np.sin(A[i])
    if VERBOSE:
        print(UNUSED)
"""


def kinds(function):
    return {c.name: (c.kind, c.value) for c in captured(function)}


def test_numbers_modules_and_builtins_are_captured_and_nothing_else():
    function = define(TEXT, N=3, STEP=2, SCALE=1.5, VERBOSE=False, UNUSED=7)
    assert kinds(function) == {
        "range": ("global", range),
        "N": ("global", 3),
        "STEP": ("global", 2),
        "math": ("global", math),
        "SCALE": ("global", 1.5),
        "min": ("global", min),
        "np": ("global", np),
        "VERBOSE": ("global", False),
        "print": ("global", print),  # a function that is called may be one that calls itself
    }


def test_closure_values_are_cells():
    weight = 2.5

    def kernel(A):
        A[0] = weight

    (record,) = captured(kernel)
    assert (record.kind, record.name, record.value) == ("cell", "weight", 2.5)
    assert changed(kernel, (record,)) is None
    weight = 3
    assert changed(kernel, (record,)) is record


def test_a_number_becomes_a_constant_that_keeps_its_type():
    kernel = parse(define("def f(A):\n    A[0] = K\n", K=np.float32(0.1)))
    (constant,) = nodes(kernel.body[0].value)
    assert isinstance(constant, Const) and type(constant.value) is np.float32


def test_a_builtin_that_a_global_hides_is_the_global():
    function = define("def f(A):\n    A[0] = abs(A[1])\n", abs=np.sqrt)
    array = np.array([0.0, 9.0])
    interpret(parse(function), [array])
    assert array[0] == 3 and kinds(function) == {"abs": ("global", np.sqrt)}


def test_a_name_that_is_local_is_not_looked_up():
    function = define("def f(min):\n    np = min + 1\n    return np\n")
    assert captured(function) == () and interpret(parse(function), [1]) == 2


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (3, 3, True),
        (3, 4, False),
        (3, 3.0, False),
        (3, True, False),
        (0.0, -0.0, False),
        (math.nan, float("nan"), True),
        (10**30, 10**30, True),
        (np.float32(1.5), np.float32(1.5), True),
        (np.float32(1.5), np.float64(1.5), False),
        (np.int8(1), np.int8(2), False),
        (np.float64(1.5), np.float64(1.5), True),
        (np, math, False),
    ],
)
def test_values_compare_by_type_and_bits(old, new, same):
    function = define("def f(A):\n    A[0] = 1\n", K=old)
    records = (Captured("global", "K", old),)
    assert changed(function, records) is None
    function.__globals__["K"] = new
    assert (changed(function, records) is None) == same


def test_a_global_that_appears_or_goes_is_a_change():
    function = define("def f(A):\n    A[0] = min(K, 2)\n", K=1)
    records = captured(function)
    function.__globals__["min"] = max
    assert changed(function, records).name == "min"
    del function.__globals__["min"]
    assert changed(function, records) is None
    del function.__globals__["K"]
    assert changed(function, records).name == "K"


def test_a_name_without_a_value_is_missing_until_it_has_one():
    function = define("def f(A):\n    A[0] = 1\n")
    assert changed(function, (Captured("global", "later", MISSING),)) is None
    function.__globals__["later"] = 1
    assert changed(function, (Captured("global", "later", MISSING),)).name == "later"


def test_a_closure_variable_that_is_not_assigned_yet_is_not_defined():
    def make():
        def kernel(A):
            A[0] = later

        with pytest.raises(LanguageError, match="`later` is not defined"):
            parse(kernel)
        later = 1
        return kernel

    assert captured(make())[0].value == 1


def test_builtins_may_be_a_module_or_a_dict():
    for value in (builtins, vars(builtins)):
        function = define("def f(A):\n    A[0] = abs(A[0])\n", __builtins__=value)
        assert kinds(function) == {"abs": ("global", abs)}
