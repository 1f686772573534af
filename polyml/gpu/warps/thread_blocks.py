"""The threads of a block, and the warps that they form."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from polyml.values import cached_property


@dataclass(frozen=True)
class Threads:
    """The threads of a block, and the warps that they form.

    Thread (x, y, z) is number x + sizes[0]*(y + sizes[1]*z), and warp w has the numbers from w*width on (NVIDIA, CUDA C++
    Programming Guide, "Thread Hierarchy" and "SIMT Architecture").

    sizes: threads along x, y and z; along further axes a block has one iteration.
    width: threads of a warp.
    """

    sizes: tuple[int, ...]
    width: int

    @property
    def count(self) -> int:
        return prod(self.sizes)

    @property
    def warps(self) -> int:
        return -(-self.count // self.width)

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.arange(self.warps * self.width).reshape(self.warps, self.width)

    @cached_property
    def exist(self) -> np.ndarray:
        """Returns which lanes have a thread, [warp, lane]: the last warp may have fewer."""
        return self._numbers < self.count

    def along(self, axis: int) -> np.ndarray:
        """Returns the index of each thread along an axis, [warp, lane]."""
        return self._numbers // prod(self.sizes[:axis]) % self.sizes[axis]
