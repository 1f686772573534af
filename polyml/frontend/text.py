"""Where a function's text is, and where in the file each node of its syntax tree stands."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import FunctionType

from polyml.errors import LanguageError
from polyml.source import Loc, Source


@dataclass(frozen=True)
class Text:
    """A function's source and its `def`, as Python's own parser gives it.

    shift: what to add to a line number of `tree` to get the line of the file.
    """

    source: Source
    tree: ast.FunctionDef
    shift: int

    def loc(self, node: ast.AST, end: ast.AST | None = None) -> Loc:
        """The place of `node` (to the end of `end`): of a node on several lines, its part of the first one.

        Python counts columns in bytes of UTF-8 from 0, a Loc in characters from 1.
        """
        line = node.lineno + self.shift
        text = self.source.line(line)
        start = _characters(text, node.col_offset)
        last = end or node
        same_line = last.end_lineno == node.lineno
        stop = _characters(text, last.end_col_offset) if same_line else len(text.rstrip())
        return Loc(self.source, line, start + 1, max(1, stop - start))


def _characters(line: str, byte_offset: int) -> int:
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


def text_of(function: FunctionType) -> Text:
    """The text of a Python function. LanguageError where there is none to be had."""
    if not isinstance(function, FunctionType):
        raise LanguageError(
            f"{_described(function)} is not a Python function", notes=["a kernel is a function written with `def`"]
        )
    name = function.__name__
    if name == "<lambda>":
        raise LanguageError("a lambda cannot be a kernel", notes=["write the kernel with `def`"])
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as problem:
        raise LanguageError(
            f"the source of `{name}` cannot be read: {problem}",
            notes=["define it in a file or a notebook cell; text given to exec() must be registered in linecache"],
        ) from problem
    source = Source(function.__code__.co_filename, first, tuple(line.rstrip("\r\n") for line in lines))
    return _parsed(function, source, "".join(lines), first)


def _parsed(function: FunctionType, source: Source, text: str, first: int) -> Text:
    # An indented function is parsed inside an `if`, not dedented: its columns stay those of the file, and so does
    # the inside of its multi-line strings.
    indented = text[:1] in " \t"
    try:
        module = ast.parse("if 1:\n" + text if indented else text)
    except SyntaxError as problem:
        raise _stale(function, source) from problem
    body = module.body[0].body if indented else module.body
    tree = body[0] if body else None
    if isinstance(tree, ast.AsyncFunctionDef):
        raise LanguageError("an async function cannot be a kernel", notes=["write it with a plain `def`"])
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not isinstance(tree, ast.FunctionDef) or tree.name != code.co_name or _arguments(tree) != arguments:
        raise _stale(function, source)
    return Text(source, tree, first - 1 - indented)


def _arguments(tree: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs))


def _stale(function: FunctionType, source: Source) -> LanguageError:
    return LanguageError(
        f"the text at {source.file}:{source.first_line} is not the function `{function.__name__}`",
        notes=["the file has changed since it was imported: import it again"],
    )


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    return f"`{name}`" if isinstance(name, str) else f"a {type(value).__name__}"
