"""Exact misses of a program's accesses in a hierarchy of caches, by running them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from polyml.caches.simulator import coherence, shared_requests, state_header, trace
from polyml.caches.simulator import level_functions as simulated
from polyml.caches.simulator.set_associative import LARGEST_LINE
from polyml.caches.simulator.state_layout import Layout
from polyml.caches.simulator.threads import Team, run_apart
from polyml.caches.simulator.trace import Reference
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
    """What one reference does. first: per level, uses of lines that nobody whose cache it is used before: compulsory misses.
    misses: per level. far: per level, misses of a fully associative cache of its size, where they were asked for: of all uses of
    its thread where it has the cache alone, of the uses that reach the level where threads share it. taken: per level, misses of
    lines that writes of other threads took from the cache, where these were asked for.
    """

    accesses: int
    first: tuple[int, ...]
    misses: tuple[int, ...]
    far: tuple[int, ...]
    taken: tuple[int, ...]

    @property
    def cold(self) -> int:
        """Compulsory misses of the nearest level; those of all levels where one thread runs."""
        return self.first[0]

    def capacity(self, level: int) -> int:
        """Misses that full associativity would not help."""
        return self.far[level] - self.first[level]

    def conflict(self, level: int) -> int:
        """What full associativity would help; negative where sets keep lines that it would not."""
        return self.misses[level] - self.far[level] - self.coherence(level)

    def coherence(self, level: int) -> int:
        """Misses of lines that writes of other threads took; 0 where these were not asked for."""
        return self.taken[level] if self.taken else 0


@dataclass(frozen=True)
class Simulation:
    """counts: by reference, of all threads; threads: of each. written: by array, the lines that each level sends on; the writes,
    of one that writes through.
    """

    levels: tuple[CacheLevel, ...]
    counts: dict[Reference, Counts]
    threads: tuple[dict[Reference, Counts], ...]
    written: dict[str, tuple[int, ...]]
    places: dict[str, Placed]


def simulate(
    program: Program,
    sizes: Mapping[str, int],
    levels: Sequence[CacheLevel],
    *,
    classify: bool = True,
    places: Mapping[str, Placed] | None = None,
    threads: int = 1,
    coherent: bool = False,
) -> Simulation:
    """levels: from the nearest outwards, with lines of one length. classify: tell capacity from conflict misses.

    threads: that run the program. Each has its own caches of levels that are not shared. Between barriers, which are before and
    after each parallel loop, they take turns, one access each (see `requests`; `trace` has what each of them runs). Where a
    shared level is exclusive, a line that only other threads' own caches have is fetched from behind it.
    coherent: whether a line that one thread writes leaves the caches of others (see `coherence`), which takes several times as
    long; if not, it stays there, and misses for its sake are not counted.

    Raises PolymlValueError for arrays of more lines than the simulator numbers, for more threads than it runs, and where data
    decide which elements are used.
    """
    found = trace.references(program)
    where = dict(placed(program, sizes, threads=threads) if places is None else places)
    line_bytes = levels[0].line_bytes
    end = max((place.end for place in where.values()), default=0)
    if end > LARGEST_LINE * line_bytes:
        raise PolymlValueError(f"the arrays have more than {LARGEST_LINE} lines of {line_bytes} bytes, which is not simulated")
    most = coherence.MOST_THREADS if coherent else shared_requests.MOST_THREADS
    if not 1 <= threads <= most:
        raise PolymlValueError(f"{threads} threads are not simulated, but 1 to {most}")
    near, far = _layouts(tuple(levels), classify, threads, coherent, _rounded(len(where)), _rounded(-(-end // line_bytes)))
    own, declarations = builder.shared(trace.caches(near))
    tracer = trace.trace(program, sizes, where, near, threads)
    tracer = [replace(unit, declarations={**unit.declarations, **declarations}) for unit in tracer]
    served = [] if far is None else [builder.text((*simulated.units(far), shared_requests.serve(far)))]
    code = _code(builder.text(tracer), (builder.text(own), *served))
    states, counters = _run(code, near, far, threads, _arrays(list(where.values()), near), len(found))
    start, count = near.written // 8, len(levels)
    written = sum(state[start : start + len(where) * count].reshape(len(where), count) for state in states)

    def by_reference(rows: np.ndarray) -> dict[Reference, Counts]:
        return dict(zip(found, (_counts(row, near, classify, coherent) for row in rows)))

    each = tuple(map(by_reference, counters))
    sent = {array: tuple(map(int, row)) for array, row in zip(where, written)}
    return Simulation(tuple(levels), by_reference(counters.sum(axis=0)), each, sent, where)


def _layouts(
    levels: tuple[CacheLevel, ...], classify: bool, threads: int, coherent: bool, arrays: int, lines: int
) -> tuple[Layout, Layout | None]:
    """Of one thread's simulator, and of that of all threads, None where nothing of the one changes the others. What an inclusive
    level lets go changes the threads' own caches: these are with it then; and so they are for coherence.
    """
    every = range(len(levels))
    shared = [number for number in every if levels[number].sharing(threads) > 1]
    together = coherent and any(levels[number].sharing(threads) < threads for number in every)
    first = min(shared, default=len(levels))
    if together or any(levels[number].contents == "inclusive" for number in range(first, len(levels))):
        first = 0
    stacked = tuple(number for number in every if number not in shared) if classify else ()
    near = Layout(levels, range(first), arrays, lines, stacked=stacked, sends=bool(shared) or together)
    if not near.sends:
        return near, None
    shadowed = tuple(shared) if classify else ()
    return near, Layout(levels, range(first, len(levels)), arrays, lines, threads, shadowed=shadowed, coherent=together)


def _rounded(number: int) -> int:
    """A little more, so that the same caches serve programs of about as many lines."""
    step = 1 << max(3, number.bit_length() - 4)
    return -(-number // step) * step


def _code(tracer: str, caches: Sequence[str]) -> Code:
    """caches: texts that other programs may share."""
    return load([*_assembled(tracer), *(each for text in caches for each in _kept(text))], trace.ENTRY, shared_requests.ENTRY)


def _assembled(text: str) -> tuple[bytes, ...]:
    host = cpu.host()
    return assemble_together([text], cpu=host.cpu_name, features=host.features)


_kept = lru_cache(maxsize=16)(_assembled)


def _run(
    code: Code, near: Layout, far: Layout | None, threads: int, arrays: np.ndarray, references: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """What the code of both simulators leaves behind: their states; by thread and reference, the counters."""
    counters = np.zeros((2, threads, references, near.counters), np.int64)  # those of each simulator
    states = [_state(near, arrays) for _ in range(threads)]
    for state, own in zip(states, counters[0]):
        state[state_header.COUNTERS] = own.ctypes.data
    run = _function(code, trace.ENTRY, 2, ctypes.c_int64)

    def trace_of(thread: int) -> None:
        run(states[thread].ctypes.data, counters[0, thread].ctypes.data, thread)

    if far is None:
        run_apart(trace_of, threads)
        return states, counters[0]
    behind, serve = _state(far, arrays), _function(code, shared_requests.ENTRY, 2)
    Team(states, counters[1]).run(trace_of, lambda heads: serve(behind.ctypes.data, heads))
    return [*states, behind], counters.sum(axis=0)


def _state(layout: Layout, arrays: np.ndarray) -> np.ndarray:
    """Words that begin on a line of the host."""
    state = np.zeros(layout.state_bytes // 8 + 8, np.int64)
    state = state[-state.ctypes.data % 64 // 8 :]
    state[state_header.ARRAYS] = arrays.ctypes.data
    return state


def _arrays(places: Sequence[Placed], layout: Layout) -> np.ndarray:
    """The number of the array of each line."""
    found = np.zeros(layout.lines + 1, np.int16)
    for number, place in enumerate(places):
        found[place.address // layout.line_bytes : -(-place.end // layout.line_bytes)] = number
    return found


def _function(code: Code, name: str, pointers: int, *others: type) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_void_p,) * pointers, *others)(code.address(name))


def _counts(row: np.ndarray, near: Layout, classify: bool, coherent: bool) -> Counts:
    numbers = range(len(near.levels))
    cold = [0 if number in near.numbers else number for number in numbers]  # all of a thread's caches have seen the same lines
    return Counts(
        int(row[near.accesses]),
        tuple(int(row[near.cold(number)]) for number in cold),
        tuple(int(row[near.misses(number)]) for number in numbers),
        tuple(int(row[near.far(number)]) for number in numbers) if classify else (),
        tuple(int(row[near.taken(number)]) for number in numbers) if coherent else (),
    )
