"""The lists of passes: each has a name, a reason, a picture and a test file, is told to who watches, and can be left out."""

import copy
import inspect
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml import config, kernels, pass_manager
from polyml.frontend.syntax import Kernel
from polyml.model.core.nest import Nest
from polyml.model.core.scop import Scop
from polyml.pipeline import passes
from polyml.pipeline.passes import NAMES, PASSES, require, without
from polyml.pipeline.trace import recorded

TESTS = Path(__file__).parent.parent
TRANSLATIONS = ("resolve", "extract", "deps", "reductions", "schedule", "build", "llvm", "object")  # between kinds of values
OPTIONAL = [step.name for step in PASSES if not step.required]
SAMPLES = ("gemm", "jacobi_2d", "lu", "atax", "fdtd_2d", "durbin")


def module_of(step):
    return sys.modules[inspect.unwrap(step.function).__module__]


def test_names_are_used_once_and_known_without_the_compiler():
    assert len(NAMES) == len(PASSES)
    shown = tuple(name for name in NAMES if name not in ("deps", "reductions", "schedule", "llvm", "object"))
    assert config.PASSES == shown, "config.PASSES has the names of pipeline.passes in its order: put the new one there"
    assert not set(config.PASSES) & set(config.STAGES)


def test_every_pass_says_why_it_stands_where_it_stands():
    assert [step.name for step in PASSES if len(step.why) < 15] == [], "`why` is a sentence"


def test_every_pass_shows_before_and_after():
    texts = {step.name: f"{module_of(step).__doc__}{step.function.__doc__}" for step in PASSES if step.name not in TRANSLATIONS}
    missing = [name for name, text in texts.items() if "->" not in text]
    assert missing == [], "the docstring of the function or of its module shows what is before -> what is after"


@pytest.mark.parametrize("step", [step for step in PASSES if step.name not in TRANSLATIONS], ids=lambda step: step.name)
def test_every_pass_has_a_test_file_of_its_name(step):
    *folders, module = module_of(step).__name__.split(".")[1:]
    files = [f"test_{name}.py" for name in {step.name, module}]
    folder = TESTS.joinpath(*folders)
    assert any((folder / file).exists() for file in files), f"{folder} has no {' or '.join(files)}"


def test_who_asks_for_a_pass_that_does_not_exist_is_told_the_names():
    assert require("pack") is NAMES["pack"]
    with pytest.raises(ValueError, match="there is no pass 'packing'; passes: algebra, lower, live_ranges, .*, pack, "):
        require("packing")


def call(name, size="MINI"):
    """What a kernel of PolyBench leaves in its arguments."""
    benchmark = kernels.load(name)
    given = benchmark.inputs(benchmark.sizes[size], np.random.default_rng(1), np.dtype(benchmark.dtype))
    polyml.kernel(benchmark.kernel.py_func, cache=False, fallback="error")(*given.values())
    return given


def test_the_passes_that_run_are_those_of_the_lists_in_their_order():
    ordered = [step.name for listed in (passes.WRITTEN, passes.NEST_PASSES, passes.PLACED, passes.SCOP_PASSES) for step in listed]
    ordered += [step.name for listed in (passes.PROGRAM_PASSES, passes.TILE_PASSES, passes.VECTOR_PASSES) for step in listed]
    for name in ("gemm", "durbin"):
        with recorded() as ran:
            call(name)
        seen = [each.step.name for each in ran]
        assert set(seen) <= set(NAMES)
        once = list(dict.fromkeys(name for name in seen if name in ordered))
        assert once == [name for name in ordered if name in once]


def test_passes_keep_the_kind_of_the_value():
    with recorded() as ran:
        call("gemm")
    kinds = {each.step.name: (type(each.before), type(each.after)) for each in ran if each.step.name not in TRANSLATIONS}
    assert all(before is after for before, after in kinds.values())
    for listed, kind in (
        (passes.KERNEL_PASSES, Kernel), (passes.NEST_PASSES, Nest), (passes.PLACED, Nest), (passes.SCOP_PASSES, Scop),
    ):  # fmt: skip
        assert {kinds[step.name] for step in listed if step.name in kinds} == {(kind, kind)}


@pytest.fixture(scope="module")
def changed():
    """{pass: the samples that it changes}."""
    found = {}
    for name in SAMPLES:
        with pass_manager.watched(
            lambda step, before, after, _: before is after or found.setdefault(step.name, {}).setdefault(name)
        ):
            call(name)
    return {step: (*names,) for step, names in found.items()}


@cache
def right(name):
    return call(name)


@pytest.mark.parametrize("left_out", OPTIONAL)
def test_a_pass_can_be_left_out(left_out, changed):
    """The results stay what they are, but for the rounding of sums in another order.

    Compiled are two samples that the pass changes; one where it changes none, since it then has nothing to leave out.
    """
    seen = []
    with without(left_out), pass_manager.watched(lambda step, before, after, _: seen.append((step.name, before is after))):
        for name in changed.get(left_out, SAMPLES[:1])[:2]:
            got = call(name)
            for argument, value in got.items():
                np.testing.assert_allclose(value, right(name)[argument], rtol=1e-9, err_msg=f"{name}: {argument}")
    assert all(same for name, same in seen if name == left_out) or left_out == "contraction"  # whose nests get tiles then


@pytest.mark.parametrize("step", [step for step in PASSES if step.required], ids=lambda step: step.name)
def test_a_pass_that_others_need_says_so(step):
    with pytest.raises(ValueError, match=re.escape(f"the pass {step.name!r} cannot be left out: {step.required}")):
        with without(step.name):
            pytest.fail("not reached")


def test_a_pass_that_is_left_out_is_back_behind_the_block():
    def named(A, B):
        for i in range(A.shape[0]):
            t = A[i] + 1
            B[i] = t * 2

    def changes():
        with recorded() as ran:
            polyml.kernel(named, cache=False)(np.ones(8), np.ones(8))
        return {each.step.name: bool(each.difference) for each in ran}["forward_substitution"]

    with without("forward_substitution"):
        assert not changes()
    assert changes() and copy.copy(pass_manager.instead) == {}
