"""Signatures: what they mean, what they print, and where a caret stands under a fault."""

import re

import pytest

from polyml import ConfigError
from polyml.ahead_of_time.call_signature import SizeExtent, parsed


def test_types_and_extents_are_read():
    found = parsed(" f64[N,K] ,f32[ : , 3 ],c64[N+1, K - 2],i8[],float,u16", ["A", "B", "C", "D", "x", "y"])
    assert [str(a) for a in found.arguments] == ["f64[N, K]", "f32[B_0, 3]", "c64[N + 1, K - 2]", "i8[]", "float", "u16"]
    assert found.sizes == ("N", "K", "B_0")
    assert found.arguments[2].extents == (SizeExtent("N", 1), SizeExtent("K", -2))
    assert found.arguments[1].type.sizes == {(1, 3)}
    assert parsed(str(found), ["A", "B", "C", "D", "x", "y"]) == found


def test_an_integer_parameter_can_be_a_size():
    found = parsed("int, f64[n, M]", ["n", "A"])
    assert found.sizes == ("M",) and found.arguments[1].extents[0] == SizeExtent("n")


def test_a_kernel_without_parameters_has_an_empty_signature():
    assert parsed("", []).arguments == () and parsed(" ", []).sizes == ()


@pytest.mark.parametrize(
    "text, column, width, words",
    [
        ("f64[N,K], f65[K]", 11, 3, "`f65` is not a type"),
        ("f64[N,K*2], f64[K]", 7, 3, "`K*2` is not a size"),
        ("f64[N,], f64[K]", 7, 1, "`` is not a size"),
        ("f64[N, f64[K]", 1, 13, "a bracket is not closed"),
        ("f64[N]", 7, 1, "1 types for 2 parameters"),
        ("f64[N], f64[N], f32", 17, 3, "3 types for 2 parameters"),
        ("f64[N], , f32", 9, 1, "a type is missing"),
        ("f64[N], f32,", 12, 1, "a type is missing"),
        ("f64[N] f32", 8, 1, "`f` is not expected here"),
        ("f64[-1], f32", 5, 2, "`-1` is not a size"),
        ("float[N], f32", 1, 5, "arrays have no elements of Python's type `float`"),
        ("f64[B], f64", 5, 1, "the parameter `B` is no integer"),
        ("f64[9999999999999999999], f64", 5, 19, "is not a size"),
    ],
)
def test_a_caret_stands_under_a_fault(text, column, width, words):
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        parsed(text, ["A", "B"])
    assert (caught.value.loc.column, caught.value.loc.width) == (column, width), caught.value.render()
    assert f"--signature:1:{column}: error: " in str(caught.value) and "^" * width in str(caught.value) and caught.value.notes


def test_a_very_long_signature_is_refused():
    with pytest.raises(ConfigError, match="characters"):
        parsed("f64[N], " * 1000, ["A"])
