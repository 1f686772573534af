"""Estimated seconds of the parts of a convolution: their operations and bytes over measured rates.

The estimates are meant to put algorithms in order. Widths, caches and cores come from the description of the machine. The rates
were measured with these kernels on one core of an AMD EPYC of family 26 (Zen 5, AVX-512, 1 MiB of second cache).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2

from polyml.machines.cpu import CpuMachine, host

LANE_FLOP_PER_S = 14.6e9  # of one lane: two units that multiply and add
PRODUCT_SHARE = 0.93  # of that in a product of large matrices
MANY_PRODUCTS_SHARE = 0.7  # of several smaller ones in one call
ROWS_SHARE = 0.85  # the same in the direct loops over rows of pixels
DEPTHWISE_SHARE = 0.06  # the same in sums per channel
COPY_BYTES_PER_S = 40e9  # read and written
TRANSPOSED_BYTES_PER_S = 15e9  # filters that change their layout
GATHERED_BYTES_PER_S = 80e9  # written to a block that stays in a cache
SCATTERED_BYTES_PER_S = 5e9  # the same from every second pixel, a farther one, or another image, of rows of pixels
TRANSFORM_BYTES_PER_S = 35e9  # read and written by Winograd's transforms
NEAR_BYTES_PER_S = 25e9  # operands of products, read and packed, of at most NEAR_SHARE of the last cache
FAR_BYTES_PER_S = 11e9  # larger ones, also where they are written
NEAR_SHARE = 0.25
FOURIER_FLOP_PER_S = 4e9  # of 2.5 n log2 n for a real transform of n points, on one thread, and what is copied for it
FOURIER_S = 4e-7  # for each besides
CALL_S = 8e-6  # of a kernel, with views of its arguments
PIXELS = (8, 7, 6, 5, 4)  # of a register tile
MEMORY_BYTES_PER_S = 28e9  # that all threads together read and write beyond the caches


@dataclass(frozen=True)
class CostTerm:
    """A CostTerm is one part of an algorithm's cost.

    name: what the algorithm does in it.
    seconds: its estimate.
    why: the work and the rate, as text.
    """

    name: str
    seconds: float
    why: str


@dataclass(frozen=True)
class Products:
    """A Products stands for calls of a kernel that multiplies pairs of matrices, (rows, depth) @ (depth, columns).

    count: how many pairs one call multiplies.
    times: how many calls there are.
    a_count: how many different left matrices the pairs of one call share; 0 where each pair has its own.
    """

    count: int
    rows: int
    columns: int
    depth: int
    a_count: int = 0
    times: int = 1


@dataclass(frozen=True)
class Costs:
    """A Costs estimates the seconds of an algorithm's parts, for elements of one size on a number of threads of a machine."""

    machine: CpuMachine
    element_bytes: int
    threads: int

    @classmethod
    def of(cls, element_bytes: int, threads: int) -> Costs:
        """Returns the Costs of this machine. threads: 0 for every core."""
        return _costs(element_bytes, thread_count(threads))

    @property
    def flop_per_s(self) -> float:
        """Returns the peak of all threads, in operations per second."""
        return self.machine.lanes(self.element_bytes) * LANE_FLOP_PER_S * self.threads

    @property
    def block_bytes(self) -> int:
        """Returns how many bytes all threads together should work on at a time: the size of all their second-level caches."""
        return self.machine.cache(2).size_bytes * self.threads

    def product(self, name: str, products: Products) -> CostTerm:
        """Returns the cost of products of matrices: of their operations, and of reading their operands, from caches or memory."""
        count, rows, columns, depth = products.count, products.rows, products.columns, products.depth
        flop = 2 * products.times * count * rows * columns * depth
        share = (PRODUCT_SHARE if count == 1 else MANY_PRODUCTS_SHARE) * self._filled(columns) * _in_tiles(rows)
        a_bytes = (products.a_count or count) * rows * depth * self.element_bytes
        b_bytes = count * depth * columns * self.element_bytes
        seconds = flop / (share * self.flop_per_s) + products.times * (self._operand(a_bytes) + self._operand(b_bytes))
        shape = f"{_many(products.times * count)} of ({rows} x {depth}) @ ({depth} x {columns})"
        packed = f"{_si(products.times * (a_bytes + b_bytes), 'B')} of operands"
        return CostTerm(name, seconds, f"{_si(flop, 'FLOP')} at {share:.0%} of the peak, {shape}, {packed}")

    def loops(self, name: str, flop: int, row: int, columns: int) -> CostTerm:
        """Returns the cost of the direct algorithm's loops, which keep the sums for some pixels of a row in registers.

        flop: operations of all loops.
        row: how many pixels a row of the result has.
        columns: how many filters there are, which lie in the lanes of vectors.
        """
        share = ROWS_SHARE * self._filled(columns) * _in_tiles(row)
        seconds = flop / (share * self.flop_per_s)
        return CostTerm(name, seconds, f"{_si(flop, 'FLOP')} at {share:.0%} of the peak, rows of {row} pixels")

    def depthwise(self, name: str, flop: int) -> CostTerm:
        """Returns the cost of the direct algorithm's loops for a depthwise convolution, with one filter for each channel."""
        seconds = flop / (DEPTHWISE_SHARE * self.flop_per_s)
        return CostTerm(name, seconds, f"{_si(flop, 'FLOP')} at {DEPTHWISE_SHARE:.0%} of the peak")

    def copy(self, name: str, size_bytes: int) -> CostTerm:
        """Returns the cost of a copy that reads and writes memory in order. size_bytes: the bytes that are read and written."""
        return self._bytes(name, size_bytes, COPY_BYTES_PER_S)

    def transposed(self, name: str, size_bytes: int) -> CostTerm:
        """Returns the cost of a copy that changes the layout of filters. size_bytes: the bytes that are read and written."""
        return self._bytes(name, size_bytes, TRANSPOSED_BYTES_PER_S)

    def gathered(self, name: str, size_bytes: int, *, by_runs: bool) -> CostTerm:
        """Returns the cost of filling blocks of im2col's matrix.

        by_runs: whether pixels that are copied lie next to each other; if False, each one is copied alone, which takes longer
        """
        return self._bytes(name, size_bytes, GATHERED_BYTES_PER_S if by_runs else SCATTERED_BYTES_PER_S)

    def transform(self, name: str, size_bytes: int) -> CostTerm:
        """Returns the cost of one of Winograd's transforms, of data that stay in the second cache. size_bytes: read and written."""
        return self._bytes(name, size_bytes, TRANSFORM_BYTES_PER_S)

    def operand(self, name: str, size_bytes: int) -> CostTerm:
        """Returns the cost of reading or writing a product's operand once: in a cache or, where it does not fit, in memory."""
        seconds = self._operand(size_bytes)
        return CostTerm(name, seconds, f"{_si(size_bytes, 'B')} at {_si(size_bytes / seconds, 'B/s')}")

    def _operand(self, size_bytes: int) -> float:
        """Returns the seconds that it takes to read an operand, from a cache or, where it is too large, from memory."""
        return size_bytes / self._rate(size_bytes, NEAR_BYTES_PER_S if self._is_near(size_bytes) else FAR_BYTES_PER_S)

    def _is_near(self, size_bytes: int) -> bool:
        """Returns whether an operand of this size stays in the last cache."""
        return size_bytes <= NEAR_SHARE * self.machine.cache(3).size_bytes

    def _rate(self, size_bytes: int, bytes_per_s: float) -> float:
        """Returns the bytes per second that all threads move together.

        In caches it is the rate of one thread times the number of threads; beyond them it is at most that of the memory.

        size_bytes: of the data, which decides where they are. bytes_per_s: the rate of one thread.
        """
        together = bytes_per_s * self.threads
        return together if self._is_near(size_bytes) else min(together, MEMORY_BYTES_PER_S)

    def fourier(self, name: str, count: int, side: int) -> CostTerm:
        """Returns the cost of `count` real Fourier transforms of side^2 points each; they run on one thread."""
        points = side * side
        flop = count * 2.5 * points * log2(points)
        return CostTerm(
            name,
            flop / FOURIER_FLOP_PER_S + count * FOURIER_S,
            f"{_many(count)} of {side} x {side} points, {_si(flop, 'FLOP')}",
        )

    def calls(self, name: str, count: int) -> CostTerm:
        """Returns the cost of so many calls of kernels, without what the kernels do."""
        return CostTerm(name, count * CALL_S, f"{count} calls")

    def _bytes(self, name: str, size_bytes: int, bytes_per_s: float) -> CostTerm:
        rate = self._rate(size_bytes, bytes_per_s)
        return CostTerm(name, size_bytes / rate, f"{_si(size_bytes, 'B')} at {_si(rate, 'B/s')}")

    def _filled(self, columns: int) -> float:
        """Returns the fraction of vector lanes that are in use where so many columns lie in as few vectors as possible."""
        lanes = self.machine.lanes(self.element_bytes)
        return columns / (lanes * ceil(columns / lanes))


def thread_count(threads: int) -> int:
    """Returns how many threads kernels run on; 0 stands for every core."""
    return threads or host().cores


def block_bytes(threads: int) -> int:
    """Returns the sum of the sizes of the second-level caches that so many threads have, in bytes."""
    return Costs.of(4, threads).block_bytes


@lru_cache
def _costs(element_bytes: int, threads: int) -> Costs:
    return Costs(host(), element_bytes, threads)


def _in_tiles(rows: int) -> float:
    """Returns which fraction of the rows of register tiles is in use where `rows` rows are cut into tiles of equal height.

    Of the possible heights it is the one for which the fraction is greatest.
    """
    return max(rows / (n * ceil(rows / n)) for n in PIXELS)


def _many(count: int) -> str:
    """Returns a number as text, with a space between groups of three digits."""
    return f"{count:,}".replace(",", " ")


def _si(value: float, unit: str) -> str:
    """Returns a value with three digits and the prefix of its unit.

    >>> _si(231.2e6, "FLOP")
    '231 MFLOP'
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
