"""How often warps access an array at a line of the CUDA text, and what that costs a GPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class AccessCounts:
    """Counts of the accesses that an array has at one line of a kernel, with so many bytes each, summed over launches.

    accesses: of threads, or of single lanes
    requests: of warps: one for all lanes of a warp that make the access together
    sectors: 32-byte sectors of global memory that the requests touch, each counted once for a request
    wavefronts: passes through the 32 banks of shared memory that the requests take
    least_wavefronts: how many they would take without bank conflicts
    """

    kernel: str
    line: int
    array: str
    is_write: bool
    is_shared: bool
    bytes: int
    accesses: int = 0
    requests: int = 0
    sectors: int = 0
    wavefronts: int = 0
    least_wavefronts: int = 0

    @property
    def key(self) -> tuple[str, int, str, bool, bool, int]:
        """What is counted: kernel, line, array, whether it is written, whether it is in shared memory, bytes of one access."""
        return self.kernel, self.line, self.array, self.is_write, self.is_shared, self.bytes


_NUMBERS = tuple(each.name for each in fields(AccessCounts) if each.default == 0)


def summed(counts: Iterable[AccessCounts]) -> tuple[AccessCounts, ...]:
    """Returns the counts with those of the same key added up, ordered by kernel, line and array.

    >>> one = AccessCounts("k_0", 7, "A", False, False, 4, accesses=32, requests=1, sectors=4)
    >>> [each.sectors for each in summed([one, one])]
    [8]
    """
    found: dict[tuple, AccessCounts] = {}
    for each in counts:
        before = found.get(each.key)
        numbers = {name: getattr(each, name) + (getattr(before, name) if before else 0) for name in _NUMBERS}
        found[each.key] = AccessCounts(*each.key, **numbers)
    return tuple(sorted(found.values(), key=lambda each: each.key))


def by_array(counts: Iterable[AccessCounts]) -> dict[tuple[str, str, bool], AccessCounts]:
    """Returns {(kernel, array, is_write): counts of all its accesses}; line and bytes are 0 in them."""
    wide = (
        AccessCounts(c.kernel, 0, c.array, c.is_write, c.is_shared, 0, *(getattr(c, name) for name in _NUMBERS)) for c in counts
    )
    return {(each.kernel, each.array, each.is_write): each for each in summed(wide)}
