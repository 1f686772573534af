"""Mistakes in kernels: the emulator finds them, or a reason is known why they change nothing."""

import pytest

from polyml.schedule.gpu import launch_plan
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.mutations import with_switches
from tests.cuda.emulator.subjects import SMALL_TILE, subjects, why_equivalent
from tests.cuda.emulator.survivors import tried

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no g++")
SUBJECTS = {each.name: each for each in subjects()}


@needs_compiler
@pytest.mark.parametrize("name", SUBJECTS)
def test_barriers_waits_and_swizzles_that_are_left_out_are_found(name, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", SMALL_TILE)
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", SMALL_TILE)
    survive = [str(each.mutation) for each in tried(SUBJECTS[name], ("barrier", "wait", "swizzle")) if not each.noticed]
    assert not survive


@needs_compiler
@pytest.mark.parametrize("name", ["gemm", "transpose"])
def test_bounds_that_are_moved_are_found(name, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", SMALL_TILE)
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", SMALL_TILE)
    found = list(tried(SUBJECTS[name], ("bound",)))
    assert found and not [str(each.mutation) for each in found if not each.noticed and not why_equivalent(each.mutation)]


def test_a_switch_stands_before_each_bound_barrier_and_swizzle():
    text = """extern "C" __global__ void k(int *A, int n)
{
    if (n < 4 && n >= 2)
        for (int i = 0; i <= min_index(n, 3); i++)
            A[i ^ 1 << 2] = 0;
    else {
        __syncthreads(); // a < b
    }
}
"""
    switched, mutations = with_switches(text)
    assert (
        switched
        == """extern "C" __global__ void k(int *A, int n)
{
    if (n < EMU_MOVED(0) + 4 && n >= EMU_MOVED(1) + 2)
        for (int i = EMU_MOVED(3) + 0; i <= EMU_MOVED(2) + min_index(EMU_MOVED(4) + n, 3); i++)
            A[i ^ EMU_KEPT(5) * 1 << 2] = 0;
    else {
        if (EMU_KEPT(6)) __syncthreads(); // a < b
    }
}
"""
    )
    assert [(each.kind, each.shift, each.line, each.only_slower) for each in mutations] == [
        ("bound", 1, 3, False), ("bound", -1, 3, True), ("bound", 1, 3, True), ("bound", -1, 3, False), ("bound", 1, 4, False),
        ("bound", -1, 4, False), ("bound", 1, 4, False), ("bound", -1, 4, False), ("bound", 1, 4, False), ("bound", -1, 4, False),
        ("swizzle", 0, 5, False), ("barrier", 0, 7, False),
    ]  # fmt: skip
