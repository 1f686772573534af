"""The text of a function in its file, found as Python's own parser finds it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FunctionType

MOST_ENDS = 500  # lines before which a definition may seem to end: more text than that is another one


@dataclass(frozen=True)
class Definition:
    """A Definition is the statement that defines a function, in its file.

    lines: its own lines.
    first: the number of the first of them in the file.
    tree: the statement's syntax; None where no statement is found.
    shift: what is added to a line number of `tree` to get the line of the file.
    """

    lines: tuple[str, ...]
    first: int
    tree: ast.stmt | None
    shift: int


def definition_of(function: FunctionType) -> Definition:
    """Returns the definition of a function, read from its file as that is now.

    Where the file was changed after Python loaded it, it may be that of another function. It ends before the first line that is not
    indented more than its own first line and before which Python can parse it. (`inspect.getsource` looks for the end with patterns
    that take 8 ms to make.)
    Raises OSError or TypeError where there is no text to be had.
    """
    lines, before = inspect.findsource(function)
    lines = lines[before:]
    # An indented function is parsed inside an `if`, not dedented: its columns stay those of the file, and so does
    # the inside of its multi-line strings.
    indented = lines[0][:1] in (" ", "\t")
    for end in islice(_ends(lines), MOST_ENDS):
        try:
            module = ast.parse("".join(("if 1:\n" * indented, *lines[:end])))
        except SyntaxError:
            continue
        first = module.body[0] if module.body else None
        body = first.body if isinstance(first, ast.If) and indented else module.body
        if body and body[0].end_lineno is not None:
            return Definition(tuple(lines[: body[0].end_lineno - indented]), before + 1, body[0], before - indented)
        break
    return Definition((), before + 1, None, before)


def code_text(code: CodeType) -> str:
    """Returns the bytecode of a function as text that is the same in every process; it has no line numbers.

    >>> code_text((lambda x: x + 1).__code__) == code_text((lambda x: x + 2).__code__)
    False
    """
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    constants = ", ".join(map(_constant, code.co_consts))
    return f"{code.co_name} {code.co_code.hex()} {names} {counts} ({constants})"


def names_outside(code: CodeType) -> tuple[str, ...]:
    """Returns the names of globals, builtins and attributes in the bytecode of a function and of all functions, lambdas and generators
    inside of it, each once.

    >>> names_outside((lambda x: [y + a for y in sorted(x)]).__code__)
    ('sorted', 'a')
    """
    inside = (names_outside(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for names in inside for name in names))))


def _constant(value: object) -> str:
    """Returns a text for a constant of bytecode that is the same in every process: a frozenset is sorted."""
    if isinstance(value, CodeType):
        return code_text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, frozenset):  # its order differs from process to process
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    return f"{type(value).__name__} {value!r}"


def _ends(lines: Sequence[str]) -> Iterator[int]:
    """Yields how many lines a definition at the beginning of `lines` may have, the smallest number first.

    It may end before each later line that is not indented more than the first one, and at the end of `lines`.
    """
    margin = _indentation(lines[0])
    for number, line in enumerate(lines):
        text = line.strip()
        if number and text and not text.startswith("#") and _indentation(line) <= margin:
            yield number
    yield len(lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
