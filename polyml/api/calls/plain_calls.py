"""Calls that run as plain Python: which function they run, for which arguments that is settled, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml.api.calls import constants
from polyml.errors import PolymlError, PolymlTypeError
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.binding import MISS, CaptureGuard

if TYPE_CHECKING:
    from polyml.frontend.parsing.refusals import Refusals

_EXACT = (np.ndarray, int, float, bool, complex)
_MOST_KINDS = 1_000  # of arguments that are counted: texts may always be new ones
SETTLED = 3  # calls of one kind that ran as plain Python, after which such arguments are not looked at again


@dataclass
class Tally:
    """A tally counts the calls of a kernel that ran as plain Python, wholly or in part. Recursive calls are not counted.

    calls: how many there were.
    seconds: how long they took together.
    """

    calls: int = 0
    seconds: float = 0.0

    def run(self, function: Callable, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Calls the function, adds the call and its seconds to the tally, and returns the result."""
        start = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self.calls += 1
            self.seconds += perf_counter() - start


@dataclass(frozen=True)
class Plain:
    """A plain call runs a function as Python, as long as the names that it takes from outside are bound to the same objects.

    scope: the settings in force for which it was made; they are compared by identity.
    guards: tests that the outside names are bound to the same objects.
    run: the function that is run.
    tally: counts the calls.
    """

    scope: object
    guards: tuple[CaptureGuard, ...]
    run: FunctionType
    tally: Tally

    def __call__(self, *args, **kwargs):
        """Runs the function and returns its result; returns the object MISS, and runs nothing, where an outside name is bound to
        another object by now.
        """
        for guard in self.guards:
            if not guard.holds():
                return MISS
        return self.tally.run(self.run, args, kwargs)


@dataclass
class Kinds:
    """A record of the arguments with which a kernel's calls run as plain Python. Arguments for which the function `kinds` returns
    equal keys are of the same kinds.

    settled: {key: the plain call to run at once for arguments with this key}.
    seen: {key: how many calls with such arguments ran as plain Python}.
    by_values: whether calls with other sizes or ints may be compiled, so that arguments of one kind have these in common.
    """

    settled: dict[tuple, Plain] = field(default_factory=dict)
    seen: dict[tuple, int] = field(default_factory=dict)
    by_values: bool = False

    def find(self, values: Sequence[object], scope: object) -> Plain | None:
        """Returns the plain call to run at once for arguments of these kinds; None where each argument has to be examined first.

        scope: the settings in force.
        """
        found = self.settled.get(self._key(values))
        return found if found is not None and found.scope is scope else None

    def add(self, values: Sequence[object], plain: Plain) -> None:
        """Counts a call that ran as plain Python; from the third with arguments of these kinds on, `find` returns `plain` for
        them.
        """
        place = self._key(values)
        if len(self.seen) >= _MOST_KINDS:
            self.seen.clear()
            self.settled.clear()
        self.seen[place] = self.seen.get(place, 0) + 1
        if self.seen[place] >= SETTLED:
            self.settled[place] = plain

    def forget(self) -> None:
        """Empties the record of which plain calls to run at once, because the function that they run has changed."""
        self.settled.clear()

    def _key(self, values: Sequence[object]) -> tuple:
        if not self.by_values:
            return kinds(values)
        return kinds(values), tuple([v.shape if type(v) is np.ndarray else v if type(v) is int else None for v in values])


def refusals(function: FunctionType) -> Refusals:
    """Returns the statements of a function that cannot be compiled whatever its arguments are.

    Where the function as a whole cannot be compiled, the result has no statements, and its field `whole` is True.
    """
    from polyml.frontend.parsing.parse import refused
    from polyml.frontend.parsing.refusals import NO_REFUSALS

    try:
        return refused(function)
    except (PolymlError, RecursionError):
        return replace(NO_REFUSALS, whole=True)


def reasons(refused: Refusals, problem: PolymlError) -> tuple[PolymlError, ...]:
    """Returns the errors that say why a call runs as plain Python: one for each refused statement, and the one that ended the call.

    refused: the statements that cannot be compiled whatever the arguments are.
    problem: the error that ended the attempt to compile the call; it is not repeated where a statement has it too.
    """
    found = tuple(r.problem for r in refused.statements)
    return found if any(str(problem) == str(each) for each in found) else (*found, problem)


def kinds(values: Sequence[object]) -> tuple:
    """Returns a key for a call's arguments. Calls whose arguments have equal keys can be expected to be compiled, or refused,
    alike.

    The key has the class of each argument, for an array the element type, the number of dimensions and whether it has several
    elements, and what an argument is that is compiled as a constant.
    """
    return tuple([(v.dtype, v.ndim, v.size > 1) if type(v) is np.ndarray else constants.kind(v) for v in values])


def is_exact(value: object) -> bool:
    """Returns whether a value's class is one of Python's or NumPy's numbers or NumPy's array itself, and not a class that a user
    derived from them.
    """
    return type(value) in _EXACT or isinstance(value, np.generic)


def may_be_refused(value: object) -> bool:
    """Returns whether a value may be why a call runs as plain Python: it is of another class than the exact ones, or an int beyond 64 bits."""
    return not is_exact(value) or type(value) is int and not -(2**63) <= value < 2**63


def left_to_python(given: Sequence[CallArgument]) -> PolymlTypeError | None:
    """Returns the error for the first argument that is a list, a tuple or an instance of a class derived from NumPy's array; None
    where none is.

    A call with such an argument runs as plain Python, since operators on it do not mean what they mean for NumPy's array.
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
