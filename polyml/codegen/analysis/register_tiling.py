"""Ways to run the iterations of a nest together: which loop has the lanes, how many iterations of others are side by side."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.codegen.ir.linexpr import Lin


@dataclass(frozen=True)
class RegisterTiling:
    """One way to run a nest (register tiling, or unroll-and-jam, with lanes). Loops are numbers in the nest's chain.

    start: the first loop that takes part.
    innermost: the loop inside all others of the chain; None: the body has loops.
    vector: the loop whose iterations are lanes; None: plain numbers.
    vectors: registers of them side by side.
    lanes: numbers in a register.
    jams: how many iterations of other loops run together.
    unrolled: those of them that keep their order.
    interleaved: the vectors run instruction by instruction, as one long vector.
    rests: of some of these loops, how many of the iterations that are left over at the end run together.
    line: where the vector loop's variable and this make a multiple of the lanes, a cache line begins that vectors should begin on
        too; None: they begin where the loop does.
    keeps_order: the loops stay where they are, each for its own.
    plain_rest: what is left over of a reduction over lanes runs one by one, not under a mask.
    scans: lanes share scans.
    """

    start: int
    innermost: int | None
    vector: int | None
    vectors: int
    lanes: int
    jams: tuple[tuple[int, int], ...] = ()
    unrolled: frozenset[int] = frozenset()
    interleaved: bool = False
    rests: tuple[tuple[int, int], ...] = ()
    line: Lin | None = None
    keeps_order: bool = False
    plain_rest: bool = False
    scans: bool = False

    @property
    def copies(self) -> int:
        """Instances that run together."""
        total = self.vectors * self.lanes
        for _, count in self.jams:
            total *= count
        return total
