"""Accesses to different arrays of a region are told apart, except where memory may be shared."""

import numpy as np
import pytest

import polyml
from polyml.codegen.llvm.regions.array_scopes import ArrayScopes
from polyml.dtypes import F64
from polyml.model.core.scop import Array, Role


def array(name, role, address=""):
    return Array(name=name, element=F64, shape=(), role=role, address=address)


def test_local_arrays_have_one_scope_and_others_one_each():
    arrays = [array("x", Role.ARGUMENT), array("y", Role.RESULT), array("s", Role.LOCAL), array("t", Role.LOCAL)]
    scopes = ArrayScopes.of([*arrays, array("late", Role.LATE), array("list", Role.LOCAL, "at")], aliased=False)
    assert scopes.owners == ("x", "y", "local arrays")
    found = [scopes.of_access(each) for each in arrays]
    assert found[2] == found[3] and len(set(found)) == 3
    assert scopes.of_access(array("late", Role.LATE)) == "" and scopes.of_access(array("list", Role.LOCAL, "at")) == ""
    assert scopes.text().splitlines()[-1] == "!9 = !{!1, !2}"


@pytest.mark.parametrize("arrays, aliased", [(["x", "y"], True), (["x"], False), ([str(i) for i in range(25)], False)])
def test_nothing_is_said_of_arrays_that_may_be_the_same_of_one_and_of_many(arrays, aliased):
    scopes = ArrayScopes.of([array(name, Role.ARGUMENT) for name in arrays], aliased)
    assert scopes.owners == () and scopes.of_access(array("x", Role.ARGUMENT)) == ""


def moved(x, k, y):
    for i in range(k.shape[0]):
        for j in range(k[i]):
            y[j] = x[i] + y[j - 1]
            x[k[j]] += 1.0


def test_arrays_that_overlap_are_computed_in_order():
    kernel = polyml.kernel(moved, cache=False, fallback="error")
    for shift in (0, 1, 3):
        own, plain = np.arange(9.0), np.arange(9.0)
        k = np.array([0, 3, 2, 4, 1])
        kernel(own[: 9 - shift], k, own[shift:])
        moved(plain[: 9 - shift], k, plain[shift:])
        assert np.array_equal(own, plain)
    text = str(kernel.inspect_llvm(np.arange(9.0), k, np.arange(9.0)))
    assert "!alias.scope" in text and "distinct" in text


def handed_on(x, k):
    now = [0]
    total = 0.0
    while len(now) > 0:
        then = [0]
        then.pop()
        for j in now:
            total += x[j]
            if k[j] > j:
                then.append(k[j])
        now = then
    return total


def test_lists_whose_memory_is_handed_on_are_right():
    x, k = np.arange(40.0), np.minimum(np.arange(40) + 3, 39)
    assert polyml.kernel(handed_on, cache=False, fallback="error")(x, k) == handed_on(x, k)
