"""The interpreter, type inference and Python agree on what a kernel does."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest

from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from tests.frontend.evaluate import evaluate
from tests.frontend.samples import SAMPLES, outside_domains


def same(one, other):
    """Equal in type, dtype, shape and bits (any NaN is any other)."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (np.ndarray, np.generic)):
        a, b = np.asarray(one), np.asarray(other)
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(bits(a), bits(b))
    return repr(one) == repr(other)


def bits(array):
    if array.dtype.kind == "c":
        return bits(np.stack([array.real, array.imag], axis=-1))
    if array.dtype.kind not in "fV":  # V: bfloat16
        return array
    return np.where(np.isnan(array), -1, array.view(f"i{array.itemsize}"))


def ran(run, args):
    args = copy.deepcopy(args)
    return run(args), tuple(args)


def call_python(function, args):
    positional = [p for p in inspect.signature(function).parameters.values() if p.kind != p.KEYWORD_ONLY]
    names = [p.name for p in inspect.signature(function).parameters.values()][len(positional) :]
    with np.errstate(all="ignore"):
        return function(*args[: len(positional)], **dict(zip(names, args[len(positional) :])))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_interpreter_does_what_python_does(name, rng):
    function, make = SAMPLES[name]
    args, kernel = make(rng), parse(function)
    assert same(ran(lambda a: interpret(kernel, a), args), ran(lambda a: call_python(function, a), args))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_typed_kernel_computes_what_the_interpreter_does(name, rng):
    function, make = SAMPLES[name]
    args, kernel = make(rng), parse(function)
    typed = infer(kernel, [arg_type(a) for a in args])
    assert same(ran(lambda a: evaluate(typed, a), args), ran(lambda a: interpret(kernel, a), args))


def test_outside_the_domain_of_a_function_the_result_is_ieee_s():
    kernel, args = parse(outside_domains), [np.zeros(14), 2.5, 0.0]
    interpret(kernel, args)
    inf, nan = np.inf, np.nan
    assert same(args[0], np.array([nan, -inf, inf, inf, -inf, nan, nan, inf, inf, nan, nan, inf, 7.0, 0.0]))
    again = [np.zeros(14), 2.5, 0.0]
    evaluate(infer(kernel, [arg_type(a) for a in again]), again)
    assert same(args, again) or same(tuple(args), tuple(again))
