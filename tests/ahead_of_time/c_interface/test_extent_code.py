"""Extents as instructions give what Python gives for their texts."""

import ctypes
import random

import pytest

from polyml.ahead_of_time.c_interface.extent_code import emitted, renamed
from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.runtime.loading.assemble import assemble
from polyml.runtime.loading.load import load


def random_extent(rng, depth=3):
    """A text such as `rewritten` accepts, over N and M."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["N", "M", str(rng.randint(0, 9))])
    a, b = random_extent(rng, depth - 1), random_extent(rng, depth - 1)
    kind = rng.randrange(7)
    if kind < 3:
        return f"({a} {'+-*'[kind]} {b})"
    if kind == 3:
        return f"({a} {rng.choice(['//', '%'])} {rng.randint(1, 7)})"
    if kind == 4:
        return f"{rng.choice(['min', 'max'])}({a}, {b}, {random_extent(rng, 0)})"
    if kind == 5:
        test = f"{a} {rng.choice(['>=', '==', '<=', '>', '<'])} {b}"
        return f"({a} if {test} {rng.choice(['and', 'or'])} N > 2 else {b})"
    return f"(-{a})"


def compiled(extent):
    fn = FunctionBuilder("i64 @extent(i64 %n, i64 %m)")
    fn.current.terminator = f"ret i64 {emitted(extent, {'N': '%n', 'M': '%m'}, fn)}"
    code = load([assemble(fn.text())], "extent")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code.address("extent"))
    return lambda n, m: (code, function(n, m))[1]


@pytest.mark.parametrize("seed", range(30))
def test_instructions_give_what_python_gives(seed):
    rng = random.Random(seed)
    extent = random_extent(rng)
    function = compiled(extent)
    for _ in range(20):
        n, m = rng.randint(-9, 9), rng.randint(-9, 9)
        assert function(n, m) == eval(extent, {"N": n, "M": m, "min": min, "max": max}), (extent, n, m)


@pytest.mark.parametrize("seed", range(10))
def test_renamed_extents_have_the_same_value(seed):
    rng = random.Random(seed)
    extent = random_extent(rng)
    other = renamed(extent, {"N": "K - 1", "M": "K"})
    for k in range(-5, 6):
        values = {"min": min, "max": max}
        assert eval(other, values | {"K": k}) == eval(extent, values | {"N": k - 1, "M": k})


@pytest.mark.parametrize("extent", ["N / 2", "N // M", "f(N)", "N ** 2", "'N'", "N if N else 1"])
def test_what_is_no_extent_is_refused(extent):
    with pytest.raises(ValueError, match="is not a"):
        emitted(extent, {"N": "%n", "M": "%m"}, FunctionBuilder("i64 @extent(i64 %n, i64 %m)"))
