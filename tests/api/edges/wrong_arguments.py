"""Arguments that no public method takes, and calls with them whose errors are polyml's."""

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from polyml.errors import PolymlError


class Hostile:
    """A value of which nothing can be asked: each of these methods raises an error that is not polyml's."""

    def _fails(self, *args):
        raise RuntimeError("hostile")

    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __fspath__ = __index__ = __int__ = __lt__ = _fails


class HostileText(str):
    """A text of which no copy can be printed."""

    def __repr__(self):
        raise RuntimeError("hostile")

    __str__ = __repr__


class HostileNumber(int):
    """A number that cannot be compared."""

    def __repr__(self):
        raise RuntimeError("hostile")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __hash__ = __str__ = lambda *_: HostileNumber.__repr__(None)


NAMES = [
    "i",
    "j",
    "S0",
    "S0.i",
    "A",
    "sideways",
    "",
    " ",
    ".",
    "S0.",
    "\u00e4\u4e2d\N{ROCKET}",
    "\ud800",
    "\x00",
    "i" * 5000,
    "(" * 500,
    "f64[:]",
]
NUMBERS = [0, 1, 2, -1, -(2**70), 2**31, 2**63, 10**4000, 1.5, float("nan"), float("inf"), True, False, 1j]
ODD = [
    None,
    [],
    [1, 2],
    [[]],
    (),
    ("i", "j"),
    {},
    {"i": 0},
    {1: 2},
    {"": "i"},
    {None: None},
    {"i": {}},
    {"A_0": "x"},
    set(),
    b"i",
    object,
    len,
    ...,
]
HOSTILE = [Hostile(), HostileText("i"), HostileText("sideways"), HostileNumber(4), [Hostile()], {"i": Hostile()}]
VALUES = [*NAMES, *NUMBERS, *ODD, *HOSTILE, np.ones((4, 4)), np.ones(3), np.ones(0), np.array("i", dtype=object)]


def methods(owner: type) -> list[str]:
    """The names of the public methods of a class."""
    return [name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name))]


def calls_of(method: Callable[..., object]) -> st.SearchStrategy[tuple[list[object], dict[str, object]]]:
    """Positional and named arguments for a method: as many and such as it may have, any of `VALUES`."""
    values = st.integers(0, len(VALUES) - 1).map(VALUES.__getitem__)  # not sampled_from, which compares them
    names = [p.name for p in inspect.signature(method).parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return st.tuples(
        st.lists(values, max_size=3), st.dictionaries(st.sampled_from([*names, "i", "S0", "sideways"]), values, max_size=2)
    )


def outcome(method: Callable[..., object], args: Sequence[object], named: Mapping[str, object]) -> str:
    """Calls a method. Returns "" if it returns, raises an error of polyml that can be printed, or if the arguments are not
    as many or called as the method has them; else the error as a text, with the line that raised it."""
    try:
        method(*args, **named)
    except PolymlError as error:
        return told(error) if not str(error).strip() else ""
    except Exception as error:
        return "" if is_of_the_call(error, method, args, named) else told(error)
    return ""


def is_of_the_call(error: Exception, method: Callable[..., object], args: Sequence[object], named: Mapping[str, object]) -> bool:
    """Whether Python itself refuses the number or the names of the arguments."""
    try:
        inspect.signature(method).bind(*args, **named)
    except TypeError:
        return isinstance(error, TypeError)
    return False


def told(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {error} at {frames[-1].filename}:{frames[-1].lineno}" if frames else type(error).__name__
