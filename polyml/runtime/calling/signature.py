"""Python's rules for arguments, for functions whose parameters all have names."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from polyml.errors import PolymlTypeError


def parameters(function: FunctionType) -> tuple[str, ...]:
    """Returns the names of a function's parameters, keyword-only ones last."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def bound(function: FunctionType, args: tuple, kwargs: Mapping[str, object]) -> tuple[object, ...]:
    """Returns one value per parameter of a function, from a call's arguments and the defaults.

    Raises PolymlTypeError if the arguments do not fit the parameters.
    """
    names, code = parameters(function), function.__code__
    positional = names[: code.co_argcount]
    if len(args) > len(positional):
        raise _misfit(function, f"takes {_count(len(positional))}, {len(args)} given")
    values = dict(zip(positional, args))
    for name, value in kwargs.items():
        if name not in names:
            raise _misfit(function, f"has no parameter `{name}`")
        if name in names[: code.co_posonlyargcount]:
            raise _misfit(function, f"takes `{name}` by position only")
        if name in values:
            raise _misfit(function, f"got `{name}` twice")
        values[name] = value
    values = {**_defaults(function, positional), **values}
    missing = [name for name in names if name not in values]
    if missing:
        raise _misfit(function, f"is missing {', '.join(f'`{name}`' for name in missing)}")
    return tuple(values[name] for name in names)


def _defaults(function: FunctionType, positional: tuple[str, ...]) -> dict[str, object]:
    values = function.__defaults__ or ()
    return {**dict(zip(positional[len(positional) - len(values) :], values)), **(function.__kwdefaults__ or {})}


def _count(number: int) -> str:
    return f"{number} positional argument{'' if number == 1 else 's'}"


def _misfit(function: FunctionType, problem: str) -> PolymlTypeError:
    signature = f"{function.__name__}({', '.join(parameters(function))})"
    return PolymlTypeError(f"{function.__name__}() {problem}", notes=[f"it is {signature}"])
