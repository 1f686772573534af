"""The rates at which threads read memory, and read two arrays while they write a third (STREAM's triad), measured."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.threads import machine_code, seconds_together
from polyml.machines import cpu

ARRAYS = {"read": 1, "triad": 3}  # that each access pattern goes over
_TURN_S = 0.05
_AT_ONCE = 8  # vectors in a turn of the loop, and the accumulators of "read"
_ITEM_BYTES = 8


@dataclass(frozen=True)
class Job:
    """A Job is one pattern of memory accesses.

    pattern: a key of ARRAYS.
    size_bytes: the size of the arrays together.
    """

    pattern: str
    size_bytes: int
    threads: int


class Stream:
    """A Stream has arrays of float64 that threads sweep again and again, each over its chunk."""

    def __init__(self, pattern: str, size_bytes: int, threads: int):
        host = cpu.host()
        step = _AT_ONCE * host.vector_bytes // _ITEM_BYTES
        share = max(size_bytes // _ITEM_BYTES // ARRAYS[pattern] // threads // step, 1) * step
        self.arrays = [_aligned(share * threads) for _ in range(ARRAYS[pattern])]
        self.size_bytes = share * threads * _ITEM_BYTES * len(self.arrays)
        pointers = [ctypes.c_void_p] * len(self.arrays)
        call = machine_code(loop_text(pattern, host), pattern, *pointers, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self._room = [np.zeros(step) for _ in range(threads)]
        self._calls: list[Callable[[int], None]] = []
        for thread in range(threads):
            starts = [a.ctypes.data + thread * share * _ITEM_BYTES for a in self.arrays]
            self._calls.append(partial(self._over, call, starts, share, self._room[thread].ctypes.data))
        self.passes = 1
        while self.turn() * self.passes < _TURN_S:
            self.passes *= 2

    @staticmethod
    def _over(call: Callable, starts: list[int], share: int, room: int, passes: int) -> None:
        call(*starts, share, passes, room)

    def turn(self) -> float:
        """Returns the seconds in which all threads together sweep the arrays once."""
        return seconds_together([partial(call, self.passes) for call in self._calls]) / self.passes


def serve(connection: Connection, job: Job) -> None:
    """Sends the bytes of a turn, then seconds for each "run" received, until anything else arrives."""
    stream = Stream(job.pattern, job.size_bytes, job.threads)
    connection.send(stream.size_bytes)
    while connection.recv() == "run":
        connection.send(stream.turn())


def _aligned(count: int) -> np.ndarray:
    """Returns an array that begins on a page, written once, so that each element has memory of its own."""
    page = 4096 // _ITEM_BYTES
    room = np.ones(count + page)
    skip = -room.ctypes.data // _ITEM_BYTES % page
    return room[skip : skip + count]


def loop_text(pattern: str, host: cpu.CpuMachine) -> str:
    """Returns the IR of `pattern(arrays..., n, passes, room)`, which sweeps n elements of each array `passes` times.

    read: the sums of what is read end up in the room. triad: a = b + 3 c.
    """
    lanes = host.vector_bytes // _ITEM_BYTES
    vector, names = f"<{lanes} x double>", "abc"[: ARRAYS[pattern]]
    three = f"<{', '.join(['double 3.0'] * lanes)}>"
    pointers = ", ".join(f"ptr %{name}" for name in names)
    lines = [f"define void @{pattern}({pointers}, i64 %n, i64 %passes, ptr %room) {{", "entry:", "  br label %pass"]
    lines += ["pass:", "  %p = phi i64 [ 0, %entry ], [ %p1, %passed ]"]
    sums = range(_AT_ONCE) if pattern == "read" else ()
    lines += [f"  %o{k} = phi {vector} [ zeroinitializer, %entry ], [ %s{k}, %passed ]" for k in sums]
    lines += ["  br label %turn", "turn:", "  %i = phi i64 [ 0, %pass ], [ %i1, %turn ]"]
    lines += [f"  %t{k} = phi {vector} [ %o{k}, %pass ], [ %s{k}, %turn ]" for k in sums]
    for k in range(_AT_ONCE):
        lines.append(f"  %i.{k} = add i64 %i, {k * lanes}")
        lines += [f"  %{name}.{k} = getelementptr double, ptr %{name}, i64 %i.{k}" for name in names]
        loaded = names if pattern == "read" else names[1:]
        lines += [f"  %v{name}.{k} = load {vector}, ptr %{name}.{k}, align {host.vector_bytes}" for name in loaded]
        if pattern == "read":
            lines.append(f"  %s{k} = fadd {vector} %t{k}, %va.{k}")
        else:
            lines += [f"  %m{k} = fmul {vector} %vc.{k}, {three}", f"  %r{k} = fadd {vector} %vb.{k}, %m{k}"]
            lines.append(f"  store {vector} %r{k}, ptr %a.{k}, align {host.vector_bytes}")
    lines += [f"  %i1 = add i64 %i, {_AT_ONCE * lanes}", "  %more = icmp slt i64 %i1, %n"]
    lines += ["  br i1 %more, label %turn, label %passed", "passed:", "  %p1 = add i64 %p, 1"]
    lines += ["  %again = icmp slt i64 %p1, %passes", "  br i1 %again, label %pass, label %end", "end:"]
    for k in sums:
        lines.append(f"  %e{k} = getelementptr {vector}, ptr %room, i64 {k}")
        lines.append(f"  store {vector} %s{k}, ptr %e{k}, align 8")
    return "\n".join([*lines, "  ret void", "}", ""])
