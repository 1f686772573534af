"""What parts of a convolution take, in seconds: work and bytes over rates, for a choice between algorithms.

Widths, caches and cores come from the description of the machine. The rates were measured with these kernels on one core of
an AMD EPYC of family 26 (Zen 5, AVX-512, 1 MiB of second cache); they are estimates, meant to order algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2

from polyml.machine import CpuMachine, host

LANE_FLOP_PER_S = 14.6e9  # of one lane: two units that multiply and add
PRODUCT_SHARE = 0.93  # of that in a product of large matrices
ROWS_SHARE = 0.97  # the same in the direct loops over long rows
COPY_BYTES_PER_S = 40e9  # read and written
TRANSPOSED_BYTES_PER_S = 15e9  # filters that change their layout
GATHERED_BYTES_PER_S = 75e9  # written to a block that stays in a cache
TRANSFORM_BYTES_PER_S = 60e9  # read and written by Winograd's transforms
OPERAND_BYTES_PER_S = 25e9  # an operand read from the last cache and packed
DEPTHWISE_SHARE = 0.06  # of the lanes' rate in sums per channel
FOURIER_FLOP_PER_S = 5e9  # of 2.5 n log2 n for a real transform of n points, on one thread
CALL_S = 3e-6  # of a kernel, with views of its arguments
PIXELS = 8  # of a register tile


@dataclass(frozen=True)
class Term:
    """One part of an algorithm. why: the work and the rate."""

    name: str
    seconds: float
    why: str


@dataclass(frozen=True)
class Costs:
    """The rates of a machine for elements of a type on so many threads."""

    machine: CpuMachine
    element_bytes: int
    threads: int

    @classmethod
    def of(cls, element_bytes: int, threads: int) -> Costs:
        return _costs(element_bytes, thread_count(threads))

    @property
    def flop_per_s(self) -> float:
        return self.machine.lanes(self.element_bytes) * LANE_FLOP_PER_S * self.threads

    @property
    def block_bytes(self) -> int:
        return self.machine.cache(2).size_bytes * self.threads

    def product(
        self, name: str, count: int, rows: int, columns: int, depth: int, *, b_count: int = 1, times: int = 1
    ) -> Term:
        """`times` calls for `count` products (rows, depth) @ (depth, columns), of which b_count have an own right side."""
        flop = 2 * times * count * rows * columns * depth
        share = PRODUCT_SHARE * self._filled(columns) * rows / (PIXELS * ceil(rows / PIXELS))
        read_bytes = times * b_count * depth * columns * self.element_bytes
        seconds = flop / (share * self.flop_per_s) + read_bytes / (OPERAND_BYTES_PER_S * self.threads)
        shape = f"{_many(times * count)} of ({rows} x {depth}) @ ({depth} x {columns})"
        return Term(name, seconds, f"{_si(flop, 'FLOP')} at {share:.0%} of the peak, {shape}, {_si(read_bytes, 'B')} packed")

    def loops(self, name: str, flop: int, row: int, columns: int, depth: int, rows: int) -> Term:
        """Sums in registers along rows of pixels."""
        whole = row / (PIXELS * ceil(row / PIXELS))
        share = ROWS_SHARE * self._filled(columns) * whole * min(1, row / 56) ** 0.9
        seconds = flop / (share * self.flop_per_s)
        return Term(name, seconds, f"{_si(flop, 'FLOP')} at {share:.0%} of the peak, rows of {row} pixels")

    def depthwise(self, name: str, flop: int) -> Term:
        return Term(name, flop / (DEPTHWISE_SHARE * self.flop_per_s), f"{_si(flop, 'FLOP')} at {DEPTHWISE_SHARE:.0%} of the peak")

    def copy(self, name: str, size_bytes: int) -> Term:
        return self._bytes(name, size_bytes, COPY_BYTES_PER_S)

    def transposed(self, name: str, size_bytes: int) -> Term:
        return self._bytes(name, size_bytes, TRANSPOSED_BYTES_PER_S)

    def gathered(self, name: str, size_bytes: int) -> Term:
        return self._bytes(name, size_bytes, GATHERED_BYTES_PER_S)

    def transform(self, name: str, size_bytes: int) -> Term:
        return self._bytes(name, size_bytes, TRANSFORM_BYTES_PER_S)

    def read(self, name: str, size_bytes: int) -> Term:
        return self._bytes(name, size_bytes, OPERAND_BYTES_PER_S)

    def fourier(self, name: str, count: int, side: int) -> Term:
        """Real transforms of side^2 points; they run on one thread."""
        points = side * side
        flop = count * 2.5 * points * log2(points)
        return Term(name, flop / FOURIER_FLOP_PER_S, f"{_many(count)} of {side} x {side} points, {_si(flop, 'FLOP')}")

    def calls(self, name: str, count: int) -> Term:
        return Term(name, count * CALL_S, f"{count} calls")

    def _bytes(self, name: str, size_bytes: int, bytes_per_s: float) -> Term:
        rate = bytes_per_s * self.threads
        return Term(name, size_bytes / rate, f"{_si(size_bytes, 'B')} at {_si(rate, 'B/s')}")

    def _filled(self, columns: int) -> float:
        """The share of the lanes that so many columns fill."""
        lanes = self.machine.lanes(self.element_bytes)
        return columns / (lanes * ceil(columns / lanes))


def thread_count(threads: int) -> int:
    """How many threads kernels run on; 0: every core."""
    return threads or host().cores


def block_bytes(threads: int) -> int:
    """Bytes of the second caches that so many threads have."""
    return Costs.of(4, threads).block_bytes


@lru_cache
def _costs(element_bytes: int, threads: int) -> Costs:
    return Costs(host(), element_bytes, threads)


def _many(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _si(value: float, unit: str) -> str:
    """
    >>> _si(231.2e6, "FLOP")
    '231 MFLOP'
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
