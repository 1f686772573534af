"""A call of a kernel on a systolic array: its nests run fold by fold on the values of real arguments."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyml.codegen.interpreter import call
from polyml.errors import ConfigError
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.script.problem import Problem
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate import boundary
from polyml.systolic.simulate.buffers import Memories
from polyml.systolic.simulate.llvm.engine import CompiledEngine
from polyml.systolic.simulate.numpy_engine import NumpyEngine

_ENGINES = {"compiled": CompiledEngine, "numpy": NumpyEngine}
ENGINES = tuple(_ENGINES)


@dataclass(frozen=True)
class NestRun:
    """A nest on the array. cycles: of all folds with what is brought in before; active: units that have an instance, in each of
    them. reads: elements from memory, by the text of a stream; writes: to memory.
    """

    plan: Plan
    cycles: int
    active: np.ndarray = field(compare=False)
    reads: tuple[tuple[str, int], ...]
    writes: int
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class ArraySimulation:
    """result: what the kernel returns. runs: one after another."""

    result: object
    engine: str
    runs: tuple[NestRun, ...]

    @property
    def cycles(self) -> int:
        return sum(run.cycles for run in self.runs)


def simulate(problem: Problem, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled") -> ArraySimulation:
    """problem: of a call's source. plans: one for each nest, in the order of `recurrence.nests`. arguments: by name; arrays are
    changed as a call changes them.

    Raises what a call of the kernel does for the arguments, and IllegalSchedule for a kernel whose nests cannot run one after another.
    """
    return run(problem.scop, problem.dependences, arguments, plans, engine)


def run(
    scop: Scop, dependences: Dependences, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled"
) -> ArraySimulation:
    """`simulate`, of a SCoP."""
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
    if sums and not plan.recurrence.nest.starts_from_arrays:  # from numbers: nothing is read where they begin
        reads[sums[0]] -= plan.recurrence.elements
    seconds = time.perf_counter() - start
    texts = tuple((program.streams[register], number) for register, number in reads.items())
    return NestRun(plan, cycles, np.concatenate(active), texts, writes, seconds)
