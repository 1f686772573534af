"""A function as the text of a module of its own, in which the names that it takes from outside are bound to the same values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import cast

import numpy as np

from polyml.frontend.captures import is_library, python_function
from polyml.reading.function_source import definition_of
from polyml.reading.numba_signatures import signature_of
from polyml.runtime.calling.guards import captures


def as_module(function: FunctionType) -> str:
    """Returns the text of a module that defines the function, and binds the names that the function takes from outside.

    Captured values other than modules, functions, numbers and texts are left out, since the compiler does not take them; modules of
    the user's own are imported.

    Raises OSError, TypeError or SyntaxError where the function's text cannot be found.
    """
    known = {guard.key: guard.expected for guard in captures(function).guards}
    lines = [line for name, value in sorted(known.items()) for line in _bound(name, value)]
    return "\n".join([*lines, "", "", _own_text(function, with_defaults=False)])


def name_of(function: FunctionType) -> str:
    """Returns the name that the function has in the module of `as_module`: its own, or "kernel" where that is no identifier."""
    return function.__name__ if function.__name__.isidentifier() else "kernel"


def _own_text(function: FunctionType, with_defaults: bool) -> str:
    """Returns the function's text without decorators and annotations, which would need names that the function itself does not.

    with_defaults: whether parameters keep their default values.
    """
    tree = definition_of(function).tree
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"{function.__name__} is no function with a text of its own")
    node = cast(ast.FunctionDef, ast.parse(ast.unparse(tree)).body[0])
    node.decorator_list, node.name, node.returns = [], name_of(function), None
    arguments = node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            each.annotation = None
    if not with_defaults:
        arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kw_defaults)
    return ast.unparse(node) + "\n"


def _bound(name: str, value: object) -> Iterator[str]:
    """Yields the text of statements that bind a name to a value; none for a value that a module's text cannot have."""
    helper = None if signature_of(value) else python_function(value)
    if isinstance(value, ModuleType):
        yield f"import {value.__name__} as {name}"
    elif helper is not None:
        try:
            yield _own_text(helper, with_defaults=True) + (f"{name} = {name_of(helper)}" if name != name_of(helper) else "")
        except (OSError, TypeError, SyntaxError):
            return
    elif isinstance(value, np.ufunc):
        yield f"from numpy import {value.__name__} as {name}"
    elif is_library(value) and value.__module__ != "builtins":
        yield f"from {value.__module__} import {cast(FunctionType, value).__qualname__} as {name}"
    elif isinstance(value, np.number):
        yield f"from numpy import {type(value).__name__} as _{name}\n{name} = _{name}({str(value)!r})"
    elif isinstance(value, (float, complex)) and not isinstance(value, np.generic):
        yield f"{name} = {type(value).__name__}({str(value)!r})"
    elif value is None or type(value) in (bool, int, str, bytes):
        yield f"{name} = {value!r}"
