"""Lifted functions, which call parts of themselves that can be compiled, and these parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType

import numpy as np

from polyml.frontend import attributes

_BULK = 256  # from so many elements an array makes a part without loops worth a call


@dataclass(frozen=True)
class LiftedPart:
    """A LiftedPart is some statements of a function, or the value of a condition or result, as a function of its own.

    function: the part as a function of the names that it reads
    lifted: the same function with attributes of arguments replaced by parameters
    values: where each argument of `lifted` comes from: (position of an argument of `function`, its attribute or None for itself)
    lines: the first and the last line of the part in the file
    loops: whether the part has loops
    subscripted: (position of an argument of `lifted`, least number of subscripts that it is read with); of an array of more
        dimensions than that, many elements are read at once
    """

    function: FunctionType
    lifted: FunctionType
    values: tuple[tuple[int, str | None], ...]
    lines: tuple[int, int]
    loops: bool
    subscripted: tuple[tuple[int, int], ...]

    def given(self, arguments: Sequence[object]) -> tuple[object, ...]:
        """Returns the arguments of a call of `lifted`, made from those of `function`: some of these, and attributes of some."""
        return tuple(arguments[k] if attr is None else attributes.read(arguments[k], attr) for k, attr in self.values)

    def is_worth_it(self, values: Sequence[object]) -> bool:
        """Returns whether a call of `lifted` with these arguments has enough work to be worth it: loops, or large arrays."""
        return self.loops or any(_is_bulk(values[k], taken) for k, taken in self.subscripted)


def _is_bulk(value: object, taken: int) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > taken and value.size >= _BULK


@dataclass(frozen=True)
class LiftedFunction:
    """A LiftedFunction is a function in which calls of its lifted parts stand in the place of the parts.

    whole: the function as it was
    code: the code with a call in the place of each part
    parts: the parts, by the names by which the code calls them
    own: the name by which the function calls itself, if it does
    """

    whole: FunctionType
    code: CodeType
    parts: dict[str, LiftedPart]
    own: str | None = None

    def calling(self, calls: Sequence[Callable]) -> FunctionType:
        """Returns the function as one that calls the given functions in the place of its parts, and itself where it calls itself.

        calls: one per part, in the order of `parts`
        """
        cells = dict(zip(self.whole.__code__.co_freevars, self.whole.__closure__ or ()))
        cells |= {name: _cell(call) for name, call in zip(self.parts, calls, strict=True)}
        if self.own is not None:
            cells[self.own] = CellType()
        closure = tuple(cells[name] for name in self.code.co_freevars)
        whole = self.whole
        made = FunctionType(self.code, whole.__globals__, whole.__name__, whole.__defaults__, closure)
        made.__kwdefaults__, made.__qualname__, made.__dict__ = whole.__kwdefaults__, whole.__qualname__, whole.__dict__
        if self.own is not None:
            cells[self.own].cell_contents = made
        return made


def _cell(value: object) -> CellType:
    return CellType(value)
