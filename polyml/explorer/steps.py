"""Steps of a schedule script as texts, `interchange("i", "j")`: read from a page, written for one, and applied to a schedule."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass

from polyml.errors import ScheduleError
from polyml.reading.input_limits import excess, shown
from polyml.schedule.script.schedule import Schedule

METHODS = (
    "tile", "interchange", "skew", "fuse", "distribute", "shift", "reverse", "split",
    "parallel", "vectorize", "unroll_jam", "pack", "isolate", "plain",
)  # fmt: skip
_LONGEST, _DEEPEST = 1_000, 10  # characters of a step, and brackets in one another

Argument = str | int | dict[str, int]


@dataclass(frozen=True)
class Step:
    """A step is one call of a method of `Schedule`.

    method: its name, one of METHODS.
    args: its arguments: names of loops, numbers, or sizes by loop.
    named: its arguments that are given by name.
    """

    method: str
    args: tuple[Argument, ...] = ()
    named: tuple[tuple[str, Argument], ...] = ()

    @property
    def text(self) -> str:
        """Returns the step as Python's text, `tile({"S1.i": 32})`.

        >>> Step("shift", ("i",), (("S1", 1),)).text
        'shift("i", S1=1)'
        """
        words = [json.dumps(value) for value in self.args] + [f"{name}={json.dumps(value)}" for name, value in self.named]
        return f"{self.method}({', '.join(words)})"

    def applied(self, schedule: Schedule) -> Schedule:
        """Returns the schedule after the step. Raises ScheduleError or IllegalSchedule, as its method does."""
        try:
            return getattr(schedule, self.method)(*self.args, **dict(self.named))
        except TypeError:  # of Python, for arguments that the method does not have
            notes = ['as in tile({"i": 32}), interchange("i", "j"), skew("j", "i", 1) or fuse("S0.i", "S1.i")']
            raise ScheduleError(f"{self.method} does not take these arguments: {self.text}", notes=notes) from None


def parse(text: object) -> Step:
    """Returns the step that a text says. Raises ScheduleError for another text; nothing of it is run.

    >>> parse("tile({'i': 4, 'j': 8})").text
    'tile({"i": 4, "j": 8})'
    """
    if not isinstance(text, str) or excess(text, _LONGEST, _DEEPEST):
        raise ScheduleError(f"a step is a short text, not {shown(text)}", notes=_EXPECTED)
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("not a call")
        args = tuple(_argument(each) for each in call.args)
        named = tuple((each.arg or "", _argument(each.value)) for each in call.keywords)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ScheduleError(f"{shown(text)} is no step", notes=_EXPECTED) from None
    if call.func.id not in METHODS or any(not name for name, _ in named):
        raise ScheduleError(f"there is no step {shown(call.func.id)}", notes=_EXPECTED)
    return Step(call.func.id, args, named)


_EXPECTED = [f"steps: {', '.join(METHODS)}", 'as in tile({"i": 32}) or interchange("i", "j")']


def _argument(node: ast.expr) -> Argument:
    """Returns the value of an argument: a text, an integer, or sizes by loop. Raises ValueError for anything else."""
    value = ast.literal_eval(node)
    if type(value) in (str, int):
        return value
    if type(value) is dict and all(type(name) is str and type(size) is int for name, size in value.items()):
        return value
    raise ValueError("no argument of a step")
