"""Calls of a lifted part of a function that is not compiled as a whole. A part is dropped where Python runs it as fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from polyml.api.calls.plain_calls import is_exact
from polyml.errors import LanguageError, PolymlTypeError

if TYPE_CHECKING:
    from polyml.frontend.lifting.lifted_function import LiftedPart

_MANY, _OFTEN = 100, 3  # calls of a part that were not worth it, or ran as Python
_WARM, _TURNS = 4, 6  # calls before any is timed; of each of the two, in turns
_SHORT = 50e-6  # seconds of a compiled call, above which loops are not tried as Python: that may take a thousand times as long


class PartKernel(Protocol):
    """The protocol of the kernel that compiles some loops (a part) of a function: what a `PartCall` uses of it.

    compiled: whether the last call ran as native code.
    """

    compiled: bool | None

    def __call__(self, *values): ...

    def compiled_parts(self) -> Iterator[tuple[int, int]]:
        """Yields (first line, last line) of each part that ran as native code in the last call."""


class PartCall:
    """A part call runs some loops of a function that is not compiled as a whole, by a kernel of their own or as Python.

    Calls take turns between the two until it is known which is faster for the arguments that are passed here.

    part: the statements, lifted out of the function.
    kernel: the kernel that compiles them.
    dropped: called once, when it is decided that Python runs the statements from then on.
    """

    def __init__(self, part: LiftedPart, kernel: PartKernel, dropped: Callable[[], None]):
        self.part, self.kernel, self._dropped = part, kernel, dropped
        self._small = self._large = self._as_python = 0  # calls
        self._times: tuple[list[float], list[float]] = [], []  # seconds, compiled and as Python
        self._is_refused = False  # it has values or operations that the language does not have, or does not pay
        self.is_settled = False

    def __call__(self, *values):
        if self._is_refused:
            return self.part.function(*values)
        given = self.part.given(values)
        if not all(map(is_exact, given)):
            self._left_to_python()
            return self.part.function(*values)
        if not self.part.is_worth_it(given):
            self._small += 1
            if self._small > _MANY and not self._large:
                self._drop()
            return self.part.function(*values)
        self._large += 1
        if self.is_settled:
            return self.kernel(*given)
        return self._compared(values, given) if self._large > _WARM else self._tried(values, given)

    def _tried(self, values: tuple, given: tuple):
        """Calls the kernel and returns the result. If the kernel raises an error before it runs anything, Python runs the
        statements, now and from then on. It also does from then on after more than three calls in which the kernel ran nothing as
        native code.

        values: the arguments of the Python function that was made of the statements.
        given: those of them that the kernel takes.
        """
        try:
            result = self.kernel(*given)
        except (LanguageError, PolymlTypeError):  # before anything has happened
            self._drop()
            return self.part.function(*values)
        if self.kernel.compiled is False and not any(self.compiled_lines()):
            self._left_to_python()
        return result

    def _left_to_python(self) -> None:
        """Counts a call in which the kernel ran nothing as native code; after more than three of them, Python runs the statements
        from then on.
        """
        self._as_python += 1
        if self._as_python > _OFTEN:
            self._drop()

    def _drop(self) -> None:
        """Makes Python run the statements from now on, and tells the function's kernel so."""
        self._is_refused = True
        self._dropped()

    def _compared(self, values: tuple, given: tuple):
        """Times a call, which is made by the kernel and by Python in turn, and returns its result. After six calls of each, the one
        that was faster makes all later calls.

        values: the arguments of the Python function that was made of the statements.
        given: those of them that the kernel takes.
        """
        compiled, plain = self._times
        if len(compiled) <= len(plain):
            start = perf_counter()
            result = self._tried(values, given)
            compiled.append(perf_counter() - start)
            if self.part.loops and compiled[-1] > _SHORT:
                self.is_settled = True
            return result
        start = perf_counter()
        result = self.part.function(*values)
        plain.append(perf_counter() - start)
        if len(plain) >= _TURNS:
            if min(compiled) >= min(plain):
                self._drop()
            else:
                self.is_settled = True
        return result

    def compiled_lines(self) -> Iterator[tuple[int, int]]:
        """Yields (first line, last line) of the statements that ran as native code in the last call."""
        if self.kernel.compiled:
            yield self.part.lines
        else:
            yield from self.kernel.compiled_parts()

    @property
    def does_not_pay(self) -> bool:
        """Returns whether compiling this part of a function was found not to pay, so that Python runs its statements from now on."""
        return self._is_refused
