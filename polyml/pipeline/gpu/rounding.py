"""What becomes of the setting `tf32` in each launch: which products round their operands for tensor cores, and why others do not.

launches of C[i, j] += A[i, k] * B[k, j]   ->   "gemm_0: S0 runs on tensor cores, with operands rounded to 11 bits (tf32)"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.codegen.gpu.program import Launch
from polyml.codegen.ir.program import instances
from polyml.dtypes import F32
from polyml.model.core.products import factors, multiplies_f32
from polyml.model.core.scop import Statement
from polyml.pipeline.gpu.device import Device
from polyml.pipeline.stages import Model
from polyml.schedule.gpu.mapping import Mapped


def rounding_notes(pairs: Sequence[tuple[Launch, Mapped]], model: Model, device: Device) -> Iterator[str]:
    """Yields the lines that say what the setting `tf32` does in the launches, one for each statement that multiplies arrays of float32.

    pairs: the launches, each with how its loops are mapped to threads.
    """
    if not device.tf32:
        return
    if device.dialect != "cuda":
        yield "tf32 changes nothing: there are no tensor cores in OpenCL C"
        return
    found = [note for launch, mapped in pairs for note in _of_launch(launch, mapped, model)]
    yield from found or ["tf32 changes nothing: no launch adds up products of arrays of float32"]


def _of_launch(launch: Launch, mapped: Mapped, model: Model) -> Iterator[str]:
    loops = [each.loop for version in launch.versions for each in version.fragments]
    together = {node.statement for node in instances(tuple(loops))}
    where = "runs on" if all(version.fragments for version in launch.versions) else "runs, in whole blocks, on"
    for name in dict.fromkeys(launch.statements):
        statement = model.scop.statements[name]
        if multiplies_f32(statement, model.reductions, model.scop):
            why = "" if name in together else _why_not(statement, mapped, model)
            yield (
                f"{launch.name}: {name} runs without tensor cores, in float32: {why}"
                if why
                else f"{launch.name}: {name} {where} tensor cores, with operands rounded to 11 bits (tf32)"
            )


def _why_not(statement: Statement, mapped: Mapped, model: Model) -> str:
    """Returns the first reason why a statement is not run by matrix instructions."""
    nest, scop = mapped.nest, model.scop
    read = factors(statement, model.reductions, scop)
    inside = next((run.inside for run in nest.runs() if run.statement == statement.name), ())
    if read is None or scop.arrays[read[0].array].element != F32:
        return "what it adds is not a product of two elements alone"
    if nest.serial:
        return "one thread runs it"
    if len(inside) != 1:
        return f"it adds up along {'several loops' if inside else 'no loop of a thread'}"
    if any(axis.merged for axis in mapped.axes):
        return "its matrices have several loops in place of rows or columns"
    if sum(axis.items > 1 for axis in mapped.axes) != 2:
        return "threads do not share loads of both factors, as rows and columns of a matrix would"
    if mapped.copies is not None:
        return "the schedule asks for other blocks or copies"
    return "a factor has no rows in memory along the loop of the sum or of the result, or the launch writes it"
