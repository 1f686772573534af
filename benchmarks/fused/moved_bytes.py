"""How many bytes a program moves between the last simulated cache and memory, exactly, by making all of its accesses.

What counts is each line that is fetched, each line that is written back, and each line of an argument or a result that is still
dirty at the end; intermediates that are still in the caches then are dead. Code is made for a machine that is described, not for
the one that runs this, so that the numbers are the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.nests import parameters
from polyml import config
from polyml.api.calls.call_arguments import exact_types, types_of
from polyml.caches.simulator.simulate import Simulation, ThreadModel, simulate
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.local_memory import local_memory
from polyml.codegen.ir.program import Program, loops
from polyml.errors import SizesNeeded
from polyml.frontend.parsing.parse import parse
from polyml.machines.cpu import CacheLevel, CpuMachine
from polyml.model.core.scop import Role
from polyml.pipeline import compile as pipeline
from polyml.runtime.calling.arguments import argument
from polyml.runtime.storage.size_classes import sizes_of
from polyml.schedule.script.schedule import TEXT

_PREDICTED = re.compile(r"^fusion \w+: .*at least ([\d,]+) bytes$")  # without sizes that are assumed


@dataclass(frozen=True)
class Setting:
    """A Setting says for what programs are compiled, and in which caches they run.

    machine: the processor that the code is for.
    caches: the simulated levels, nearest first.
    """

    machine: CpuMachine
    caches: tuple[CacheLevel, ...]
    threads: int = 1


@dataclass(frozen=True)
class Moved:
    """A Moved holds the bytes of one form of a program.

    total: all that moves between the last level and memory.
    predicted: what the compiler says that its nests move at least, one after the other; None where it says nothing.
    arrays: {array: (bytes fetched, bytes written)}, of each array that moves anything.
    local_bytes: the block of memory that a call asks for, for all that is neither argument nor result.
    notes: what the compiler says of the schedule.
    text: the loops.
    """

    total: int
    predicted: int | None
    arrays: Mapping[str, tuple[int, int]]
    local_bytes: int
    notes: tuple[str, ...] = field(repr=False)
    text: str = field(repr=False)


def compiled(function: Callable, arguments: Sequence, setting: Setting, **options: object) -> pipeline.Compiled:
    """Returns what every stage makes of a function for these arguments, without machine code."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    given = tuple(argument(name, value) for name, value in zip(names, arguments, strict=True))
    types, layouts = types_of(given)
    chosen = config.resolve({"threads": setting.threads, **options})
    shapes = sizes_of({a.name: a.value.shape for a in given if hasattr(a.value, "shape") and a.value.shape})
    request = pipeline.CompileRequest(types, layouts, chosen, sizes=shapes, machine=setting.machine)
    try:
        return pipeline.compile(parse(function), request, emits=TEXT)
    except SizesNeeded:
        exact = pipeline.CompileRequest(exact_types(given), layouts, chosen, sizes=shapes, machine=setting.machine)
        return pipeline.compile(parse(function), exact, emits=TEXT)


def moved(function: Callable, arguments: Sequence, setting: Setting, **options: object) -> Moved:
    """Returns the bytes that a function moves as polyml compiles it. options: settings such as `fusion` and `schedule`.

    Raises PolymlError where it is not compiled as a whole, or cannot be simulated.
    """
    made = compiled(function, arguments, setting, **options)
    program = made.program
    sizes = parameters(program.scop, function, arguments)
    threads = setting.threads if any(loop.parallel for loop in loops(program.body)) else 1
    places = placed(program, sizes, threads=threads)
    found = simulate(program, sizes, setting.caches, classify=False, places=places, threads=ThreadModel(threads))
    arrays = _by_array(program, found, setting.caches[-1].line_bytes)
    said = next(filter(None, map(_PREDICTED.match, made.artifact.notes)), None)
    local = local_memory(program, sizes, threads).peak_bytes
    return Moved(
        sum(map(sum, arrays.values())), int(said[1].replace(",", "")) if said else None, arrays,
        local, made.artifact.notes, made.stages["ast"](),
    )  # fmt: skip


def _by_array(program: Program, found: Simulation, line_bytes: int) -> dict[str, tuple[int, int]]:
    """Returns {array: (bytes fetched from memory, bytes written to it)}."""
    fetched = dict.fromkeys(found.written, 0)
    for reference, counts in found.counts.items():
        fetched[reference.array] += counts.misses[-1]
    totals = {}
    for array, rows in found.written.items():
        lives_on = program.scop.arrays[array].role is not Role.LOCAL
        written = rows[-1] + (found.dirty[array] if lives_on else 0)
        if fetched[array] or written:
            totals[array] = line_bytes * fetched[array], line_bytes * written
    return totals
