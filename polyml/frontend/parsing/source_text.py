"""A function's text: where it is, and where in the file each node of its syntax tree stands."""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

from polyml.errors import LanguageError
from polyml.reading.function_source import definition_of, names_outside
from polyml.source import Loc, Source

Written = ast.stmt | ast.expr | ast.keyword | ast.arg  # nodes that have a place in the text

REWRITTEN = "polyml_rewritten"  # the attribute of a function that has its definition, where that is not what its file has
FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


@dataclass(frozen=True)
class FunctionText:
    """A FunctionText is a function's source, and its definition as a syntax tree of Python's own parser.

    shift: what to add to a line number of `tree` to get the line of the file
    """

    source: Source
    tree: ast.FunctionDef
    shift: int

    def loc(self, node: Written, end: Written | None = None) -> Loc:
        """Returns the place of `node` in the file; where `end` is given, the place from the start of `node` to the end of `end`.

        A place is on one line: of a node on several lines it is the part on the first. Python counts columns in bytes of UTF-8 from
        0, a Loc in characters from 1.
        """
        line = node.lineno + self.shift
        text = self.source.line(line)
        start = _characters(text, node.col_offset)
        last = end or node
        same_line = last.end_lineno == node.lineno
        stop = _characters(text, last.end_col_offset or 0) if same_line else len(text.rstrip())
        return Loc(self.source, line, start + 1, max(1, stop - start))


def _characters(line: str, byte_offset: int) -> int:
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


def text_of(function: FunctionType) -> FunctionText:
    """Returns the text of a Python function.

    Raises LanguageError for what is not written with `def`, and where the text cannot be read or has changed since its import.
    """
    if not isinstance(function, FunctionType):
        raise LanguageError(
            f"{_described(function)} is not a Python function", notes=["accepted: a function written with `def`"], code="PML-F060"
        )
    name = function.__name__
    if name == "<lambda>":
        raise LanguageError("a lambda cannot be a kernel", notes=["accepted: a function written with `def`"], code="PML-F060")
    try:
        found = definition_of(function)
    except (OSError, TypeError) as problem:
        raise LanguageError(
            f"the source of `{name}` cannot be read: {problem}",
            notes=["define it in a file or a notebook cell; text given to exec() must be registered in linecache"],
            code="PML-F060",
        ) from problem
    tree = vars(function).get(REWRITTEN, found.tree)
    if isinstance(tree, ast.AsyncFunctionDef):
        raise LanguageError(
            "an async function cannot be a kernel", notes=["accepted: a function written with `def`"], code="PML-F060"
        )
    if not isinstance(tree, ast.FunctionDef) or not _compiles_to(tree, function):
        raise _stale(function)
    source = Source(function.__code__.co_filename, found.first, tuple(line.rstrip("\r\n") for line in found.lines))
    return FunctionText(source, tree, found.shift)


def _compiles_to(tree: ast.FunctionDef, function: FunctionType) -> bool:
    """Returns whether a definition, read from the function's file as it is now, compiles to the code that the function has.

    Python compiles `np.sqrt(x)` in one of two ways, depending on whether the text imports `np`. So three texts are compared: the
    definition alone, the definition behind imports of the modules that it uses, and the whole file.
    """
    code = function.__code__
    modules = [name for name in names_outside(code) if isinstance(function.__globals__.get(name), ModuleType)]
    file = "".join(linecache.getlines(code.co_filename, function.__globals__))
    return any(
        _yields(make, code) for make in (lambda: _module(tree, code, ()), lambda: _module(tree, code, modules), lambda: file)
    )


def definition(module: ast.Module) -> ast.FunctionDef:
    """Returns the function that a module's syntax tree begins with.

    Raises TypeError where it begins with something else.
    """
    first = module.body[0]
    if not isinstance(first, ast.FunctionDef):
        raise TypeError(f"not a function: {ast.dump(first)}")
    return first


def last_line(node: Written) -> int:
    """Returns the number of the line on which a node of Python's syntax tree ends."""
    return node.lineno if node.end_lineno is None else node.end_lineno


def _module(tree: ast.FunctionDef, code: CodeType, imports: Sequence[str]) -> ast.Module:
    bare = copy.copy(tree)
    bare.decorator_list = []
    module = ast.parse("".join(f"import {name}\n" for name in imports))
    if code.co_freevars:  # they are free only inside a function that has them
        outer = definition(ast.parse(f"def outer():\n    {' = '.join(code.co_freevars)} = None\n    pass"))
        outer.body[-1] = bare
        bare = outer
    module.body.append(bare)
    return module


def _yields(text: Callable[[], ast.Module | str], code: CodeType) -> bool:
    try:
        compiled = compile(text(), code.co_filename, "exec", flags=code.co_flags & FUTURES, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(_same(candidate, code) for candidate in _codes(compiled))


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    return one.co_name == other.co_name and _content(one) == _content(other)


def _content(code: CodeType) -> tuple:
    constants = [_content(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount


def _stale(function: FunctionType) -> LanguageError:
    code = function.__code__
    first = code.co_firstlineno
    line = linecache.getline(code.co_filename, first).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    return LanguageError(
        f"the text at {code.co_filename}:{first} is not the function `{function.__name__}`",
        loc=Loc(Source(code.co_filename, first, (line,)), first, indent + 1, max(1, len(line) - indent)),
        notes=["the file has changed since it was imported: import it again"],
        code="PML-F060",
    )


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    return f"`{name}`" if isinstance(name, str) else f"a {type(value).__name__}"
