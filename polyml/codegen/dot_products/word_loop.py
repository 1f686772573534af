"""A loop whose iterations run a word at a time, as a part of a register tiling."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.codegen.dot_products.instructions import DotUse
from polyml.codegen.ir.program import COPY


@dataclass(frozen=True)
class WordLoop:
    """A WordLoop is a loop of a perfect nest whose iterations may run a word at a time.

    loop, vector: the positions in the nest of the loop, and of the loop whose iterations are lanes.
    length: the number of elements of a word.
    lanes: how many words a vector register has.
    use: the instruction that computes a word's iterations; None where they copy the elements of the word.
    """

    loop: int
    vector: int
    length: int
    lanes: int
    use: DotUse | None

    @property
    def name(self) -> str:
        """What `Unroll.word` is for the loop."""
        return COPY if self.use is None else self.use.instruction.name

    @property
    def is_biased(self) -> bool:
        """Whether sums of a bias are kept beside the sums of the products."""
        return self.use is not None and self.use.is_biased

    def operations(self, vectors: int, shared: int) -> float:
        """Returns how many operations a step takes, besides loads and stores.

        vectors: how many vectors of words run together. shared: with how many words that all lanes share each of them is combined.
        """
        if self.use is None:
            return 3.0 * self.length * vectors  # widened, moved, joined
        each = 1 if self.use.instruction.adds else 2
        return 2.0 * each * vectors * (shared + self.is_biased) + shared * self.is_biased
