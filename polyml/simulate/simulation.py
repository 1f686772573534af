"""A call of a kernel on a systolic array: its nests run fold by fold on the values of real arguments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyml import polyhedra
from polyml.codegen import calls
from polyml.codegen.systolic import Memory, NestProgram
from polyml.errors import ConfigError, IllegalSchedule
from polyml.model.dependence import Dependences
from polyml.model.scop import Scop
from polyml.numpy_dtypes import numpy_dtype
from polyml.report.forms import Call, source_schedule
from polyml.schedule.dataflows import Plan
from polyml.simulate import edge
from polyml.simulate.compiled import Compiled
from polyml.simulate.stepped import Stepped

_ENGINES = {"compiled": Compiled, "numpy": Stepped}
ENGINES = tuple(_ENGINES)


@dataclass(frozen=True)
class Run:
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
class Simulation:
    """result: what the kernel returns. runs: one after another."""

    result: object
    engine: str
    runs: tuple[Run, ...]

    @property
    def cycles(self) -> int:
        return sum(run.cycles for run in self.runs)


def simulate(call: Call, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled") -> Simulation:
    """plans: one for each nest, in the order of `recurrence.nests`. arguments: by name; arrays are changed as a call changes them.

    Raises what a call of the kernel does for the arguments, and IllegalSchedule for a kernel whose nests cannot run one after another.
    """
    problem = source_schedule(call).problem
    return run(problem.scop, problem.dependences, arguments, plans, engine)


def run(
    scop: Scop, dependences: Dependences, arguments: Mapping[str, object], plans: Sequence[Plan], engine: str = "compiled"
) -> Simulation:
    """`simulate`, of a SCoP."""
    if engine not in _ENGINES:
        raise ConfigError(f"there is no engine {engine!r}", notes=[f"expected one of {', '.join(ENGINES)}"])
    sizes, arrays = calls.begin(scop, arguments)
    flat = {name: np.ascontiguousarray(array).reshape(-1) for name, array in arrays.items()}
    runs = []
    for part in _in_order(scop, dependences, plans):
        if isinstance(part, str):
            edge.run(scop, scop.statements[part], sizes, flat, arguments)
        else:
            runs.append(_run(scop, part, flat, arguments, engine))
    for name, array in arrays.items():
        if not np.shares_memory(array, flat[name]):
            array[...] = flat[name].reshape(array.shape)
    return Simulation(calls.result(scop, arrays, arguments), engine, tuple(runs))


def _in_order(scop: Scop, dependences: Dependences, plans: Sequence[Plan]) -> Iterator[Plan | str]:
    """Nests, and statements of none, each after those that it depends on."""
    part_of: dict[str, Plan | str] = {name: name for name in scop.statements}
    for plan in plans:
        part_of.update((name, plan) for name in plan.recurrence.statements)
    before: dict[int, set[int]] = {id(part): set() for part in part_of.values()}
    for kind in (dependences.flow, dependences.anti, dependences.output):
        for pairs in polyhedra.pieces(kind):
            source, sink = (part_of[name] for name in (polyhedra.domain_name(pairs), polyhedra.range_name(pairs)))
            if source is not sink:
                before[id(sink)].add(id(source))
    waiting = list({id(part): part for part in part_of.values()}.values())
    while waiting:
        ready = next((part for part in waiting if not before[id(part)]), None)
        if ready is None:
            names = ", ".join(dict.fromkeys(name for name, part in part_of.items() if part in waiting))
            raise IllegalSchedule(f"{names} use the same memory in turns, so that none of them can run as a whole before the others")
        yield ready
        waiting.remove(ready)
        for others in before.values():
            others.discard(id(ready))


class _Memories(Mapping[Memory, np.ndarray]):
    """What a nest uses: arrays, those that it changes and reads otherwise also as it found them, and values between its folds."""

    def __init__(self, program: NestProgram, arrays: Mapping[str, np.ndarray]):
        self._known: dict[Memory, np.ndarray] = {("array", name): array for name, array in arrays.items()}
        self._known |= {("initial", name): array.copy() if name in program.written else array for name, array in arrays.items()}
        self._program = program

    def __getitem__(self, memory: Memory) -> np.ndarray:
        kind, name = memory
        if kind == "made" and memory not in self._known:
            self._known[memory] = np.zeros(self._program.made(name), numpy_dtype(self._program.cells[name].result))
        return self._known[memory]

    def __iter__(self) -> Iterator[Memory]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _run(scop: Scop, plan: Plan, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object], engine: str) -> Run:
    start = time.perf_counter()
    program = NestProgram(scop, plan.folds)
    array, memories = _ENGINES[engine](program, arguments), _Memories(program, arrays)
    cycles, active, reads, writes = 0, [], dict.fromkeys(program.streams, 0), 0
    for fold in program:
        array.run(fold, memories)
        cycles += fold.preload_cycles + fold.cycles
        active += [np.zeros(fold.preload_cycles, np.int64), fold.active]
        for register in reads:
            reads[register] += fold.loaded(register)
        writes += fold.stored
    sums = [register for register in reads if program.is_sum(register)]
    if sums and not plan.recurrence.nest.starts:  # from numbers: nothing is read where they begin
        reads[sums[0]] -= plan.recurrence.elements
    seconds = time.perf_counter() - start
    texts = tuple((program.streams[register], number) for register, number in reads.items())
    return Run(plan, cycles, np.concatenate(active), texts, writes, seconds)
