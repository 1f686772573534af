"""What this machine reaches, measured: multiply-adds, and streams over data that fit each cache, and no cache.

A rate is the best of several short runs, since everything that disturbs a run makes it slower. One thread is measured, then all
that the process may use, through the pool that compiled loops use.
"""

from __future__ import annotations

import ctypes
import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyml.errors import PolymlMemoryError
from polyml.machines.cpu import CpuMachine
from polyml.machines.descriptions import Bandwidth, Cpu, Figure, Peak, Rate, Runs
from polyml.machines.units import shown
from polyml.measure import stream_kernels
from polyml.runtime.loading import assemble, load
from polyml.runtime.loading import thread_pool as threads

_RUN_S = 4e-3
_RUNS = 2  # runs of each job in a round
_ROUNDS = 4
_MOST_S = 3.0  # while other programs run, or farther levels seem faster than nearer ones
_TOLERANCE = 1.1
_QUIET = 0.9  # the part of its time that the caller runs where nothing else does
_PAGE = 4096
_MOST_THREADS = 256  # threads of the pool at most
_LEAST_MEMORY_BYTES = 2**26
_MOST_OF_ONE_BYTES, _MOST_OF_ALL_BYTES = 2**29, 2**31
_FAR = 4  # times the outermost caches are far from them
_NUMBERS = (("f64", 8), ("f32", 4))
_STREAMS = (("read", 1), ("update", 2))  # streams, with how often they move their data
_PEAK = "multiply-adds on vectors"


@dataclass(frozen=True)
class WorkingSet:
    """A working set is the data that a stream reads or updates.

    place: the cache level that holds them, such as "L2", or "memory".
    bytes_of_one: the size of a thread's data where one thread runs alone.
    bytes_of_each: the size of each thread's data where all threads run.
    """

    place: str
    bytes_of_one: int
    bytes_of_each: int


@dataclass(frozen=True)
class Job:
    """A job is a run of one function of `stream_kernels` on some threads, which is timed.

    bytes: the size of each thread's data.
    work: how much a thread does as it goes over its data once: bytes for a bandwidth, operations for a peak rate, cycles for
        "clock".
    """

    function: str
    bytes: int
    work: int
    threads: int


@dataclass(frozen=True)
class _Best:
    """A _Best is the run of a job that had the highest rate.

    passes_per_s: how often per second each thread went over its data.
    quiet: whether other programs hardly disturbed it: the calling thread was nearly always on a CPU, and each thread's part of the
        work was run by a thread of its own.
    """

    passes_per_s: float
    quiet: bool


@dataclass(frozen=True)
class Measured:
    """A Measured is the host with its measured rates.

    quiet: whether other programs took little of the time, so that there is no need to measure again.
    """

    cpu: Cpu
    quiet: bool


def measured(machine: CpuMachine) -> Measured:
    """Measures the host's rates, in a second, or in three if other programs run, and returns the host with them.

    machine: the host.

    Raises PolymlMemoryError if there is no memory to measure with.
    """
    start, bench = time.perf_counter(), _Bench(machine)
    for _ in range(_ROUNDS):
        bench.round()
    found = bench.found()
    while not (found.quiet and plausible(found.cpu.bandwidths)) and time.perf_counter() - start < _MOST_S:
        bench.round(disturbed=not found.quiet)
        found = bench.found()
    return found


def better(a: Cpu, b: Cpu) -> Cpu:
    """Returns a machine with the greater one of each pair of rates in two measurements of it, and the runs of the second one."""
    peaks = tuple(replace(p, flop_per_s=_greater(p.flop_per_s, q.flop_per_s)) for p, q in zip(a.peaks, b.peaks))
    places = tuple(
        replace(p, read_bytes_per_s=_greater(p.read_bytes_per_s, q.read_bytes_per_s),
                update_bytes_per_s=_greater(p.update_bytes_per_s, q.update_bytes_per_s))
        for p, q in zip(a.bandwidths, b.bandwidths)
    )  # fmt: skip
    return replace(a, frequency_hz=_greater(a.frequency_hz, b.frequency_hz), peaks=peaks, bandwidths=places, runs=b.runs)


def _greater(a: Rate, b: Rate) -> Rate:
    return Rate(*(max(pair, key=lambda figure: figure.value) for pair in zip(a.both, b.both)))


def plausible(rates: Sequence[Bandwidth]) -> bool:
    """Returns whether the bandwidth of no level is clearly greater than that of a nearer one, for one thread and for all threads.

    rates: the bandwidths of the levels, nearest level first.
    """
    pairs = [(a, b) for near, far in itertools.pairwise(rates) for a, b in zip(_figures(near), _figures(far))]
    return all(b.value <= a.value * _TOLERANCE for a, b in pairs)


def _figures(rate: Bandwidth) -> tuple[Figure, ...]:
    read, update = rate.read_bytes_per_s, rate.update_bytes_per_s
    return *read.both, *update.both


def threads_of(machine: CpuMachine) -> int:
    """Returns how many threads are measured together: one for each core of the process, but no more than the thread pool has."""
    return min(machine.cores, _MOST_THREADS)


def working_sets(machine: CpuMachine) -> tuple[WorkingSet, ...]:
    """Returns data sizes to measure each cache level and the memory with, nearest first.

    For a cache they are larger than the caches before it and smaller than a thread's part of it; for memory, larger than all.

    >>> from polyml.machines.catalogue import processor
    >>> [w.bytes_of_one // 1024 for w in working_sets(processor("avx2"))]
    [16, 256, 4096, 65536]
    """
    found, above, count = [], 0, threads_of(machine)
    for cache in machine.caches:
        sharing = max(1, min(cache.shared_by, count))
        sizes = [_inside(part, above, machine) for part in (cache.size_bytes, cache.size_bytes // sharing)]
        found.append(WorkingSet(f"L{cache.level}", *sizes))
        above = cache.size_bytes // sharing
    last = machine.caches[-1]
    copies = -(-count // max(1, last.shared_by))
    of_one, of_all = (max(_FAR * size, _LEAST_MEMORY_BYTES) for size in (last.size_bytes, last.size_bytes * copies))
    one = _whole_blocks(min(of_one, _MOST_OF_ONE_BYTES), machine)
    return (*found, WorkingSet("memory", one, _whole_blocks(min(of_all, _MOST_OF_ALL_BYTES) // count, machine)))


def _inside(own: int, above: int, machine: CpuMachine) -> int:
    """Returns how many bytes of data to time in a cache of `own` bytes: they fit it, but not the nearer cache of `above` bytes.

    They are a quarter of the cache where that is at least twice the nearer one; else as much as the nearer one and half of this
    one, which fits even where the cache only holds what the nearer one has evicted.

    above: 0 where no cache is nearer; the data are then half of the cache
    """
    if not above:
        return _whole_blocks(own // 2, machine)
    return _whole_blocks(own // 4 if own >= 8 * above else above + own // 2, machine)


def _whole_blocks(size: int, machine: CpuMachine) -> int:
    block = max(stream_kernels.block_bytes(machine), _PAGE)
    return max(size // block, 1) * block


class _Bench:
    """A bench holds the functions to time as machine code, the data that they go over, and the best run of each job so far."""

    def __init__(self, machine: CpuMachine):
        self._machine = machine
        self._threads = threads_of(machine)
        text = stream_kernels.text(machine)
        names = ("read", "update", "clock", *(f"peak_{number}" for number, _ in _NUMBERS))
        self._code = load.load([assemble.assemble(text, cpu=machine.cpu_name, features=machine.features)], *names)
        self._sets = working_sets(machine)
        size = max(max(w.bytes_of_one, w.bytes_of_each * self._threads) for w in self._sets)
        try:
            self._data, self._room = _on_pages(size), _on_pages(stream_kernels.ROOM_BYTES * self._threads)
            self._numbers = _on_pages(_PAGE)
        except MemoryError:
            raise PolymlMemoryError(f"there is no memory to measure with: {shown(size, 'size')} are needed") from None
        self._numbers.view(np.float32)[:] = 0.5  # read as float64 it is a number near 0.5 too
        each = self._sets[-1].bytes_of_each
        self._run(Job("update", each, 0, self._threads), 1)  # memory is near the thread that writes it first
        self._data[each * self._threads // 8 :] = 0
        self._passes: dict[Job, int] = {}
        self._best: dict[Job, _Best] = {}
        self._speeds: dict[Job, list[float]] = {}  # of all runs: passes per second

    def round(self, *, disturbed: bool = False) -> None:
        """Times every job once more, and keeps the fastest of all its runs.

        disturbed: whether only those jobs are timed whose fastest run other programs disturbed
        """
        for job in [job for pair in self._jobs() for job in pair]:
            if not (disturbed and self._best[job].quiet):
                self._try(job)

    def found(self) -> Measured:
        """Returns the host with the rates of the best runs of all rounds."""
        peaks = tuple(Peak(number, self._rate(self._peak(number, size), _PEAK)) for number, size in _NUMBERS)
        places = tuple(Bandwidth(w.place, *(self._rate(self._stream(name, w, n), self._over(name, w)) for name, n in _STREAMS))
                       for w in self._sets)  # fmt: skip
        clock = self._rate(self._clock(), "additions that wait for one another")
        one, together = clock.both
        frequency = Rate(one, replace(together, value=min(together.value / self._threads, one.value)))
        cpu = Cpu(name=self._machine.name, machine=self._machine, frequency_hz=frequency, peaks=peaks, bandwidths=places,
                  runs=tuple(self._runs()))  # fmt: skip
        return Measured(cpu, all(best.quiet for best in self._best.values()))

    def _runs(self) -> Iterator[Runs]:
        """Yields how far apart the runs of each rate are, on one thread and on all."""
        named = [("frequency", "frequency", self._clock())]
        named += [(number, "operations", self._peak(number, size)) for number, size in _NUMBERS]
        named += [(f"{w.place} {name}", "bandwidth", self._stream(name, w, n)) for w in self._sets for name, n in _STREAMS]
        for what, kind, jobs in named:
            for job in dict.fromkeys(jobs):
                work = job.work * (1 if kind == "frequency" else job.threads)
                rates = [speed * work for speed in self._speeds[job]]
                yield Runs(what, job.threads, kind, len(rates), min(rates), statistics.median(rates), max(rates))

    def _jobs(self) -> Iterator[tuple[Job, Job]]:
        """Yields what is timed as pairs (job on one thread, job on all threads) of the same function."""
        yield self._clock()
        for number, size in _NUMBERS:
            yield self._peak(number, size)
        for over in self._sets:
            for name, moved in _STREAMS:
                yield self._stream(name, over, moved)

    def _clock(self) -> tuple[Job, Job]:
        return Job("clock", _PAGE, stream_kernels.cycles(), 1), Job("clock", _PAGE, stream_kernels.cycles(), self._threads)

    def _peak(self, number: str, element_bytes: int) -> tuple[Job, Job]:
        work = stream_kernels.operations(self._machine, element_bytes)
        return Job(f"peak_{number}", _PAGE, work, 1), Job(f"peak_{number}", _PAGE, work, self._threads)

    def _stream(self, name: str, over: WorkingSet, moved: int) -> tuple[Job, Job]:
        one, each = over.bytes_of_one, over.bytes_of_each
        return Job(name, one, moved * one, 1), Job(name, each, moved * each, self._threads)

    def _over(self, name: str, over: WorkingSet) -> str:
        one, each = shown(over.bytes_of_one, "size"), shown(over.bytes_of_each, "size")
        return f"{name} streams over {one}" + (f", {each} on each of {self._threads} threads" if self._threads > 1 else "")

    def _rate(self, jobs: tuple[Job, Job], what: str) -> Rate:
        """Returns the rates of one thread and of all threads from a pair of jobs, one on one thread, one on all.

        All threads together are not slower than one, and one is not slower than its share of all. A rate below that was slowed down
        by other programs, and is raised to it.

        what: what is measured, in words
        """
        one, together = (self._best[job].passes_per_s * job.work * job.threads for job in jobs)
        quiet = all(self._best[job].quiet for job in jobs)
        source = f"{what}, best of several runs" + ("" if quiet else " while other programs ran")
        rates = max(one, together / jobs[1].threads), max(one, together)
        return Rate(*(Figure(rate, "measured", source) for rate in rates))

    def _try(self, job: Job) -> None:
        if job not in self._passes:
            self._passes[job] = _passes(lambda n: self._run(job, n))
        for _ in range(_RUNS):
            before = time.thread_time()
            seconds = self._run(job, self._passes[job])
            quiet = time.thread_time() - before >= _QUIET * seconds and self._had_own_threads(job)
            rate = self._passes[job] / seconds
            self._speeds.setdefault(job, []).append(rate)
            if job not in self._best or rate > self._best[job].passes_per_s:
                self._best[job] = _Best(rate, quiet)

    def _had_own_threads(self, job: Job) -> bool:
        """Returns whether in the last run of a job each of its shares of the work ran on a thread of its own."""
        stacks = self._room.reshape(-1, stream_kernels.ROOM_BYTES // 8)[: job.threads, stream_kernels.STACK // 8]
        return len(set(stacks.tolist())) == job.threads

    def _run(self, job: Job, passes: int) -> float:
        """Runs so many passes of a job and returns how many seconds they took."""
        data = self._data if job.function in ("read", "update") else self._numbers
        work = (ctypes.c_int64 * 4)(data.ctypes.data, job.bytes, passes, self._room.ctypes.data)
        address, pool = self._code.address(job.function), threads.pool()
        start = time.perf_counter()
        pool.run(address, ctypes.addressof(work), job.threads, job.threads)
        return time.perf_counter() - start


def _passes(run: Callable[[int], float]) -> int:
    """Returns a number of passes that is long enough to be timed: it takes at least _RUN_S seconds, a few milliseconds.

    run: runs so many passes and returns the seconds
    """
    passes = 1
    while (seconds := run(passes)) < _RUN_S:
        passes = max(2 * passes, int(1.1 * passes * _RUN_S / seconds) if seconds > _RUN_S / 100 else 16 * passes)
    return passes


def _on_pages(size_bytes: int) -> np.ndarray:
    """Returns an uninitialised array of 64-bit words that begins at a memory page."""
    room = np.empty((size_bytes + _PAGE) // 8, np.int64)
    skip = -room.ctypes.data // 8 % (_PAGE // 8)
    return room[skip : skip + size_bytes // 8]
