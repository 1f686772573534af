"""The memories behind a simulated array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from polyml.numpy_dtypes import numpy_dtype
from polyml.systolic.program.events import Memory
from polyml.systolic.program.interface import NestInterface


class Memories(Mapping[Memory, np.ndarray]):
    """A Memories maps each memory behind an array of PEs to its contents, a vector.

    ("array", name) has an array's elements, row by row, as they are now. ("initial", name) has them as they were before the call.
    ("produced", statement) has the values of the statement's instances; it is made when it is first asked for.
    """

    def __init__(self, interface: NestInterface, arrays: Mapping[str, np.ndarray]):
        self._interface = interface
        self._known: dict[Memory, np.ndarray] = {("array", name): array for name, array in arrays.items()}
        as_found = {name: array.copy() if name in interface.overwritten else array for name, array in arrays.items()}
        self._known |= {("initial", name): array for name, array in as_found.items()}

    def __getitem__(self, memory: Memory) -> np.ndarray:
        """Returns the contents of a memory as a vector that may be changed in place."""
        kind, name = memory
        if kind == "produced" and memory not in self._known:
            element = self._interface.scop.arrays[self._interface.scop.statements[name].write.array].element
            self._known[memory] = np.zeros(self._interface.instances(name), numpy_dtype(element))
        return self._known[memory]

    def __iter__(self) -> Iterator[Memory]:
        """Yields the memories that have contents so far."""
        return iter(self._known)

    def __len__(self) -> int:
        """Returns how many memories have contents so far."""
        return len(self._known)
