"""Register tilings: which loop's iterations become lanes of vectors, and how many iterations of other loops run side by side."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.codegen.dot_products.word_loop import WordLoop
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class RegisterTiling:
    """One way to run a nest by register tiling: unroll-and-jam, with the iterations of one loop as lanes. Loops are named by their
    positions in the perfect nest.

    start: the outermost loop that the tiling changes; those outside it stay as they are.
    innermost: the loop that is moved inside all others of the perfect nest; None if the loops in its body are innermost.
    vector: the loop whose iterations are lanes; None for scalar code.
    vectors: how many vectors of iterations of that loop run together.
    lanes: the elements of a vector register.
    jams: pairs of another loop and how many of its iterations run together.
    unrolled: those loops of `jams` whose iterations run one after the other in unrolled code, not statement by statement.
    interleaved: whether each operation runs for all `vectors` before the next operation, as if they were one long vector.
    remainders: pairs of a loop of `jams` and how many of the iterations left over at its end run together.
    line: vectors begin where this expression plus the vector loop's variable is a multiple of `lanes`, chosen so that this is on
        cache lines; None: they begin where the loop does.
    keeps_order: whether no loop is moved inside another.
    scalar_remainder: whether the iterations left over of a reduction over lanes run one by one, not under a mask.
    scans: whether the lanes compute prefix sums, each lane from the one before.
    in_order: whether iterations depend on each other, so that vectors run in order, each reading before it writes.
    strip: how many iterations run together if the last of the vectors is not full, so that some of its lanes are masked out; else 0.
    word: the loop whose iterations run a word at a time; None: there is none.
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
    in_order: bool = False
    strip: int = 0
    word: WordLoop | None = None

    def jammed(self, *jams: tuple[int, int]) -> RegisterTiling:
        """Returns the tiling with other `jams`: `dataclasses.replace` takes ten times as long, and a nest has hundreds of tilings."""
        made = object.__new__(RegisterTiling)
        made.__dict__.update(self.__dict__, jams=jams)
        return made

    @property
    def block(self) -> int:
        """The number of consecutive iterations of the vector loop that run together."""
        return self.strip or self.vectors * self.lanes

    @property
    def copies(self) -> int:
        """The number of the nest's iterations that run together."""
        total = self.block
        for _, count in self.jams:
            total *= count
        return total

    @property
    def iterations(self) -> int:
        """The number of the nest's iterations that run in a step: more than run together where a step has words of them."""
        return self.copies * (1 if self.word is None or self.word.use is None else self.word.length)

    @property
    def biases(self) -> int:
        """The number of registers that hold sums of a bias."""
        return self.vectors if self.word is not None and self.word.is_biased else 0
