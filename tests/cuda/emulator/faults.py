"""What the emulator finds wrong with a kernel, and how it says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

KINDS = (
    "race in a block",
    "race between blocks",
    "access out of bounds",
    "index out of bounds",
    "read of an element that was never written",
    "cp.async not waited for",
    "barrier that not all threads reach",
    "threads at different barriers",
    "warp operation that not all lanes reach",
    "misaligned access",
    "launch that does not end in time",
)  # in the order of Kind in runtime/machine.h


@dataclass(frozen=True)
class Access:
    """An Access is one end of a fault: a thread of a block at a line of the CUDA text. line: 0 where it is not known."""

    line: int
    text: str
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    is_write: bool


@dataclass(frozen=True)
class Fault:
    """A Fault is one mistake of a kernel.

    kind: one of KINDS
    kernel: the kernel's name
    array: the array's name, "" where there is none
    offset_bytes: where in the array; of an index out of bounds, the index
    one, other: what two threads do, in the opposite order for races; other is None where there is one thread only
    times: how often it was met
    """

    kind: str
    kernel: str
    array: str
    offset_bytes: int
    bytes: int
    one: Access
    other: Access | None
    times: int

    def __str__(self) -> str:
        at = f"[{self.offset_bytes}]" if self.kind == "index out of bounds" else f" at byte {self.offset_bytes}"
        where = f", {self.array}{at}" if self.array else ""
        return "\n    ".join([f"{self.kernel}: {self.kind}{where}", *map(self._told, filter(None, (self.one, self.other)))])

    def _told(self, access: Access) -> str:
        does = f" {'writes' if access.is_write else 'reads'} it" if self.array else ""
        return f"thread {access.thread} of block {access.block}{does} in line {access.line}: {access.text}"


def merged(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Returns the faults with those of the same kind, array and lines told once, as the first of them says."""
    found: dict[tuple, Fault] = {}
    for each in faults:
        key = (each.kind, each.kernel, each.array, each.one.line, each.other.line if each.other else 0)
        before = found.get(key)
        found[key] = replace(before, times=before.times + each.times) if before else each
    return tuple(found.values())


class FaultsFound(Exception):
    """Launches made mistakes. faults: all of them that were told, the first launch's first."""

    def __init__(self, faults: tuple[Fault, ...]):
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))
