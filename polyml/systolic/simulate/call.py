"""A call of a kernel on a systolic array: its nests run fold by fold on the values of real arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from polyml.codegen.interpreter import call
from polyml.drawing.tables import html_table
from polyml.errors import ConfigError
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.script.problem import Problem
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.program.events import MemoryContents
from polyml.systolic.program.fold_program import FoldProgram
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate import boundary
from polyml.systolic.simulate.buffers import Memories
from polyml.systolic.simulate.llvm.engine import CompiledEngine
from polyml.systolic.simulate.numpy_engine import NumpyEngine


class Engine(Protocol):
    """An Engine simulates the folds of one nest, which read and write the contents of memories."""

    def run(self, fold: FoldProgram, memories: MemoryContents) -> None:
        """Runs all cycles of a fold, and changes elements of the memories in place."""


_ENGINES: dict[str, Callable[[NestProgram, Mapping[str, object]], Engine]] = {"compiled": CompiledEngine, "numpy": NumpyEngine}
ENGINES = tuple(_ENGINES)


@dataclass(frozen=True)
class NestRun:
    """A NestRun says what one nest did on the array during a simulated call.

    plan: the plan that ran.
    cycles: the cycles of all folds, with those in which stationary operands are shifted in.
    active: how many PEs have an instance, by cycle.
    reads: (the text of a stream, how many elements it gets from memory).
    writes: how many elements go to memory.
    seconds: how long the simulation took.
    """

    plan: Plan
    cycles: int
    active: np.ndarray = field(compare=False)
    reads: tuple[tuple[str, int], ...]
    writes: int
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class ArraySimulation:
    """An ArraySimulation is a call of a kernel that was simulated on an array.

    result: what the kernel returns.
    engine: the engine that ran it.
    runs: what each nest did, in the order in which they ran.
    """

    result: object
    engine: str
    runs: tuple[NestRun, ...]

    def _repr_html_(self) -> str:
        """Returns a table of the nests with their mappings and cycles, which notebooks show."""
        plans = [run.plan for run in self.runs]
        texts = [plan.recurrence.text(plan.mapping) for plan in plans]
        rows = [
            (plan.recurrence.nest.name, text, plan.folds.number, run.cycles) for plan, text, run in zip(plans, texts, self.runs)
        ]
        heads = ["nest", "mapping", "folds", "cycles"]
        return html_table(f"simulated by the engine {self.engine}, {self.cycles:,} cycles", heads, rows)

    @property
    def cycles(self) -> int:
        """Returns the cycles of all nests, one after another."""
        return sum(run.cycles for run in self.runs)


def simulate(problem: Problem, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled") -> ArraySimulation:
    """Simulates a call of a kernel on a systolic array with real values, and returns its result and what each nest did.

    problem: the kernel's model.
    arguments: by name; arrays are changed as a call changes them.
    plans: one for each nest, in the order of `recurrences.nests`.
    engine: "compiled" or "numpy".
    Raises: what a call of the kernel does for the arguments, and IllegalSchedule for a kernel whose nests cannot run one after
        another.
    """
    return run(problem.scop, problem.dependences, arguments, plans, engine)


def run(
    scop: Scop, dependences: Dependences, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled"
) -> ArraySimulation:
    """Simulates a call of a SCoP on a systolic array, as `simulate` does that of a kernel; arrays among the arguments are changed."""
    if engine not in _ENGINES:
        raise ConfigError(f"there is no engine {engine!r}", notes=[f"expected one of {', '.join(ENGINES)}"])
    sizes, arrays = call.begin(scop, arguments)
    flat = {name: np.ascontiguousarray(array).reshape(-1) for name, array in arrays.items()}
    interface = NestInterface(scop, dependences, [plan.recurrence.nest for plan in plans], sizes)
    memories, by_name, runs = Memories(interface, flat), {plan.recurrence.nest.name: plan for plan in plans}, []
    for part in interface.in_order():
        if part in by_name:
            runs.append(_run(NestProgram(interface, by_name[part].folds), memories, arguments, engine, by_name[part]))
        else:
            boundary.run(interface, part, memories, arguments)
    for name, array in arrays.items():
        if not np.shares_memory(array, flat[name]):
            array[...] = flat[name].reshape(array.shape)
    return ArraySimulation(call.result(scop, arrays, arguments), engine, tuple(runs))


def _run(program: NestProgram, memories: Memories, arguments: Mapping[str, object], engine: str, plan: Plan) -> NestRun:
    """Runs the folds of one nest on the contents of `memories`, which it changes.

    Returns the cycles, the busy PEs, the elements read and written, and the time that the simulation took.
    """
    start = time.perf_counter()
    array = _ENGINES[engine](program, arguments)
    cycles, active, reads, writes = 0, [], dict.fromkeys(program.streams, 0), 0
    for fold in program:
        array.run(fold, memories)
        cycles += fold.preload_cycles + fold.cycles
        active += [np.zeros(fold.preload_cycles, np.int64), fold.active]
        for register in reads:
            reads[register] += fold.loaded(register)
        writes += fold.stored
    sums = [register for register in reads if program.is_sum(register)]
    if sums and not plan.recurrence.nest.starts_from_arrays:  # sums start from numbers, so nothing is read for them
        reads[sums[0]] -= plan.recurrence.elements
    seconds = time.perf_counter() - start
    texts = tuple((program.streams[register], number) for register, number in reads.items())
    return NestRun(plan, cycles, np.concatenate(active), texts, writes, seconds)
