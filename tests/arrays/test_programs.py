"""Array programs give what NumPy gives: values, types, shapes, changed arguments."""

import copy

import numpy as np
import pytest

import polyml
from polyml.errors import SizesNeeded
from polyml.frontend.argtypes import arg_type, with_ones, with_sizes
from polyml.frontend.arrays import lowered
from polyml.frontend.interpret import interpret
from polyml.frontend.parse import parse
from tests.arrays import calls, programs  # noqa: F401  they fill the corpus
from tests.arrays.corpus import PROGRAMS
from tests.arrays.differential import check
from tests.arrays.generate import generate

named = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


def compare(program, run, arguments):
    """run(*arguments) against NumPy on equal arguments."""
    wanted_arguments, got_arguments = copy.deepcopy(arguments), copy.deepcopy(arguments)
    wanted, got = program.function(*wanted_arguments), run(*got_arguments)
    for one, other in zip(wanted_arguments, got_arguments):
        same(one, other)
    assert isinstance(wanted, tuple) == isinstance(got, tuple)
    results = (wanted, got) if isinstance(wanted, tuple) else ((wanted,), (got,))
    assert len(results[0]) == len(results[1])
    for one, other in zip(*results):
        same(one, other)


def same(wanted, got):
    assert type(wanted) is type(got)
    if wanted is None:
        return
    if isinstance(wanted, (np.ndarray, np.generic)):
        assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape)
    narrow = getattr(wanted, "dtype", None) == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if narrow else 1e-12, atol=1e-6 if narrow else 1e-12)


def other_layout(value):
    """The same array with other strides."""
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    room = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
    view = room[tuple(slice(n + n // 2, None if n // 2 == 0 else n // 2, -1) for n in value.shape)]
    view = view[tuple(slice(0, n) for n in value.shape)]
    view[...] = value
    return view


@named
def test_the_loops_mean_what_the_arrays_mean(program):
    try:
        kernel = lowered(parse(program.function), [with_ones(arg_type(a), a) for a in program.arguments])
    except SizesNeeded:
        kernel = lowered(parse(program.function), [with_sizes(arg_type(a), a) for a in program.arguments])
    compare(program, lambda *arguments: interpret(kernel, arguments), program.arguments)


@named
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_compiled_programs_give_what_numpy_gives(program, fp):
    compare(program, polyml.kernel(fp=fp, fallback="error", cache=False)(program.function), program.arguments)


@named
def test_arguments_may_have_any_strides(program):
    arguments = tuple(map(other_layout, program.arguments))
    compare(program, polyml.kernel(fallback="error", cache=False)(program.function), arguments)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_give_what_numpy_gives(seed):
    outcome, what = check(generate(seed))
    assert outcome in ("ok", "python"), what
