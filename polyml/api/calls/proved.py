"""Conditions that a kernel assumes at its beginning, of arrays that nobody can change: what was found out once is not tested again.

A condition that is known to hold is a constant of the call, as those of `constants` are, whose name is where it stands in the text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from polyml.api.calls import constants
from polyml.errors import PolymlError
from polyml.frontend import syntax
from polyml.frontend.library import frozen_arrays
from polyml.frontend.library.index_arrays import WITHIN, assume
from polyml.frontend.syntax import Expr, Fact
from polyml.runtime.calling.binding import MISS, CaptureGuard, Entry
from polyml.runtime.calling.guards import captures
from polyml.values import cached_property

_MOST = 8  # combinations of conditions, for each of which there is code without their tests


@dataclass(frozen=True)
class Proved:
    """A Proved has conditions of a function that hold for the arguments of a call.

    facts: the conditions
    guards: tests that the names from outside mean what they meant when the function was read
    """

    facts: tuple[Fact, ...] = ()
    guards: tuple[CaptureGuard, ...] = ()

    def beside(self, others: Proved) -> Proved:
        """Returns these conditions with those of another one."""
        return Proved((*self.facts, *others.facts), (*self.guards, *others.guards))

    @property
    def constants(self) -> dict[str, object]:
        """Returns the conditions as constants by which a call is compiled."""
        return {fact.place: True for fact in self.facts}

    def holds(self, names: Sequence[str], values: Sequence[object]) -> bool:
        """Returns whether the conditions are known to hold for these arguments, too."""
        if not self.facts:
            return True
        given = dict(zip(names, values))
        return all(guard.holds() for guard in self.guards) and all(_holds(fact, given) for fact in self.facts)


NOTHING = Proved()


class Assumptions:
    """The Assumptions are those at the beginning of a function.

    function: the function
    parse: returns its kernel, where some of its parameters are constants
    """

    def __init__(self, function: FunctionType, parse: Callable[[Mapping[str, object]], syntax.Kernel]):
        self._function, self._parse = function, parse
        self._read: dict[str, Proved] = {}
        self._combinations: set[tuple[str, ...]] = set()

    @cached_property
    def _exist(self) -> bool:
        """Returns whether the function may call `polyml.assume`."""
        return "assume" in self._function.__code__.co_names or any(g.expected is assume for g in captures(self._function).guards)

    def proved(self, names: Sequence[str], values: Sequence[object], known: Mapping[str, object]) -> Proved:
        """Returns what is known to hold for the arguments of a call.

        known: the constants of the call
        """
        if not self._exist or not any(map(_is_kept, values)):
            return NOTHING
        text = constants.content(known)
        read = self._read.get(text)
        if read is None or not all(guard.holds() for guard in read.guards):
            read = self._read[text] = self._all(known)
        given = dict(zip(names, values))
        held = Proved(tuple(fact for fact in read.facts if fact.place not in known and _holds(fact, given)), read.guards)
        combination = (text, *held.constants)
        if not held.facts or combination not in self._combinations and len(self._combinations) >= _MOST:
            return NOTHING
        self._combinations.add(combination)
        return held

    def _all(self, known: Mapping[str, object]) -> Proved:
        try:
            return Proved(self._parse(known).facts, captures(self._function).guards)
        except PolymlError:
            return Proved((), captures(self._function).guards)

    def asking(self, entry: Entry, names: Sequence[str], known: Mapping[str, object]) -> Entry:
        """Returns an entry that does what another one does, but returns MISS where more is known of the arguments, and where other calls may
        be inside of each other than when it was made.
        """
        depth = captures(self._function).depth
        if not self._exist and depth is None:
            return entry

        def careful(*values: object) -> object:
            if depth is not None and sys.getrecursionlimit() != depth:
                return MISS
            if any(map(_is_kept, values)) and self.proved(names, values, known).facts:
                return MISS
            return entry(*values)

        return careful


def _is_kept(value: object) -> bool:
    """Returns whether something is kept of an argument: it is a vector of integers that nobody can change."""
    if type(value) is not np.ndarray or value.flags.writeable:
        return False
    return value.ndim == 1 and value.dtype.kind in "iu" and frozen_arrays.is_immutable(value)


def _holds(fact: Fact, given: Mapping[str, object]) -> bool:
    """Returns whether a condition is known to hold. given: the arguments, by parameter"""
    array = given.get(fact.array)
    if not isinstance(array, np.ndarray) or not _is_kept(array):
        return False
    if fact.kind != WITHIN:
        return frozen_arrays.holds(fact.kind, array)
    low, high = _number(fact.low, given), _number(fact.high, given)
    return low is not None and high is not None and frozen_arrays.holds(WITHIN, array, low, high)


def _number(expr: Expr | None, given: Mapping[str, object]) -> int | None:
    """Returns the value of a bound; None where it is no integer."""
    match expr:
        case syntax.Const(value=value):
            return value if type(value) is int else None
        case syntax.Name(name=name):
            value = given.get(name)
            return int(value) if type(value) is int or isinstance(value, np.integer) else None
        case syntax.Shape(array=name, dim=dim):
            array = given.get(name)
            return array.shape[dim] if type(array) is np.ndarray and dim < array.ndim else None
        case syntax.Binary(op=op, left=left, right=right):
            one, other = _number(left, given), _number(right, given)
            return None if one is None or other is None else one + other if op == "+" else one - other
    return None
