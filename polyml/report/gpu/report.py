"""The report on one call of a kernel, mapped to a GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from polyml.codegen.gpu.program import GpuProgram
from polyml.errors import ConfigError
from polyml.gpu import launch_model
from polyml.machines.descriptions import Gpu
from polyml.model.core.call_interface import value
from polyml.model.counting.operation_counts import operations
from polyml.performance.variants import KernelCall
from polyml.pipeline.gpu import passes
from polyml.pipeline.gpu.compile import launches
from polyml.pipeline.gpu.device import Device
from polyml.pipeline.gpu.given import launches_as_given
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import CompileRequest, Model, ModelRequest, modelled
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.schedule.gpu.mapping import Mapped, check_block
from polyml.schedule.script.file import Saved


@dataclass(frozen=True)
class GpuReport(GpuReportValues):
    """The report on one call of a kernel on a GPU, which prints, draws and writes itself."""

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Returns the report as text, as `print` shows it. width: the most characters of a line; None: any."""
        from polyml.report.gpu.text import text

        return text(self, width)

    def _repr_html_(self) -> str:
        from polyml.report.gpu.text import parts
        from polyml.report.html import page

        return page(parts(self), *self.pictures().values())

    def pictures(self) -> dict[str, str]:
        """Returns the report's pictures as SVG texts by name, "" where there is nothing to draw."""
        from polyml.report.rooflines import Variant, rooflines_svg

        return {
            "roofline": rooflines_svg([Variant(form.name, form.roofline, form.seconds) for form in self.forms if form.launches])
        }

    def page(self) -> str:
        """Returns the report as a page of HTML that needs no other file."""
        from polyml.report.html import document

        return document(self.kernel, self._repr_html_())

    def data(self) -> dict[str, object]:
        """Returns the report as plain data for JSON; its "version" says in which format."""
        from polyml.report.gpu.data import data

        return data(self)


def report(
    call: KernelCall,
    arguments: Mapping[str, object],
    where: str,
    machine: Gpu,
    block: Sequence[int] = (),
    dialect: str = "cuda",
) -> GpuReport:
    """Returns the report on a call, on a GPU: the launches that polyml's code makes, those of the source's loops, and their
    predicted times.

    arguments: the call's, by name.
    where: the kernel's file and line.
    block: threads of a block along x, y and z, in place of those that polyml chooses.
    dialect: the language of the code, "cuda" or "opencl".

    Raises what compiling the kernel for a GPU raises; ConfigError for sizes that no block has, or for a kernel with a given schedule.
    """
    start = time.perf_counter()
    if block:
        check_block(block, machine.threads_per_block)
    runner, device = PassRunner(), Device(dialect, tf32=call.options.tf32)
    if call.given is None:
        model = modelled(call.kernel, call.types, ModelRequest(call.options, sizes=call.sizes), runner)
        mapped, program = launches(model, runner, device, block=block)
    else:
        model, mapped, program = _given(call, call.given, device, block, runner)
    sizes = {p.name: value(p, arguments) for p in program.scop.parameters}
    counted = partial(launch_model.modelled, sizes=sizes, machine=machine, has_shuffles=dialect == "cuda")
    code = counted(program, mapped)
    as_written, source = launches(model, runner, device, (passes.LAUNCHES_AS_WRITTEN,), block)
    is_source = _key(as_written) == _key(mapped)
    written = code if is_source else counted(source, as_written)
    forms = GpuVariant("source", written), GpuVariant("polyml" if call.given is None else "given", code, is_source)
    work = operations(model.scop, sizes)
    seconds = time.perf_counter() - start
    return GpuReport(call.kernel.name, where, sizes, machine, tuple(block), dialect, work, forms, seconds)


def _given(
    call: KernelCall, given: Saved, device: Device, block: Sequence[int], runner: PassRunner
) -> tuple[Model, tuple[Mapped, ...], GpuProgram]:
    """Returns the model of a call, and the launches of the schedule that is given for it. Raises ConfigError where blocks are asked for
    besides.
    """
    if block:
        notes = ["its steps `grid` and `block` say which blocks there are"]
        raise ConfigError("--block is not for a kernel with a given schedule", notes=notes)
    model = modelled(call.kernel, call.types, ModelRequest(call.options, sizes=dict(given.sizes) or None), runner)
    wanted = CompileRequest(call.types, call.layouts, call.options)
    return model, *launches_as_given(given, model, wanted, device, runner)


def _key(mapped: Sequence[Mapped]) -> tuple[object, ...]:
    """Returns a value that is equal for the same launches of the same loops."""
    return tuple(
        (each.nest.key, *((*(loop.name for loop in axis.loops), axis.size, axis.items, axis.adjacent) for axis in each.axes))
        for each in mapped
    )
