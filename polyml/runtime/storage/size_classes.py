"""For which sizes a kernel is compiled: block sizes and register tiles follow those of the call that needs them.

The code is right for all sizes. It is used for those like the ones that it was made for, and there are only so many forms of one
kernel (`FORMS`), after which one more is made for all other sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.model.core.call_interface import SizeRelation

FORMS = 32  # made for some sizes, of one kernel and types: the layers of a network
EXACT = 32  # extents up to this are told apart one by one, longer ones by powers of two
_LITTLE = {0: 1, 1: 4096, 2: 48, 3: 12, 4: 6}  # extents of arrays of so many dimensions for which no form is made
_LITTLE_OF_MANY = 4


@dataclass(frozen=True)
class Sizes:
    """A Sizes says for which sizes of arrays one variant of a kernel's code is made, and for which it is used.

    extents: (array, its extents) in the call for which the code is made; None: the code is made for no sizes in particular.
    limits: (array, the least and the greatest extent of each dimension): the code is used for calls within these.
    others: relations between sizes that other code relies on: this code is used for calls in which one of them does not hold, and
        relies on none. Where there are none (), the code may rely on which extents of the call are equal, or differ by a small
        constant; it is then used for no calls in which they are not.
    """

    extents: tuple[tuple[str, tuple[int, ...]], ...] | None
    limits: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    others: tuple[SizeRelation, ...] = ()

    @property
    def is_related(self) -> bool:
        """Returns whether the code may rely on relations between sizes that hold in the call."""
        return not self.others


def sizes_of(arrays: Mapping[str, tuple[int, ...]]) -> Sizes:
    """Returns for which sizes a call with arrays of these shapes has code made, and in which calls that code is then used.

    The code is made for these shapes, and used where all extents are near theirs. Where all arrays are small, it is made for no
    sizes in particular, and used for all small arrays.
    """
    little = {name: _LITTLE.get(len(shape), _LITTLE_OF_MANY) for name, shape in arrays.items()}
    if all(extent <= little[name] for name, shape in arrays.items() for extent in shape):
        return Sizes(None, tuple((name, ((0, little[name]),) * len(shape)) for name, shape in arrays.items()))
    return Sizes(tuple(arrays.items()), tuple((name, tuple(map(_limits, shape))) for name, shape in arrays.items()))


def _limits(extent: int) -> tuple[int, int]:
    """Returns the least and the greatest extent for which the code for this extent is used too.

    >>> _limits(7), _limits(33), _limits(100), _limits(128)
    ((7, 7), (33, 64), (65, 128), (65, 128))
    """
    if extent <= EXACT:
        return extent, extent
    above = 1 << (extent - 1).bit_length()
    return above // 2 + 1, above
