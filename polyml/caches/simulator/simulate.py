"""Exact misses of a program's accesses in a hierarchy of caches, by making all of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from polyml.caches.simulator import coherence, shared_requests, state_header, trace
from polyml.caches.simulator import level_functions as simulated
from polyml.caches.simulator.set_associative import LARGEST_LINE
from polyml.caches.simulator.state_layout import StateLayout
from polyml.caches.simulator.threads import SimulatedThreads, run_independently
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.array_layout import Placed, placed
from polyml.codegen.ir.program import Program
from polyml.codegen.llvm import builder
from polyml.errors import PolymlValueError
from polyml.machines import cpu
from polyml.machines.cpu import CacheLevel
from polyml.runtime.loading.assemble import assemble_together
from polyml.runtime.loading.link import Code
from polyml.runtime.loading.load import load


@dataclass(frozen=True)
class Counts:
    """Counts tell how often one reference, or several together, accesses memory and misses.

    accesses: how many accesses are made.
    first: by level, compulsory misses of a cache: uses of lines that no thread with access to this cache used before.
    misses: by level, all misses.
    fully_associative: by level, the misses of a fully associative cache of the same size; () where misses are not classified. If
        each thread has its own cache at this level, all accesses of the thread are made to the fully associative one; if threads
        share the level, only those that reach this level are.
    invalidated: by level, misses of lines that the cache had until another thread wrote to them; () where that is not simulated.
    """

    accesses: int
    first: tuple[int, ...]
    misses: tuple[int, ...]
    fully_associative: tuple[int, ...]
    invalidated: tuple[int, ...]

    @property
    def cold(self) -> int:
        """Returns the compulsory misses of the nearest level; where only one thread runs, other levels have the same number."""
        return self.first[0]

    def capacity(self, level: int) -> int:
        """Returns the capacity misses of a level: the misses of a fully associative cache of its size, less the compulsory misses.
        The misses must have been classified.
        """
        return self.fully_associative[level] - self.first[level]

    def conflict(self, level: int) -> int:
        """Returns the conflict misses of a level: all misses, less those of a fully associative cache of its size, less those that
        writes of other threads cause. It is negative where that cache would miss more often. The misses must have been classified.
        """
        return self.misses[level] - self.fully_associative[level] - self.coherence(level)

    def coherence(self, level: int) -> int:
        """Returns the misses of lines that writes of other threads invalidated; 0 where these are not simulated."""
        return self.invalidated[level] if self.invalidated else 0


@dataclass(frozen=True)
class Simulation:
    """A Simulation holds, for a program, the accesses and misses of each reference, and how many lines each level writes back.

    levels: the caches, from the nearest outwards.
    counts: by reference, sums over all threads.
    threads: by thread, the counts of each reference.
    written: by array, how many dirty lines each level writes back, or, where it writes through, how many writes it passes on.
    places: the addresses of the arrays.
    dirty: by array, how many lines one of the caches still has dirty at the end, so that memory lacks them.
    line_misses: an array [line of memory, level] of misses over all threads; None where they were not counted by line.
    """

    levels: tuple[CacheLevel, ...]
    counts: dict[ArrayReference, Counts]
    threads: tuple[dict[ArrayReference, Counts], ...]
    written: dict[str, tuple[int, ...]]
    places: dict[str, Placed]
    dirty: dict[str, int]
    line_misses: np.ndarray | None = None


@dataclass(frozen=True)
class ThreadModel:
    """A ThreadModel says how threads run a program in the simulation.

    count: how many; each has its own caches of the levels that are not shared. Between barriers, which are before and after each
        parallel loop, they take turns, one access each (`shared_requests`; `trace` has what each of them runs). Where a shared
        level is exclusive, a line that only other threads' own caches have is fetched from the level behind it.
    coherent: whether a write of one thread invalidates the line in the caches of others (`coherence`), which takes several times as
        long to simulate; if not, the line stays there, and misses for the sake of coherence are not counted.
    """

    count: int = 1
    coherent: bool = False


ONE_THREAD = ThreadModel()


def simulate(
    program: Program,
    sizes: Mapping[str, int],
    levels: Sequence[CacheLevel],
    *,
    classify: bool = True,
    places: Mapping[str, Placed] | None = None,
    threads: ThreadModel = ONE_THREAD,
    by_line: bool = False,
) -> Simulation:
    """Returns the exact misses of each reference of a program, by making all of its accesses to simulated caches.

    sizes: the values of the program's parameters.
    levels: from the nearest outwards, with lines of one length.
    classify: whether capacity and conflict misses are told apart.
    places: the addresses of the arrays; by default those of the compiled kernel's allocations.
    threads: how many run the program, and whether their caches are coherent.
    by_line: whether misses are counted for each line of memory too.

    Raises PolymlValueError where arrays or threads are too many for the simulator, and where data decide which elements are used.
    """
    found = trace.references(program)
    where = dict(placed(program, sizes, threads=threads.count) if places is None else places)
    line_bytes = levels[0].line_bytes
    end = max((place.end for place in where.values()), default=0)
    if end > LARGEST_LINE * line_bytes:
        raise PolymlValueError(f"the arrays have more than {LARGEST_LINE} lines of {line_bytes} bytes, which is not simulated")
    most = coherence.MOST_THREADS if threads.coherent else shared_requests.MOST_THREADS
    if not 1 <= threads.count <= most:
        raise PolymlValueError(f"{threads.count} threads are not simulated, but 1 to {most}")
    layouts = _layouts(tuple(levels), classify, threads, _rounded(len(where)), _rounded(-(-end // line_bytes)), by_line)
    code = _simulator(program, sizes, where, layouts, threads.count)
    arrays = _arrays(list(where.values()), layouts.own)
    states, counters = _run(code, layouts, threads.count, arrays, len(found))
    start, count = layouts.own.written // 8, len(levels)
    written = np.sum([state[start : start + len(where) * count].reshape(len(where), count) for state in states], axis=0)

    def by_reference(rows: np.ndarray) -> dict[ArrayReference, Counts]:
        return dict(zip(found, (_counts(row, layouts.own, classify, threads.coherent) for row in rows)))

    each = tuple(map(by_reference, counters))
    sent = {array: tuple(map(int, row)) for array, row in zip(where, written)}
    lines = _line_misses(states, layouts) if by_line else None
    left = np.bincount(arrays[:-1][_dirty(states, layouts)], minlength=len(where))
    dirty = dict(zip(where, map(int, left)))
    return Simulation(tuple(levels), by_reference(counters.sum(axis=0)), each, sent, where, dirty, lines)


def _simulators(states: Sequence[np.ndarray], layouts: _Layouts) -> Iterator[tuple[np.ndarray, StateLayout]]:
    """Yields the state of each simulator with its layout. states: those of the threads, then the shared one if there is one."""
    behind = [] if layouts.shared is None else [layouts.shared]
    return zip(states, [*([layouts.own] * (len(states) - len(behind))), *behind])


def _dirty(states: Sequence[np.ndarray], layouts: _Layouts) -> np.ndarray:
    """Returns, for each line of memory, whether one of all caches has it dirty."""
    return np.any([layout.dirty(state) for state, layout in _simulators(states, layouts)], axis=0)


def _line_misses(states: Sequence[np.ndarray], layouts: _Layouts) -> np.ndarray:
    """Returns the misses [line of memory, level] over all simulators."""
    shape, tables = (layouts.own.lines, len(layouts.own.levels)), []
    for state, layout in _simulators(states, layouts):
        start = layout.line_misses // 8
        tables.append(state[start : start + shape[0] * shape[1]].reshape(shape))
    return np.sum(tables, axis=0)


@dataclass(frozen=True)
class _Layouts:
    """A _Layouts says where the simulators of a run keep their data, and which of them simulates which cache levels.

    own: for each thread's simulator, which has the levels that the thread has to itself.
    shared: for the one simulator of the levels that threads share; None where there are none.
    """

    own: StateLayout
    shared: StateLayout | None


def _layouts(
    levels: tuple[CacheLevel, ...], classify: bool, threads: ThreadModel, arrays: int, lines: int, by_line: bool
) -> _Layouts:
    """Returns how the cache levels are divided between each thread's own simulator and the shared one, and how their data are laid
    out.

    The shared simulator has the levels from the first that threads share on. It has all levels where an access of one thread can
    remove lines from the own caches of another: if a shared level is inclusive, or writes are coherent.

    arrays, lines: how many arrays and cache lines the program uses.
    """
    every = range(len(levels))
    several = [number for number in every if levels[number].sharing(threads.count) > 1]
    together = threads.coherent and any(levels[number].sharing(threads.count) < threads.count for number in every)
    first = min(several, default=len(levels))
    if together or any(levels[number].contents == "inclusive" for number in range(first, len(levels))):
        first = 0
    stacked = tuple(number for number in every if number not in several) if classify else ()
    own = StateLayout(levels, range(first), arrays, lines, stacked=stacked, sends=bool(several) or together, by_line=by_line)
    if not own.sends:
        return _Layouts(own, None)
    behind, shadowed = range(first, len(levels)), tuple(several) if classify else ()
    shared = StateLayout(levels, behind, arrays, lines, threads.count, shadowed=shadowed, coherent=together, by_line=by_line)
    return _Layouts(own, shared)


def _simulator(program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layouts: _Layouts, threads: int) -> Code:
    """Returns machine code with a function that makes the program's accesses, and with the simulators that these go to."""
    caches, declarations = builder.shared(trace.caches(layouts.own))
    tracer = [
        replace(unit, declarations={**unit.declarations, **declarations})
        for unit in trace.trace(program, sizes, places, layouts.own, threads)
    ]
    behind = layouts.shared
    served = [] if behind is None else [builder.text((*simulated.units(behind), shared_requests.serve(behind)))]
    return _code(builder.text(tracer), (builder.text(caches), *served))


def _rounded(number: int) -> int:
    """Returns a number rounded up, a large one by at most an eighth. Simulators are compiled for rounded numbers of lines, so that
    programs with about as many lines can share one.
    """
    step = 1 << max(3, number.bit_length() - 4)
    return -(-number // step) * step


def _code(tracer: str, caches: Sequence[str]) -> Code:
    """Returns LLVM texts as loaded machine code.

    tracer: the text that makes one program's accesses.
    caches: texts of simulated caches, which other programs can use too; their object code is kept for that.
    """
    return load([*_assembled(tracer), *(each for text in caches for each in _kept(text))], trace.ENTRY, shared_requests.ENTRY)


def _assembled(text: str) -> tuple[bytes, ...]:
    """Returns the object code, for this processor, that an LLVM text is compiled to."""
    host = cpu.host()
    return assemble_together([text], cpu=host.cpu_name, features=host.features)


_kept = lru_cache(maxsize=16)(_assembled)


def _run(code: Code, layouts: _Layouts, threads: int, arrays: np.ndarray, references: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Runs the simulators of all threads, and the one of the shared cache levels if there is one. Returns their states, and the
    counters of all references as an array [thread, reference, counter].

    arrays: by line of memory, the number of the array that it belongs to.
    references: how many references the program has.
    """
    counters = np.zeros((2, threads, references, layouts.own.counters), np.int64)  # those of each simulator
    states = [_state(layouts.own, arrays) for _ in range(threads)]
    for state, row in zip(states, counters[0]):
        state[state_header.COUNTERS] = row.ctypes.data
    run = _function(code, trace.ENTRY, 2, ctypes.c_int64)

    def trace_of(thread: int) -> None:
        run(states[thread].ctypes.data, counters[0, thread].ctypes.data, thread)

    if layouts.shared is None:
        run_independently(trace_of, threads)
        return states, counters[0]
    behind, serve = _state(layouts.shared, arrays), _function(code, shared_requests.ENTRY, 2)
    SimulatedThreads(states, counters[1]).run(trace_of, lambda heads: serve(behind.ctypes.data, heads))
    return [*states, behind], counters.sum(axis=0)


def _state(layout: StateLayout, arrays: np.ndarray) -> np.ndarray:
    """Returns the initial state of a simulator, as words that begin on a cache line. arrays: by line, the number of its array."""
    state = np.zeros(layout.state_bytes // 8 + 8, np.int64)
    state = state[-state.ctypes.data % 64 // 8 :]
    state[state_header.ARRAYS] = arrays.ctypes.data
    return state


def _arrays(places: Sequence[Placed], layout: StateLayout) -> np.ndarray:
    """Returns, for each line of memory, the number of the array that it belongs to, in the order of `places`: of arrays that share
    memory, the first one.
    """
    found = np.zeros(layout.lines + 1, np.int16)
    for number, place in reversed([*enumerate(places)]):
        found[place.address // layout.line_bytes : -(-place.end // layout.line_bytes)] = number
    return found


def _function(code: Code, name: str, pointers: int, *others: type) -> Callable[..., int]:
    """Returns the function `name` of the loaded code as a callable, whose result is an i64.

    pointers: how many pointers it takes first.
    others: the ctypes types of the arguments behind these.
    """
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_void_p,) * pointers, *others)(code.address(name))


def _counts(row: np.ndarray, own: StateLayout, classify: bool, coherent: bool) -> Counts:
    """Returns the counts of one reference.

    row: the values of the reference's counters.
    own: the layout, which says what each counter is.
    classify: whether misses of fully associative caches were counted; if not, the result has () for them.
    coherent: whether misses of lines that other threads wrote were counted; if not, the result has () for them.
    """
    numbers = range(len(own.levels))
    cold = [0 if number in own.numbers else number for number in numbers]  # all of a thread's caches have seen the same lines
    return Counts(
        int(row[own.accesses]),
        tuple(int(row[own.cold(number)]) for number in cold),
        tuple(int(row[own.misses(number)]) for number in numbers),
        tuple(int(row[own.fully_associative(number)]) for number in numbers) if classify else (),
        tuple(int(row[own.invalidated(number)]) for number in numbers) if coherent else (),
    )
