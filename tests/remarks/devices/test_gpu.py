"""Remarks on kernels for GPUs: compared with brute force over all instances, and with the marks of the schedule."""

import functools
import re

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import kernels, polyhedra
from polyml.api.explaining.device_facts import gpu_facts
from polyml.polyhedra.points import instance_text, points
from polyml.remarks.devices.gpu import remarks
from polyml.remarks.values import FUSED, MISSED, PARALLEL, PASSED
from tests.remarks.brute_force import Instances, carried

SIZE = 4
SMALL = {"heat_3d": 3, "adi": 3}


@pytest.fixture(scope="module", params=kernels.NAMES)
def explained(request):
    """(schedule, facts, remarks, sizes, pairs of dependent instances, those whose order is free) of a kernel for OpenCL."""
    found = kernels.load(request.param)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    schedule = polyml.kernel(found.kernel.py_func, target="opencl", cache=False).schedule(*arguments.values())
    with schedule.problem.alone():
        facts = gpu_facts(schedule)
        sizes = {each.name: SMALL.get(request.param, SIZE) for each in facts.scop.parameters}
        free = points(facts.dependences.validity, **sizes) - points(facts.relaxed, **sizes)
        return schedule, facts, remarks(facts, "", "", ()), sizes, Instances(facts.scop, sizes).dependences(), free


def groups(text, loop):
    """(what is said, of which statements) of a remark on a loop, part by part."""
    for part in re.sub(r" \(line \d+\)", "", text.partition(", since they depend")[0]).split("; "):
        before, behind = re.match(r"(S\w+(?:, S\w+)*): ", part), re.search(r" \((S\w+(?:, S\w+)*)\)$", part)
        named = before or behind
        yield part, {*named[1].split(", ")} if named else {*loop.statements}


def test_pairs_that_a_loop_carries_are_not_of_iterations_that_threads_share(explained):
    """They are of other statements, or the host's loops that are named run the source before the sink."""
    schedule, facts, found, sizes, pairs, free = explained
    seen = 0
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        for told, names in groups(shown.of(PARALLEL).text, loop):
            if told.startswith(("its iterations go to threads", "the threads of a block share")):
                mine = {pair for pair in carried(pairs - free, loop, facts.loops) if {end[0] for end in pair} <= names}
                hosts = re.findall(r"`(\w+)`", told.partition("within an iteration of the host's ")[2])
                if hosts:
                    times = iterations(facts, hosts, schedule, sizes)
                    mine = {(a, b) for a, b in mine if not times(a) < times(b)}
                assert not mine, (loop.name, told)
                seen += 1
    assert seen or facts.scop.name in ("deriche", "durbin")


def iterations(facts, names, schedule, sizes):
    """A function from an instance to its iteration of the loops of the schedule that have these names, around its statement."""
    members = {}
    with schedule.problem.alone():
        for each in facts.scheduled:
            if each.loop.name in names and each.loop.directives.host:
                for statement, value in polyhedra.expressions(each.loop.member).items():
                    members.setdefault(statement, []).append(isl.Map.from_pw_aff(value))

    def of(instance):
        with schedule.problem.alone():
            here = isl.Set(f"{{ {instance_text(instance)} }}")
            reached = (each.intersect_domain(here).range() for each in members[instance[0]])
            return tuple(value for each in reached for _, (value,) in points(each, **sizes))

    return functools.cache(of)


def test_axes_threads_and_launches_of_the_host_are_those_of_the_marks(explained):
    schedule, facts, found, *_ = explained
    marks = re.findall(r"# (.*)", str(schedule))
    axes = {(axis, threads, items) for mark in marks for axis, threads, items in GRID.findall(mark)}
    told = {each for loop in found.loops for each in TOLD.findall(loop.of(PARALLEL).text)}
    assert told <= axes and {axis for axis, *_ in told} <= {axis for axis, *_ in axes}
    hosted = any("host" in mark for mark in marks)
    assert not any("the host makes launches" in loop.of(PARALLEL).text for loop in found.loops) or hosted
    copied = sum("shared(" in mark for mark in marks)
    assert sum(each.question == "packed" for each in found.arrays) == copied
    assert sum(each.question == "partial results" for each in found.arrays) == sum("partial(" in mark for mark in marks)


GRID = re.compile(r"grid\((\w), threads=(\d+)(?:, items=(\d+))?")
TOLD = re.compile(r"to threads along (\w), (\d+) of a block(?:, (\d+) iterations each)?")


def test_each_loop_has_both_answers_and_the_pairs_that_are_shown_exist(explained):
    _, facts, found, sizes, *_ = explained
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        assert [remark.question for remark in shown.remarks] == [PARALLEL, FUSED]
        for remark in shown.remarks:
            if remark.kind == MISSED and remark.question == PARALLEL and "depend on each other" in remark.text:
                assert remark.conflict is not None
            conflict = remark.conflict
            if conflict is None or conflict.sizes and max(conflict.sizes.values()) > 6:
                continue
            there = Instances(facts.scop, {**sizes, **conflict.sizes}).dependences()
            pair = conflict.source.instance, conflict.sink.instance
            own = carried(there, loop, facts.loops) if remark.question == PARALLEL else there
            assert pair in {(instance_text(a), instance_text(b)) for a, b in own}, (loop.name, remark)


def scaled(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        B[i] = A[i, 0] + 1.0


def test_a_kernel_answers_without_a_device():
    kernel = polyml.kernel(scaled, target="opencl")
    [found] = kernel.remarks("f32[:, :]", "f32[:]")
    assert all(loop.of(PARALLEL).kind == PASSED for loop in found.loops)
    answer = kernel.why("j", "parallel", "f32[:, :]", "f32[:]")
    assert "its iterations go to threads along x" in str(answer) and answer.conflict is None
    with pytest.raises(polyml.ConfigError, match="on opencl no loop is vectorized or not") as caught:
        kernel.why("j", "vectorized", "f32[:, :]", "f32[:]")
    assert caught.value.notes == ("questions that have an answer there: parallel, fused",)


def test_what_became_of_arrays_is_told_each_time():
    def chain(A, B):
        t = A * 2
        return t + B

    kernel = polyml.kernel(chain, target="opencl")
    for _ in range(2):
        [found] = kernel.remarks("f32[:]", "f32[:]")
        assert [(each.question, each.text.partition(" (")[0]) for each in found.arrays] == [("storage", "t")]


def test_a_schedule_that_is_given_is_the_one_that_is_explained():
    kernel = polyml.kernel(scaled, target="opencl")
    source = kernel.schedule("source", "f32[:, :]", "f32[:]")
    given = kernel.with_schedule(source.grid("S0.i").grid("S1.i"))
    [found] = given.remarks("f32[:, :]", "f32[:]")
    first, inner, second = found.loops
    assert first.of(PARALLEL).kind == second.of(PARALLEL).kind == PASSED
    text = "its iterations are independent, and a thread runs them one after another: the launch's threads are those of `i`"
    assert inner.of(PARALLEL).text == text


def test_a_call_that_runs_as_plain_python_has_the_reason_as_a_value():
    pytest.importorskip("pyopencl")

    def halved(A):
        for i in range(A.shape[0]):
            while A[i] > 3:
                A[i] /= 2

    kernel = polyml.kernel(halved, target="opencl")
    with pytest.warns(polyml.PolymlPerformanceWarning):
        kernel(np.ones(4))
    [found] = kernel.explain().remarks
    assert [each.code for each in found.python] == ["PML-F001"] and found.python[0].place.line and not found.loops
    assert kernel.explain().head.splitlines()[0].endswith("runs as plain Python")
