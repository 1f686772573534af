"""The report on one call of a kernel, mapped to a GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.array_layout import placed_whole
from polyml.errors import IllegalSchedule
from polyml.gpu.launches import CudaKernel, Launches
from polyml.gpu.mapping_choice import choose
from polyml.machines.descriptions import Gpu
from polyml.model.core.call_interface import value
from polyml.model.counting.operation_counts import operations
from polyml.performance.variants import KernelCall, source_schedule
from polyml.polyhedra import BudgetExceeded
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.schedule.affine.fusion import fuse
from polyml.schedule.affine.scheduler import parallel_schedule
from polyml.schedule.gpu.mapping import LaunchNest, check_block, nests
from polyml.schedule.script.problem import Problem
from polyml.schedule.tree import loop_tree

ALIGNMENT = 256  # bytes: where memory that is allocated begins (CUDA C++ Programming Guide, "Device Memory Accesses")
OPERATIONS = 5_000_000  # isl operations for the nests of a form


@dataclass(frozen=True)
class GpuReport(GpuReportValues):
    """The report on one call of a kernel on a GPU, which prints, draws and writes itself."""

    def __str__(self) -> str:
        from polyml.report.gpu.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from polyml.report.gpu.text import parts
        from polyml.report.html import page

        return page(parts(self), *self.pictures().values())

    def pictures(self) -> dict[str, str]:
        """Returns the report's pictures as SVG texts by name, "" where there is nothing to draw."""
        from polyml.report.charts import rooflines_svg

        return {"roofline": rooflines_svg([(form.name, form.roofline) for form in self.forms if form.launches])}

    def page(self) -> str:
        """Returns the report as a page of HTML that needs no other file."""
        from polyml.report.html import document

        return document(self.kernel, self._repr_html_())

    def data(self) -> dict[str, object]:
        """Returns the report as plain data for JSON; its "version" says in which format."""
        from polyml.report.gpu.data import data

        return data(self)


def report(call: KernelCall, arguments: Mapping[str, object], where: str, machine: Gpu, block: Sequence[int] = ()) -> GpuReport:
    """Returns the report on a call, mapped to a GPU: the launches of the source's loops and of polyml's schedule, and their
    predicted times.

    arguments: the call's, by name.
    where: the kernel's file and line.
    block: threads of a block along x, y and z, in place of those that polyml chooses.

    Raises IllegalSchedule, with two iterations that depend on each other, where no loop may go to threads; ConfigError for sizes
    that no block has.
    """
    start = time.perf_counter()
    if block:
        check_block(block, machine.threads_per_block)
    problem = source_schedule(call).problem
    sizes = {p.name: value(p, arguments) for p in problem.scop.parameters}
    setting = _GpuReportSetting(problem, sizes, machine, tuple(block))
    source = setting.form("source", problem.scop.schedule)
    forms = source, _found(source, setting)
    refusals = [form.refused for form in forms if form.refused is not None]
    if len(refusals) == len(forms):
        raise refusals[-1]
    work = operations(problem.scop, sizes)
    seconds = time.perf_counter() - start
    return GpuReport(call.kernel.name, where, sizes, machine, tuple(block), work, tuple(form.form for form in forms), seconds)


@dataclass(frozen=True)
class _TriedVariant:
    """A tried variant is the kernel with one order of its loops, and what came of mapping it to a GPU.

    form: its launches, or why there are none.
    refused: the error where none of its loops may go to threads; None where some may.
    """

    form: GpuVariant
    refused: IllegalSchedule | None = None


@dataclass(frozen=True)
class _GpuReportSetting:
    """A setting holds the values that all variants of the kernel in one report have in common.

    block: threads of a block that the user chose; (): none.
    known: {key: launches} of the nests of loops that were mapped so far; nests with equal keys share their launches.
    """

    problem: Problem
    sizes: Mapping[str, int]
    machine: Gpu
    block: tuple[int, ...]
    known: dict[tuple, Launches] = field(default_factory=dict)

    def form(self, name: str, tree: isl.Schedule, *notes: str) -> _TriedVariant:
        """Returns the variant of a schedule, mapped to the GPU; where that is not possible, the variant says why."""
        scop = self.problem.scop
        try:
            with polyhedra.budget(OPERATIONS):
                read = loop_tree.read(tree, scop.statements)
                found = nests(read, scop, self.problem.dependences, self.problem.reductions)
        except IllegalSchedule as refused:
            return _TriedVariant(GpuVariant(name, (), "; ".join((refused.message, *refused.notes[:1])), notes), refused)
        except BudgetExceeded as reason:
            return _TriedVariant(GpuVariant(name, (), f"which loops are parallel was not found: {reason}", notes))
        return _TriedVariant(GpuVariant(name, tuple(map(self._launches, found)), "", notes))

    def _launches(self, nest: LaunchNest) -> Launches:
        """Returns the launches of a nest of loops, with the user's block size or else the one that is predicted to be the fastest.

        Nests whose `key` is equal get the same object, which is made once.
        """
        if nest.key not in self.known:
            places = placed_whole(self.problem.scop, self.sizes, ALIGNMENT)
            kernel = CudaKernel.of(nest, self.problem.scop, self.sizes, places, self.machine)
            self.known[nest.key] = choose(kernel, self.block)
        return self.known[nest.key]


def _found(source: _TriedVariant, setting: _GpuReportSetting) -> _TriedVariant:
    """Returns the variant that is predicted to be the fastest of three: the source's loops, isl's parallel loops, and these with
    neighbouring nests fused.

    source: the variant of the source's loops.
    """
    scop, dependences = setting.problem.scop, setting.problem.dependences
    try:
        separate = parallel_schedule(scop, dependences)
        with polyhedra.budget(OPERATIONS):
            fused = fuse(separate, scop, dependences)
    except (BudgetExceeded, isl.Error) as reason:
        return _TriedVariant(GpuVariant("polyml", (), f"no schedule was found: {reason}"))
    trees = {str(fused): (fused, "neighbours are fused")} | {str(separate): (separate, "components are launches of their own")}
    tried = [setting.form("polyml", tree, note) for tree, note in trees.values()]
    best = min([source, *tried], key=lambda each: inf if each.form.seconds is None else each.form.seconds)
    if best is not source:
        return best
    if not source.form.launches:
        return tried[-1]
    return _TriedVariant(
        replace(
            source.form,
            name="polyml",
            notes=("the source's loops: none of the forms tried is predicted to be faster",),
            is_source=True,
        )
    )
