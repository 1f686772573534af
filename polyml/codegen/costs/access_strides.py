"""How the element that an access refers to moves from one iteration of a loop to the next, which decides what the access costs
in lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from polyml.codegen.analysis.loop_nest import LoopNest, NestAccess
from polyml.codegen.costs.instruction_costs import LONGEST_SHORT_STRIDE
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property


class StrideKind(Enum):
    """The kinds of strides, told apart by where the element of a loop's next iteration lies."""

    INVARIANT = "the same element"
    UNIT = "the next or the previous one in a row of memory"
    SHORT = "a few elements further in a row of memory, at most LONGEST_SHORT_STRIDE"
    LONG = "anywhere else"
    NOT_LINEAR = "at a distance that differs between iterations"


@dataclass(frozen=True)
class Stride:
    """The distance that an access moves in memory with each iteration of one loop.

    kind: where the next iteration's element lies.
    elements: how many elements further in memory that is, negative where it is before; 0 unless the kind is UNIT, a neighbour, or
        SHORT, a few elements away.
    """

    kind: StrideKind
    elements: int = 0

    @cached_property
    def is_invariant(self) -> bool:
        """Whether all iterations access the same element."""
        return self.kind is StrideKind.INVARIANT

    @cached_property
    def is_unit(self) -> bool:
        """Whether the next iteration accesses the next or the previous element in memory."""
        return self.kind is StrideKind.UNIT


NO_STRIDE = Stride(StrideKind.INVARIANT)


@dataclass(frozen=True)
class AccessStrides:
    """An access of a nest, with its stride along each loop of the perfect nest, outermost first.

    in_words: whether the array has words (`Window.word`).
    """

    access: NestAccess
    strides: tuple[Stride, ...]
    in_words: bool = False

    @property
    def array(self) -> str:
        return self.access.array

    @staticmethod
    def of(access: NestAccess, nest: LoopNest, unit_dims: Mapping[str, int | None]) -> AccessStrides:
        """Returns an access of a nest with its strides.

        unit_dims: { array -> the dimension along which its elements are neighbours in memory, None if there is none }.
        """
        window = nest.program.windows.get(access.array)
        if window is not None and window.word > 1:
            return AccessStrides(access, tuple(_stride_in_words(access.subscripts, loop.var) for loop in nest.chain), in_words=True)
        unit = unit_dims.get(access.array)
        return AccessStrides(access, tuple(_stride(access.subscripts, loop.var, unit) for loop in nest.chain))

    def reads_on(self, nest: LoopNest, innermost: int | None, vector: int | None, count: int) -> bool:
        """Returns whether each iteration of loop number `innermost` accesses what follows in memory on what the one before accessed:
        whole rows of a local array, one after the other, as in a panel of a copy that is as wide as a register tile.

        vector, count: the loop whose iterations are lanes, and how many of them run together.
        """
        window = nest.program.windows.get(self.array)
        if window is None or innermost is None or vector is None or len(window.lengths) < 2 or window.lengths[-1] != count:
            return False
        steps = [tuple(e.coefficient(nest.chain[loop].var) for e in self.access.subscripts) for loop in (innermost, vector)]
        rank = len(window.lengths)
        return steps == [(*(0,) * (rank - 2), 1, 0), (*(0,) * (rank - 1), 1)]


def _stride_in_words(subscripts: tuple[Affine, ...], variable: str) -> Stride:
    """Returns the stride of an access along one loop in an array with words (`Window.word`), which are no neighbours of one another."""
    if variable in subscripts[-2].names:
        return Stride(StrideKind.NOT_LINEAR)
    return _stride(subscripts, variable, None)


def _stride(subscripts: tuple[Affine, ...], variable: str, unit: int | None) -> Stride:
    """Returns the stride of an access along one loop.

    variable: of that loop.
    unit: the array's dimension along which elements are neighbours in memory, None if there is none.
    """
    moving: dict[int, int] = {}  # steps by dimension
    for d, e in enumerate(subscripts):
        step = e.coefficient(variable)
        if step is None:
            return Stride(StrideKind.NOT_LINEAR)
        if step:
            moving[d] = step
    if not moving:
        return NO_STRIDE
    step = moving[unit] if unit is not None and [*moving] == [unit] else 0
    if abs(step) == 1:
        return Stride(StrideKind.UNIT, step)
    return Stride(StrideKind.SHORT, step) if 2 <= step <= LONGEST_SHORT_STRIDE else Stride(StrideKind.LONG)
