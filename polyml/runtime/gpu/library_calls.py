"""Products of matrices in a call that a library computes in place of launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyml.dtypes import F32, HALVES, DType
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.gpu.driver import DeviceBuffer, Driver, Queue
from polyml.runtime.gpu.host.matrices import matrix_call
from polyml.runtime.gpu.host.nodes import HostProduct
from polyml.runtime.gpu.recorded_calls import Recording
from polyml.schedule.gpu.libraries.choice import library_is_faster


@dataclass(frozen=True)
class Operand:
    """An Operand is an array that a library takes: its memory on the device, its shape, and the type of its elements."""

    memory: DeviceBuffer
    shape: tuple[int, ...]
    element: DType


class CallMemory(Protocol):
    """A CallMemory holds the arrays and numbers of one call, and where its work is started."""

    queue: Queue

    def operand(self, name: str, is_written: bool = False) -> Operand:
        """Returns an array as a library takes it; what it writes counts as written."""
        ...

    def number(self, name: str) -> float:
        """Returns the value of an argument of the call that is a number."""
        ...


class ProductStarter:
    """A ProductStarter starts a product of matrices in a call if a library is to compute it: it is called with how many iterations the
    product's loops have and with the first subscripts of the result and both operands, and returns whether it has started it.

    The library is left out where a factor is 0, since it then reads nothing of what is multiplied, and 0 times infinity is not 0.
    """

    def __init__(self, memory: CallMemory, product: HostProduct, recording: Recording):
        self._memory, self._product, self._recording = memory, product, recording

    def __call__(self, extents: tuple[int, ...], *firsts: Sequence[int]) -> bool:
        product, memory = self._product, self._memory
        if not library_is_faster(extents):
            return False
        scales = self._scale(product.alpha), self._scale(product.beta)
        if scales[0] == 0 or scales[1] == 0 and product.beta != (0.0, ()):
            return False
        result = memory.operand(product.result.array, is_written=True)
        left, right = (memory.operand(each.array) for each in (product.left, product.right))
        call = matrix_call(product, extents, firsts, [each.shape for each in (result, left, right)])
        if call is None:
            return False
        driver: Driver = memory.queue.driver
        start = driver.matrix_library().product(call, (left.element, result.element), scales, product.tf32)
        sides = {product.left.array: left, product.right.array: right}
        arguments = [sides[call.left.array].memory, sides[call.right.array].memory, result.memory]
        self._recording.launches.append((start, (0, 0, 0), arguments))
        start(memory.queue, (0, 0, 0), arguments)
        return True

    def _scale(self, given: tuple[float, tuple[str, ...]]) -> float:
        """Returns a factor: the product of a constant and of arguments, each in the type of the result."""
        constant, names = given
        element = self._memory.operand(self._product.result.array).element
        kind = numpy_dtype(F32 if element in HALVES else element).type  # of the sums
        with np.errstate(all="ignore"):  # too large for the type: infinity, as in a launch
            return float(math.prod((kind(each) for each in (constant, *map(self._memory.number, names))), start=kind(1)))
