"""A part of a function that does not compile as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyml.errors import LanguageError, PolymlTypeError

if TYPE_CHECKING:
    from polyml.api.kernels import Kernel
    from polyml.frontend.parts import Part

_MANY, _OFTEN = 100, 3  # calls of a part that were not worth it, or ran as Python


class PartCall:
    """A part of a function, run by a kernel of its own where that is worth a call."""

    def __init__(self, part: Part, kernel: Kernel):
        self.part, self._kernel = part, kernel
        self._small = self._large = self._as_python = 0  # calls
        self._is_refused = False  # it has values or operations that the language does not have, or is never compiled

    def __call__(self, *values):
        if self._is_refused:
            return self.part.function(*values)
        if self.part.is_worth_it(values):
            self._large += 1
            try:
                result = self._kernel(*values)
            except (LanguageError, PolymlTypeError):  # before anything has happened
                self._is_refused = True
            else:
                if self._kernel.compiled is False and not any(self.compiled_lines()):
                    self._as_python += 1
                    self._is_refused = self._as_python > _OFTEN
                return result
        else:
            self._small += 1
        return self.part.function(*values)

    def compiled_lines(self) -> Iterator[tuple[int, int]]:
        if self._kernel.compiled:
            yield self.part.lines
        else:
            yield from self._kernel._compiled_parts()

    @property
    def is_too_small(self) -> bool:
        return self._small > _MANY and not self._large
