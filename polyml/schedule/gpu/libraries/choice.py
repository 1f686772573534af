"""Whether a library computes a product of matrices, by the sizes of a call: the rule by which the host chooses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

LARGE = (
    1 << 27
)  # products of two numbers, as in 512 x 512 x 512: what a large device needs 6 us for, as long as starting a launch takes


def library_is_faster(extents: Sequence[int]) -> bool:
    """Returns whether a library is to compute a product: on an H200 polyml's launches have 85 % of the speed of cuBLAS for large matrices of
    float32 and half of it for those of 16 bits, and for small ones the time to start either decides, which is the same.

    extents: how many iterations each loop of the product has, those of the sum among them.

    >>> library_is_faster((4096, 4096, 4096)), library_is_faster((100, 100, 100))
    (True, False)
    """
    return min(extents) > 0 and prod(extents) >= LARGE
