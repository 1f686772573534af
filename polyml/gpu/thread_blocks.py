"""Threads of a block, and which of them are a warp."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np


@dataclass(frozen=True)
class Threads:
    """sizes: of a block along x, y and z; of further axes every block has one iteration.

    Thread (x, y, z) is number x + sizes[0]*(y + sizes[1]*z), and warp w has the numbers from w*width on (NVIDIA, CUDA C++
    Programming Guide, "Thread Hierarchy" and "SIMT Architecture").
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
        """[warp, lane]: the last warp may have fewer lanes."""
        return self._numbers < self.count

    def along(self, axis: int) -> np.ndarray:
        """[warp, lane]: each thread's place along an axis."""
        return self._numbers // prod(self.sizes[:axis]) % self.sizes[axis]
