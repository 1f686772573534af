"""The report on one call of a kernel, mapped to a GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import islpy as isl

from polyml import polyhedra
from polyml.caches.placement import placed_whole
from polyml.errors import IllegalSchedule
from polyml.gpu.launches import Kernel, Launches, choose
from polyml.hardware import Gpu
from polyml.model.interface import value
from polyml.polyhedra import BudgetExceeded
from polyml.report.forms import Call, source_schedule
from polyml.report.roofline import Roof, Roofline
from polyml.report.work import operations
from polyml.schedule import loops
from polyml.schedule.forms import parallel_schedule
from polyml.schedule.fusion import fuse
from polyml.schedule.gpu import check_block, nests
from polyml.schedule.script import Problem

ALIGNMENT = 256  # bytes: where memory that is allocated begins (CUDA C++ Programming Guide, "Device Memory Accesses")
OPERATIONS = 5_000_000  # isl operations for the nests of a form


@dataclass(frozen=True)
class Form:
    """name: "source" or "polyml". launches: in order. problem: why there are none, "" where there are. notes: what was decided.
    is_source: whether they are those of the source's order.
    """

    name: str
    launches: tuple[Launches, ...]
    problem: str = ""
    notes: tuple[str, ...] = ()
    is_source: bool = False

    @property
    def seconds(self) -> float | None:
        """Of all launches, one after the other, without the time that a launch itself takes."""
        times = [each.roofline.seconds for each in self.launches]
        return None if None in times or self.problem else sum(times)

    @property
    def roofline(self) -> Roofline:
        """Of all launches together."""
        each = [launches.roofline for launches in self.launches]
        return Roofline(sum(found.operations for found in each), _summed(f.work for f in each), _summed(f.traffic for f in each))


def _summed(each: Iterator[Sequence[Roof]]) -> tuple[Roof, ...]:
    """By place."""
    found: dict[str, Roof] = {}
    for roof in (roof for roofs in each for roof in roofs):
        if roof.place in found:
            other = found[roof.place]
            seconds = None if None in (roof.seconds, other.seconds) else roof.seconds + other.seconds
            roof = Roof(roof.place, roof.amount + other.amount, roof.rate, seconds, min(roof.lanes, other.lanes))
        found[roof.place] = roof
    return tuple(found.values())


@dataclass(frozen=True)
class GpuReport:
    """sizes: of the kernel's parameters. block: that was asked for, () if none was. operations: by type. seconds: what it took.
    """

    kernel: str
    where: str
    sizes: Mapping[str, int]
    machine: Gpu
    block: tuple[int, ...]
    operations: Mapping[str, int]
    forms: tuple[Form, ...]
    seconds: float = field(compare=False)

    def __str__(self) -> str:
        from polyml.report.gpu.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from polyml.report.gpu.text import parts
        from polyml.report.html import page

        return page(parts(self), *self.pictures().values())

    def pictures(self) -> dict[str, str]:
        """SVG texts by name, "" where there is nothing to draw."""
        from polyml.report.plots import rooflines_svg

        return {"roofline": rooflines_svg([(form.name, form.roofline) for form in self.forms if form.launches])}

    def data(self) -> dict[str, object]:
        """For JSON; `version` says of which form."""
        from polyml.report.gpu.data import data

        return data(self)


def report(call: Call, arguments: Mapping[str, object], where: str, machine: Gpu, block: Sequence[int] = ()) -> GpuReport:
    """arguments: of the call, by name. block: sizes of a block along x, y and z, in place of those that are chosen.

    Raises IllegalSchedule, with two iterations that depend on each other, where no loop may go to threads; ConfigError for
    sizes that no block has.
    """
    start = time.perf_counter()
    if block:
        check_block(block, machine.threads_per_block)
    problem = source_schedule(call).problem
    sizes = {p.name: value(p, arguments) for p in problem.scop.parameters}
    source = _form("source", problem, problem.scop.schedule, sizes, machine, block)
    forms = source, _found(source, problem, sizes, machine, block)
    refusals = [form.refused for form in forms]
    if all(refusals):
        raise refusals[-1]
    work = operations(problem.scop, sizes)
    seconds = time.perf_counter() - start
    return GpuReport(call.kernel.name, where, sizes, machine, tuple(block), work, tuple(form.form for form in forms), seconds)


@dataclass(frozen=True)
class _Tried:
    form: Form
    refused: IllegalSchedule | None = None


def _found(source: _Tried, problem: Problem, sizes: Mapping[str, int], machine: Gpu, block: Sequence[int]) -> _Tried:
    """The fastest of the source's loops, of polyml's parallel form with each component on its own, and of that one with those
    fused that share a parallel loop.
    """
    scop, dependences = problem.scop, problem.dependences
    try:
        apart = parallel_schedule(scop, dependences)
        with polyhedra.budget(OPERATIONS):
            fused = fuse(apart, scop, dependences)
    except (BudgetExceeded, isl.Error) as reason:
        return _Tried(Form("polyml", (), f"no schedule was found: {reason}"))
    trees = {str(fused): (fused, "neighbours are fused")} | {str(apart): (apart, "components are launches of their own")}
    tried = [_form("polyml", problem, tree, sizes, machine, block, (note,)) for tree, note in trees.values()]
    best = min([source, *tried], key=lambda each: inf if each.form.seconds is None else each.form.seconds)
    if best is source and source.form.launches:
        return _Tried(replace(source.form, name="polyml", notes=("the source's loops: no others are faster",), is_source=True))
    return best if best is not source else tried[-1]


def _form(
    name: str, problem: Problem, tree: isl.Schedule, sizes: Mapping[str, int], machine: Gpu, block: Sequence[int],
    notes: tuple[str, ...] = (),
) -> _Tried:  # fmt: skip
    scop = problem.scop
    places = placed_whole(scop, sizes, ALIGNMENT)
    try:
        with polyhedra.budget(OPERATIONS):
            found = nests(loops.read(tree, scop.statements), scop, problem.dependences)
    except IllegalSchedule as refused:
        return _Tried(Form(name, (), "; ".join((refused.message, *refused.notes[:1])), notes), refused)
    except BudgetExceeded as reason:
        return _Tried(Form(name, (), f"which loops are parallel was not found: {reason}", notes))
    launches = tuple(choose(Kernel.of(nest, scop, sizes, places, machine), block) for nest in found)
    return _Tried(Form(name, launches, "", notes))
