"""Calls that run as plain Python: which function they run, for which arguments that is settled, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml.errors import PolymlError, PolymlTypeError
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.binding import MISS, CaptureGuard

if TYPE_CHECKING:
    from polyml.frontend.parsing.refusals import Refusals

_EXACT = (np.ndarray, int, float, bool, complex)
SETTLED = 3  # calls of one kind that ran as plain Python, after which such arguments are not looked at again


@dataclass
class Tally:
    """A tally counts the calls that ran as plain Python, wholly or around parts, without those that the function makes of itself.

    calls: how many there were.
    seconds: how long they took together.
    """

    calls: int = 0
    seconds: float = 0.0

    def run(self, function: Callable, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Runs the function, counts the call, and returns the result."""
        start = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self.calls += 1
            self.seconds += perf_counter() - start


@dataclass(frozen=True)
class Plain:
    """A plain call runs a function as Python, under given settings and while given names mean what they meant.

    scope: the settings, by identity.
    guards: the names, with the objects that they have to hold.
    run: the function that is run.
    tally: what counts the calls.
    """

    scope: object
    guards: tuple[CaptureGuard, ...]
    run: FunctionType
    tally: Tally

    def __call__(self, *args, **kwargs):
        """Returns the result, or MISS where a name means something else by now."""
        for guard in self.guards:
            if not guard.holds():
                return MISS
        return self.tally.run(self.run, args, kwargs)


@dataclass
class Kinds:
    """The kinds of arguments are remembered for which it is settled that they run as plain Python.

    settled: kinds -> what is run for them.
    seen: kinds -> how many calls ran as plain Python.
    """

    settled: dict[tuple, Plain] = field(default_factory=dict)
    seen: dict[tuple, int] = field(default_factory=dict)

    def find(self, values: Sequence[object], scope: object) -> Plain | None:
        """Returns what is run for these values; None where that is not settled."""
        found = self.settled.get(kinds(values))
        return found if found is not None and found.scope is scope else None

    def add(self, values: Sequence[object], plain: Plain) -> None:
        """Counts another call with such values that ran as plain Python, and settles their kinds after a few."""
        place = kinds(values)
        self.seen[place] = self.seen.get(place, 0) + 1
        if self.seen[place] >= SETTLED:
            self.settled[place] = plain

    def forget(self) -> None:
        """Forgets what is settled, since what is to be run has changed."""
        self.settled.clear()


def refusals(function: FunctionType) -> Refusals:
    """Returns the statements of a function that no argument makes affine; none where the function as a whole is refused."""
    from polyml.frontend.parsing.parse import refused
    from polyml.frontend.parsing.refusals import NO_REFUSALS

    try:
        return refused(function)
    except (PolymlError, RecursionError):
        return replace(NO_REFUSALS, whole=True)


def reasons(refused: Refusals, problem: PolymlError) -> tuple[PolymlError, ...]:
    """Returns why calls that end in the problem run as plain Python: the problem, and every statement that is refused whatever is
    passed.
    """
    found = tuple(r.problem for r in refused.statements)
    return found if any(str(problem) == str(each) for each in found) else (*found, problem)


def kinds(values: Sequence[object]) -> tuple:
    """Returns what decides whether arguments are compiled for, as far as one can see at once: types, dimensions, and whether there
    are elements.
    """
    return tuple([(v.dtype, v.ndim, v.size > 1) if type(v) is np.ndarray else type(v) for v in values])


def is_exact(value: object) -> bool:
    """Returns whether a part of a function takes the value: a number or an array, of no class that is derived from those."""
    return type(value) in _EXACT or isinstance(value, np.generic)


def left_to_python(given: Sequence[CallArgument]) -> PolymlTypeError | None:
    """Returns why these arguments mean something else to Python than to compiled code; None where they do not.

    The operators of lists and tuples, and of classes derived from NumPy's array, are other ones than an array's.
    """
    for argument in given:
        kind = type(argument.original)
        derived = issubclass(kind, np.ndarray) and kind is not np.ndarray and kind is not np.memmap
        if derived or issubclass(kind, (list, tuple)):
            return PolymlTypeError(
                f"argument `{argument.name}` is a {kind.__name__}, whose operators are not those of an array",
                notes=[f"pass np.asarray({argument.name})"],
                code="PML-F050",
            )
    return None
