"""Pictures of GPUs: blocks, threads and warps of instances are those at which the generated code runs them."""

import re
import time
from xml.etree import ElementTree

import pytest

import polyml
from polyml.api.plotting.call_sizes import call_sizes
from polyml.codegen.interpreter.launches import threads
from polyml.codegen.interpreter.order import walk
from polyml.codegen.ir.program import Program
from polyml.errors import ConfigError
from polyml.pictures.threads.gpu_blocks import gpu_blocks
from polyml.pictures.threads.gpu_svg import gpu_svg


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def five_point(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def triangle(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] = 2.0 * A[i, j]


def sweeps(A, B, T):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def recurrence(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]


def four_loops(A, B):
    for a in range(A.shape[0]):
        for b in range(A.shape[1]):
            for c in range(A.shape[2]):
                for d in range(A.shape[3]):
                    B[a, b, c, d] = A[a, b, c, d] - 1.0


CASES = [
    (gemm, ("f32[:,:]",) * 3, {"C_0": 70, "C_1": 40, "A_1": 5}),
    (gemm, ("f64[:,:]",) * 3, {"C_0": 9, "C_1": 11, "A_1": 3}),
    (five_point, ("f64[:,:]",) * 2, {"A_0": 20, "A_1": 70}),
    (triangle, ("f64[:,:]",) * 2, {"A_0": 37, "A_1": 40}),
    (sweeps, ("f64[:]", "f64[:]", "int"), {"A_0": 300, "T": 3}),
    (recurrence, ("f64[:]",), {"x_0": 9}),
    (four_loops, ("f64[:,:,:,:]",) * 2, {"A_0": 2, "A_1": 3, "A_2": 5, "A_3": 40}),
]  # fmt: skip


def of(function, types, target="cuda"):
    return polyml.kernel(function, cache=False, target=target).schedule("auto", *types)


def by_code(program, launch, shown, sizes):
    """{instance: (block along each axis, thread along each axis)}, by running the loops of every thread of a launch."""
    found = {}
    values = {**sizes, **shown.host}
    runs = [each for each, _ in program.runs(re.sub("_small$", "", launch.name), values)]
    known = next((known for each, known in program.runs(re.sub("_small$", "", launch.name), values) if each is launch), values)
    assert launch in runs or shown.note
    names = {axis.start: axis.block for axis in launch.blocks}
    for start in threads(launch, known):
        block = [start[names.get(axis.start, axis.start + "_block")] for axis in launch.axes]
        thread = [(start[axis.start] - first) // axis.thread_step for axis, first in zip(launch.axes, block)]
        numbers = [first // (axis.threads * axis.items) for axis, first in zip(launch.axes, block)]
        for version in launch.versions:
            if version.condition.evaluate({**known, **start}):

                def visit(name, point):
                    assert (name, point) not in found
                    found[name, point] = tuple(numbers), tuple(thread)

                walk(Program(program.scop, version.tested), {**known, **start}, visit)
    return found


@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("function, types, sizes", CASES, ids=[f"{f.__name__} {t[0]}" for f, t, _ in CASES])
def test_threads_run_the_instances_that_the_code_gives_them(function, types, sizes, target):
    schedule = of(function, types, target)
    scop = schedule.problem.scop
    values = call_sizes(scop, sizes)
    program = schedule.problem.generate(schedule.tree)
    shown = gpu_blocks(program, values)
    assert shown.launches
    for each in shown.launches:
        launch = program.launches[each.name]
        expected = by_code(program, launch, each, values)
        assert {instance: (place.block, place.thread) for instance, place in each.places.items()} == expected
        for place in each.places.values():
            number, below = 0, 1
            for at, axis in zip(place.thread, launch.axes):
                number, below = number + at * below, below * axis.threads
            assert place.warp == number // 32
    if all(len(each.axes) <= 2 for each in shown.launches):
        svg = gpu_svg(shown, most=100_000)
        cells = [each for each in ElementTree.fromstring(svg).iter() if each.get("data-block") is not None]
        drawn = sum(int(each.get("data-instances")) for each in cells)
        assert drawn == sum(len(each.places) for each in shown.launches) or "iterations are drawn" in svg
        places = {(p.position, p.block, p.thread, p.warp) for each in shown.launches for p in each.places.values()}
        told = {
            (
                *(tuple(map(int, filter(None, c.get(f"data-{key}").split(",")))) for key in ("position", "block", "thread")),
                int(c.get("data-warp")),
            )
            for c in cells
        }
        assert told <= places and (told == places or "iterations are drawn" in svg)


def test_boxes_of_shared_memory_are_those_of_the_text():
    """The arrays that OpenCL's text declares in local memory have as many bytes as the boxes."""
    kernel = polyml.kernel(gemm, cache=False, target="opencl")
    types = ("f32[:,:]",) * 3
    svg = polyml.plot(kernel.schedule("auto", *types), "gpu", {"C_0": 640, "C_1": 8, "A_1": 4})
    name = re.search(r"gemm_0(_small)?", svg).group()
    boxes = [each for each in ElementTree.fromstring(svg).iter() if each.get("data-lengths")]
    body = re.split(r"__kernel|kernel void", str(kernel.inspect_opencl(*types)))
    own = next(each for each in body if re.search(rf"\b{name}\(", each))
    declared = [
        eval("*".join(re.findall(r"\[(\d+)\]", line))) for line in re.findall(r"(?:__local|local) float \w+(?:\[\d+\])+", own)
    ]
    assert boxes and sorted(int(each.get("data-bytes")) for each in boxes) == sorted(4 * each for each in declared)


def test_a_script_s_blocks_are_drawn():
    def scaled(A):
        for i in range(A.shape[0]):
            A[i] *= 2.0

    schedule = polyml.kernel(scaled, cache=False, target="cuda").schedule("source", "f64[:]").grid("i").block(64)
    svg = polyml.plot(schedule, "gpu", {"A_0": 130})
    cells = [each for each in ElementTree.fromstring(svg).iter() if each.get("data-block") is not None]
    drawn = {
        int(each.get("data-position")): (each.get("data-block"), each.get("data-thread"), each.get("data-warp")) for each in cells
    }
    assert drawn == {i: ("0", str(i), str(i // 32)) for i in range(64)}
    assert "the first 64 of 130 iterations are drawn" in svg and "64 threads of a block" in svg
    start = time.perf_counter()
    polyml.plot(schedule, "gpu", {"A_0": 130})
    assert time.perf_counter() - start < 2  # 0.1 s where nothing else runs


def test_kernels_for_processors_have_no_blocks():
    with pytest.raises(ConfigError, match="gemm runs on a processor, which has no blocks of threads"):
        polyml.plot(polyml.kernel(gemm, cache=False).schedule("source", *["f64[:,:]"] * 3), "gpu")
