"""Kernels out of proportion: very long sums, very deep expressions, hundreds of statements, dozens of quotients or dimensions."""

import importlib.util
import sys
from itertools import product

import numpy as np
import pytest

import polyml
from polyml.api.compiling import deep_stack
from polyml.errors import NotAffineError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.pipeline.stages import extract

IN_REGIONS = "source order around regions"


@pytest.fixture
def written(tmp_path):
    """A function of the name `f` by its text, from a file of its own."""

    def write(text):
        path = tmp_path / f"large_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    return write


def one_loop(*statements):
    return "def f(A, B):\n    for i in range(1, A.shape[0]):\n" + "".join(f"        {s}\n" for s in statements)


def agree(function, kernel, *arrays):
    own, python = [a.copy() for a in arrays], [a.copy() for a in arrays]
    kernel(*own)
    function(*python)
    for mine, theirs in zip(own, python):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("expression", [" + ".join(f"A[i] * {k}.0" for k in range(700)), "-" * 801 + "A[i]", "-" * 190 + "A[i]"])
def test_long_sums_and_deep_expressions_are_compiled(written, expression):
    function = written(one_loop(f"B[i] = {expression}"))
    kernel = polyml.kernel(function)
    agree(function, kernel, np.arange(20.0), np.zeros(20))
    assert kernel.compiled


def test_a_stencil_of_343_points_is_compiled_deep_inside_a_program(written):
    terms = " + ".join(f"A[i+{a}, j+{b}, k+{c}]" for a, b, c in product(range(7), repeat=3))
    loops = "def f(A, B):\n    n = B.shape[0]\n    for i in range(n):\n        for j in range(n):\n            for k in range(n):\n"
    function = written(f"{loops}                B[i, j, k] = {terms}\n")
    kernel = polyml.kernel(function)

    def called(depth):
        return (
            called(depth - 1) if depth else agree(function, kernel, np.random.default_rng(1).random((9, 9, 9)), np.zeros((3, 3, 3)))
        )

    called(600)
    assert kernel.compiled


def test_what_is_too_deep_for_any_stack_runs_as_python(written, monkeypatch):
    monkeypatch.setattr(deep_stack, "FRAMES", 0)
    function = written(one_loop("B[i] = " + " + ".join(["A[i]"] * 600)))
    kernel = polyml.kernel(function)
    with pytest.warns(polyml.PolymlPerformanceWarning, match="an expression of `f` is nested too deeply for the compiler"):
        agree(function, kernel, np.arange(5.0), np.zeros(5))
    assert kernel.compiled is False


def test_a_deep_stack_has_the_caller_s_settings_and_raises_its_errors():
    limit = sys.getrecursionlimit()
    with polyml.config.scope(threads=3):
        assert deep_stack.on_deep_stack(lambda: polyml.config.resolve().threads) == 3
    with pytest.raises(ZeroDivisionError):
        deep_stack.on_deep_stack(lambda: 1 // 0)
    assert sys.getrecursionlimit() == limit


def test_a_loop_of_very_many_statements_keeps_the_source_s_order(written):
    function = written(one_loop(*["A[i] = A[i] * B[0] + A[i - 1]"] * 160))
    kernel = polyml.kernel(function)
    agree(function, kernel, np.random.default_rng(1).random(30), np.full(30, 0.01))
    assert kernel.compiled
    assert "source order: a nest has 160 statements, too many that share arrays to compare them all" in kernel.explain()


def test_many_nests_are_scheduled_each(written):
    nests = [f"    for i in range(A.shape[0]):\n        A[i] = A[i] + B[i] * {k}.0\n" for k in range(40)]
    function = written("def f(A, B):\n" + "".join(nests))
    kernel = polyml.kernel(function)
    agree(function, kernel, np.random.default_rng(1).random(30), np.random.default_rng(2).random(30))
    assert kernel.compiled and "too many" not in kernel.explain()


def agree_in_regions(function, has_regions, why, *arrays):
    """The compiled function does what Python does; it has regions just where the model refuses it, which says why."""
    kernel = polyml.kernel(function)
    agree(function, kernel, *arrays)
    assert kernel.compiled and (IN_REGIONS in kernel.explain()) is has_regions
    typed = infer(parse(function), list(map(arg_type, arrays)))
    if has_regions:
        with pytest.raises(NotAffineError) as refused:
            extract(typed)
        assert why in str(refused.value)


NOTE = "one expression may have 6 different // and %, and 6 different min, max, abs and conditions"


@pytest.mark.parametrize("count, is_affine", [(6, True), (7, False)])
@pytest.mark.parametrize("term", ["(i % {})", "min(i, {})", "(1 if i > {} else 0)"])
def test_a_subscript_has_a_limit_of_cases_beyond_which_it_is_in_a_region(written, term, count, is_affine):
    subscript = " + ".join(term.format(k) for k in range(2, count + 2))
    function = written(one_loop(f"B[{subscript}] = A[i]"))
    agree_in_regions(function, not is_affine, NOTE, np.arange(20.0), np.zeros(100))


def test_an_array_may_have_sixty_four_dimensions(written):
    function = written("def f(A):\n    for i in range(A.shape[0]):\n        A[i] = A[i] + 1\n")
    kernel = polyml.kernel(function)
    agree(function, kernel, np.arange(6.0).reshape(3, *[1] * 62, 2))
    assert kernel.compiled


def chain(count):
    branches = (f"{'el' if k > 2 else ''}if i % {k} == 1:\n            B[i] = {k}.0" for k in range(2, count + 2))
    return one_loop(*branches)


@pytest.mark.parametrize("count, is_affine", [(3, True), (12, True), (40, False)])
def test_a_chain_of_conditions_with_remainders_is_compiled_in_its_time(written, count, is_affine):
    why = "more than 24 conditions with // or % beside others"
    agree_in_regions(written(chain(count)), not is_affine, why, np.zeros(100), np.zeros(100))
