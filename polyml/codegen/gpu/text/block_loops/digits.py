"""The text of numberings of loops: the iterations of loops in the combination of a number, and going on to later ones.

number k of (c, p, q)   ->   q = k % Q, p = k / Q % P, c = k / Q / P;   q += 16 % Q; if (q >= Q) { q -= Q; p++; } ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.axes import MergedLoop
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings
from polyml.codegen.gpu.text.integers import factor
from polyml.quasi_affine.affine import Affine, variable


@dataclass(frozen=True)
class Numbering:
    """A Numbering is the text of the combinations of iterations of loops.

    name: what names of constants begin with.
    loops: outermost first.
    count: the name of the parameter that is how many combinations there are.
    """

    name: str
    loops: tuple[MergedLoop, ...]
    count: str
    around: Surroundings

    @property
    def end(self) -> str:
        """The name of how many combinations there are."""
        return f"{self.name}_end"

    def label(self, loop: MergedLoop) -> str:
        """Returns the name in the text of a loop's iteration."""
        return self.around.values.index(variable(loop.name))

    def radix(self, loop: MergedLoop) -> str:
        """Returns the name of how many iterations a loop has that is not the outermost one."""
        return f"{self.name}_of_{self.label(loop)}"

    def constants(self) -> Iterator[str]:
        """Yields the C lines that declare the constants, of which the host has tested that they fit; of loops without iterations, none is 0."""
        yield f"const int {self.end} = {self.around.values.index(variable(self.count))};"
        for loop in self.loops[1:]:
            yield f"const int {self.radix(loop)} = {self.around.use('max_index')}({self.around.values.index(loop.count)}, 1);"

    def digit(self, loop: MergedLoop, number: str) -> str:
        """Returns the C text of how many iterations of a loop are before that of the combination `number`, which is a name or constant."""
        place = next(k for k, each in enumerate(self.loops) if each is loop)
        inner = "".join(f" / {self.radix(each)}" for each in reversed(self.loops[place + 1 :]))
        return f"{number}{inner}" + (f" % {self.radix(loop)}" if place else "")

    def decoded(self, at: str, position: str, is_limited: bool) -> Iterator[str]:
        """Yields the C lines that declare the iterations in a combination.

        at: a name for its number.
        position: its number.
        is_limited: whether numbers behind the last one stand for that.
        """
        limited = f"{self.around.use('least_int')}({position}, {self.end} - 1)" if is_limited else position
        yield f"const int {at} = {limited};"
        for loop in self.loops:
            first, digit = self.around.values.index(loop.first), self.digit(loop, at)
            yield f"const {self.around.dialect.index} {self.label(loop)} = {digit if first == '0' else f'{first} + {digit}'};"


@dataclass(frozen=True)
class Walk:
    """A Walk is the text of going from one combination to later ones, with a sum that goes along.

    name: what the names of the digits begin with; that of the outermost loop has none.
    total: the C text of what is added to.
    by: for each loop, the C text of what one more iteration adds to the sum.
    step: how many combinations later the next one is.
    """

    numbering: Numbering
    name: str
    total: str
    by: Sequence[str]
    step: int

    def _digit(self, loop: MergedLoop) -> str:
        return f"{self.name}_at_{self.numbering.label(loop)}"

    def declared(self, first: str) -> Iterator[str]:
        """Yields the C lines that declare the digits of the first combination, `first`, and what is added from one to the next."""
        loops, numbering = self.numbering.loops, self.numbering
        for loop in loops[1:]:
            yield f"int {self._digit(loop)} = {numbering.digit(loop, first)};"
        for loop in loops[1:]:
            yield f"const int {self._digit(loop)}_step = {numbering.digit(loop, str(self.step))};"
        kind = f"const {numbering.around.dialect.index}"
        for k, loop in enumerate(loops[1:]):
            yield f"{kind} {self._digit(loop)}_carry = {self.by[k]} - {numbering.radix(loop)}*{self.by[k + 1]};"
        yield f"{kind} {self.name}_step = {self.sum_of(str(self.step), '_step')};"

    def sum_of(self, number: str, suffix: str = "") -> str:
        """Returns the C text of the sum in a combination whose digits are declared, that of the outermost loop apart."""
        loops = self.numbering.loops
        digits = [self.numbering.digit(loops[0], number), *(self._digit(loop) + suffix for loop in loops[1:])]
        return " + ".join(f"{digit}*{by}" for digit, by in zip(digits, self.by))

    def next(self) -> Iterator[str]:
        """Yields the C lines that go on to the next combination."""
        loops, radix = self.numbering.loops, self.numbering.radix
        yield f"{self.total} += {self.name}_step;"
        for k in range(len(loops) - 1, 0, -1):
            digit = self._digit(loops[k])
            yield f"{digit} += {digit}_step;"
            yield f"if ({digit} >= {radix(loops[k])}) {{"
            yield f"    {digit} -= {radix(loops[k])};"
            if k > 1:
                yield f"    {self._digit(loops[k - 1])}++;"
            yield f"    {self._carried(k)}"
            yield "}"

    def _carried(self, k: int) -> str:
        """Returns the C statement that adds what one more iteration of the loop outside of loop k adds, without all of loop k."""
        return f"{self.total} += {self._digit(self.numbering.loops[k])}_carry;"


def stride(array: str, subscripts: Sequence[Affine], loop: MergedLoop, around: Surroundings) -> str:
    """Returns the C text of how many elements further an array's element is in the next iteration of a loop."""
    terms = []
    shape = around.scop.arrays[array].shape
    for k, subscript in enumerate(subscripts):
        if by := subscript.coefficient(loop.name):
            sizes = [factor(around.renamed(around.values.affine(each)), around.use) for each in shape[k + 1 :]]
            terms.append("*".join([*([] if by == 1 and sizes else [str(by)]), *sizes]))
    return " + ".join(terms) or "0"
