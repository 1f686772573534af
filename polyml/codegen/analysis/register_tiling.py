"""Register tilings: which loop's iterations become lanes of vectors, and how many iterations of other loops run side by side."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class RegisterTiling:
    """One way to run a nest by register tiling: unroll-and-jam, with the iterations of one loop as lanes. Loops are named by their
    positions in the perfect nest.

    start: the first loop that takes part.
    innermost: the loop that is moved inside all others of the perfect nest; None if its body has loops.
    vector: the loop whose iterations are lanes; None for scalar code.
    vectors: the number of vector registers side by side along that loop.
    lanes: the elements of a vector register.
    jams: pairs of another loop and how many of its iterations run together.
    unrolled: the loops of `jams` whose iterations keep their order.
    interleaved: the vectors run instruction by instruction, as one long vector does.
    remainders: pairs of a loop of `jams` and how many of the iterations left over at its end run together.
    line: an expression which, added to the vector loop's variable, is a multiple of the lanes where a cache line begins; vectors
        then begin on cache lines. None if vectors begin where the loop does.
    keeps_order: no loop is moved inside another.
    scalar_remainder: the iterations left over of a reduction over lanes run one by one, not under a mask.
    scans: the lanes share prefix sums.
    """

    start: int
    innermost: int | None
    vector: int | None
    vectors: int
    lanes: int
    jams: tuple[tuple[int, int], ...] = ()
    unrolled: frozenset[int] = frozenset()
    interleaved: bool = False
    remainders: tuple[tuple[int, int], ...] = ()
    line: Affine | None = None
    keeps_order: bool = False
    scalar_remainder: bool = False
    scans: bool = False

    @property
    def copies(self) -> int:
        """The number of the nest's iterations that run together."""
        total = self.vectors * self.lanes
        for _, count in self.jams:
            total *= count
        return total
