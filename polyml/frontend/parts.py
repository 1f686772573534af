"""A function that is not affine as a whole: what is stays in parts of its own, which can be compiled.

    while change > 1e-6:                                   while change > 1e-6:
        new[1:-1] = (old[:-2] + old[2:]) / 2        ->         old, new, change = _part0(new, old)
        change = np.abs(new - old).max()
        old, new = new, old
    return np.linalg.norm(old)                             return np.linalg.norm(old)

Python runs the statement that was refused, and a part is a function of the names that it reads, which returns those that
are read later. A part that is refused in turn is taken apart in the same way.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from types import CodeType, FunctionType

import numpy as np

from polyml.errors import LanguageError
from polyml.frontend.text import FUTURES, text_of
from polyml.source import Loc, Source

BULK = 256  # elements from which an array makes a part without loops worth a call
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.If, ast.Pass)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.While, *_SCOPES)
_HIDING = (
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Delete, ast.Await, ast.Try, ast.Match,
    ast.Import, ast.ImportFrom,
)  # fmt: skip
_parts: set[CodeType] = set()


@dataclass(frozen=True)
class Part:
    """function: the statements of a part, or the value of a condition, on these lines of the file. loops: it has loops.

    wholes: (position of an argument, number of subscripts it is read with at least): an array with more dimensions than
    that takes part as a whole.
    """

    function: FunctionType
    lines: tuple[int, int]
    loops: bool
    wholes: tuple[tuple[int, int], ...]

    def is_worth_it(self, values: Sequence[object]) -> bool:
        """Whether a call does more than a few operations."""
        return self.loops or any(
            isinstance(values[k], np.ndarray) and values[k].ndim > taken and values[k].size >= BULK for k, taken in self.wholes
        )


@dataclass(frozen=True)
class Apart:
    """A function without its parts: by name, the parts that its code calls."""

    whole: FunctionType
    code: CodeType
    parts: dict[str, Part]

    def calling(self, calls: Sequence[Callable]) -> FunctionType:
        """The function with a call for each part, in their order."""
        cells = dict(zip(self.whole.__code__.co_freevars, self.whole.__closure__ or ()))
        cells |= {name: _cell(call) for name, call in zip(self.parts, calls, strict=True)}
        closure = tuple(cells[name] for name in self.code.co_freevars)
        whole = self.whole
        made = FunctionType(self.code, whole.__globals__, whole.__name__, whole.__defaults__, closure)
        made.__kwdefaults__ = whole.__kwdefaults__
        return made


def apart(function: FunctionType, at: Loc, without: Set[tuple[int, int]] = frozenset()) -> Apart | None:
    """The function and its parts, to none of which the statement at the place belongs.

    without: the lines of parts that stay as they are. None where there is no part that can stand alone.
    """
    try:
        text = text_of(function)
    except LanguageError:
        return None
    tree = ast.increment_lineno(copy.deepcopy(text.tree), text.shift)
    if any(isinstance(node, (*_SCOPES, *_HIDING)) for stmt in tree.body for node in ast.walk(stmt)):
        return None
    splitter = _Splitter(function, tree, (at.line, at.column - 1), text.source, without)
    refused = next(filter(splitter.is_refused, tree.body), None)
    if refused is None or function.__code__ in _parts and isinstance(refused, ast.Return):
        return None  # it is in a function that is called, or what a part gives back
    tree.body = splitter.block(tree.body, {a.arg for a in _parameters(tree)}, False)
    if not splitter.parts:
        return None
    tree.decorator_list, tree.returns = [], None
    free = (*function.__code__.co_freevars, *splitter.parts)
    return Apart(function, _function(tree, function, function.__code__.co_filename, free), splitter.parts)


def _parameters(tree: ast.FunctionDef) -> list[ast.arg]:
    given = tree.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]


@dataclass
class _Splitter:
    function: FunctionType
    tree: ast.FunctionDef
    at: tuple[int, int]  # line and column
    source: Source
    without: Set[tuple[int, int]]
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self):
        self._parameters = {a.arg for a in _parameters(self.tree)}
        self._locals = self._parameters | set(_stored(self.tree.body))
        self._names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | self._locals

    def block(self, body: Sequence[ast.stmt], bound: set[str], in_loop: bool) -> list[ast.stmt]:
        """bound: the names that certainly have a value before."""
        bound, made, run = set(bound), [], []
        for stmt in body:
            if self._may_be_in_a_part(stmt):
                run.append(stmt)
                continue
            made += self._part(run, bound, in_loop)
            bound |= _certain(run)
            run = []
            made.append(self._taken_apart(stmt, bound, in_loop))
            bound |= _certain([stmt])
        return [*made, *self._part(run, bound, in_loop)]

    def _may_be_in_a_part(self, stmt: ast.stmt) -> bool:
        if self.is_refused(stmt):
            return False
        return isinstance(stmt, _SIMPLE) and not any(isinstance(node, _LEAVES) for node in ast.walk(stmt))

    def is_refused(self, node: ast.stmt | ast.expr) -> bool:
        return (node.lineno, node.col_offset) <= self.at < (node.end_lineno, node.end_col_offset)

    def _taken_apart(self, stmt: ast.stmt, bound: set[str], in_loop: bool) -> ast.stmt:
        """A statement that stays, with parts inside it."""
        if isinstance(stmt, ast.For):
            stmt.body = self.block(stmt.body, bound | set(_stored([ast.Assign([stmt.target], stmt.iter)])), True)
            stmt.orelse = self.block(stmt.orelse, bound, in_loop)
        elif isinstance(stmt, ast.While):
            stmt.test = self._value(stmt.test, bound)
            stmt.body = self.block(stmt.body, bound, True)
            stmt.orelse = self.block(stmt.orelse, bound, in_loop)
        elif isinstance(stmt, ast.Return) and stmt.value is not None:
            stmt.value = self._value(stmt.value, bound)
        elif isinstance(stmt, ast.If):
            stmt.test = self._value(stmt.test, bound)
            stmt.body, stmt.orelse = (self.block(b, bound, in_loop) for b in (stmt.body, stmt.orelse))
        return stmt

    def _part(self, body: list[ast.stmt], bound: set[str], in_loop: bool) -> list[ast.stmt]:
        """A call of the statements as a part; the statements where they cannot be one."""
        if not any(map(self._is_work, body)):
            return body
        reads, stored = _needed(body, set()) & self._locals, set(_stored(body))
        outside = {name for name, node in _loaded(self.tree.body) if not _within(node, body)}
        out = stored & (outside | (reads if in_loop else set()))
        reads |= out - _certain(body)
        if not reads <= bound:
            return body
        first, last = place = body[0].lineno, body[-1].end_lineno
        if place in self.without:
            return body
        names, results = sorted(reads), sorted(out)
        indent = " " * body[0].col_offset
        lines = [self.source.line(n) for n in range(first, last + 1)]
        end = [f"{indent}return {', '.join(results)}"] if results else []
        function = self._made([f"def {self.tree.name}({', '.join(names)}):", *lines, *end], place, body)
        if function is None:
            return body
        call = self._call(function, place, body, names)
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in results], ast.Store())
        stmt = ast.Assign([target if len(results) > 1 else target.elts[0]], call) if results else ast.Expr(call)
        return [ast.fix_missing_locations(ast.copy_location(stmt, body[0]))]

    def _is_work(self, stmt: ast.stmt) -> bool:
        """Whether the statement may do more than count."""
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.target, ast.Name):
            return stmt.target.id in self._parameters
        return any(isinstance(node, (ast.For, ast.BinOp, ast.Call, ast.Slice)) for node in ast.walk(stmt))

    def _value(self, value: ast.expr, bound: set[str]) -> ast.expr:
        """A call that computes a condition; the condition where it is no work."""
        reads = {name for name, _ in _loaded([ast.Expr(value)])} & self._locals
        is_work = any(isinstance(node, (ast.Call, ast.BinOp)) for node in ast.walk(value))
        if not is_work or not reads <= bound or self.is_refused(value):
            return value
        place = value.lineno, value.end_lineno
        if place in self.without:
            return value
        names = sorted(reads)
        lines = [self.source.line(n).encode() for n in range(value.lineno, value.end_lineno + 1)]
        lines[-1] = lines[-1][: value.end_col_offset] + b")"
        lines[0] = b"    return (" + lines[0][value.col_offset :]
        text = [f"def {self.tree.name}({', '.join(names)}):", *(line.decode() for line in lines)]
        function = self._made(text, place, [ast.Return(value)])
        if function is None:
            return value
        call = self._call(function, place, [ast.Expr(value)], names)
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def _call(
        self, function: FunctionType, place: tuple[int, int], body: Sequence[ast.stmt], names: list[str]
    ) -> ast.Call:
        name = next(n for k in count() if (n := f"_part{k}") not in self.parts and n not in self._names)
        loops = any(isinstance(node, ast.For) for stmt in body for node in ast.walk(stmt))
        taken = _subscripts_of(body)
        self.parts[name] = Part(function, place, loops, tuple((k, taken[n]) for k, n in enumerate(names) if n in taken))
        return ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in names], [])

    def _made(self, lines: list[str], place: tuple[int, int], body: Sequence[ast.stmt]) -> FunctionType | None:
        """The function with this text, whose second line is the first one of the place; None where the text is not that of
        the statements.
        """
        first, last = place
        text = "\n" * (first - 2) + "\n".join(lines) + "\n"
        try:
            tree = ast.parse(text).body[0]
        except (SyntaxError, IndexError):
            return None
        if [ast.dump(stmt) for stmt in tree.body[: len(body)]] != [ast.dump(stmt) for stmt in body] or first < 2:
            return None
        file = f"{self.function.__code__.co_filename} (lines {first} to {last})"
        code = _function(tree, self.function, file, self.function.__code__.co_freevars)
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or ()))
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        _parts.add(code)
        closure = tuple(cells[name] for name in code.co_freevars)
        return FunctionType(code, self.function.__globals__, self.function.__name__, None, closure)


def _function(tree: ast.FunctionDef, function: FunctionType, file: str, free: Sequence[str]) -> CodeType:
    """The code of the definition, with these names free."""
    outer = ast.parse(f"def outer({', '.join(free)}):\n    pass")
    outer.body[0].body = [tree]
    flags = function.__code__.co_flags & FUTURES
    compiled = compile(ast.fix_missing_locations(outer), file, "exec", flags=flags, dont_inherit=True)
    (made,) = (c for c in compiled.co_consts if isinstance(c, CodeType))
    return next(c for c in made.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)


def _cell(value: object):
    return (lambda: value).__closure__[0]


def _loaded(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.Name]]:
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id, node
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, node.target


def _stored(body: Sequence[ast.stmt]) -> Iterator[str]:
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _within(node: ast.AST, body: Sequence[ast.stmt]) -> bool:
    first, last = body[0], body[-1]
    return (first.lineno, first.col_offset) <= (node.lineno, node.col_offset) and (node.end_lineno, node.end_col_offset) <= (
        last.end_lineno,
        last.end_col_offset,
    )


def _certain(body: Sequence[ast.stmt]) -> set[str]:
    """The names that have a value after the statements, whatever happens in them."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, ast.If):
            found |= _certain(stmt.body) & _certain(stmt.orelse)
        elif isinstance(stmt, (ast.Assign, ast.AugAssign, ast.Expr)):
            found |= set(_stored([stmt]))
    return found


def _needed(body: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """The names that may be read before the statements give them a value."""
    bound, needed = set(bound), set()
    for stmt in body:
        if isinstance(stmt, ast.For):
            inside = bound | set(_stored([ast.Assign([stmt.target], stmt.iter)]))
            needed |= {name for name, _ in _loaded([ast.Expr(stmt.iter)])} - bound
            needed |= _needed(stmt.body, inside) | _needed(stmt.orelse, bound)
        elif isinstance(stmt, ast.If):
            needed |= {name for name, _ in _loaded([ast.Expr(stmt.test)])} - bound
            needed |= _needed(stmt.body, bound) | _needed(stmt.orelse, bound)
        else:
            needed |= {name for name, _ in _loaded([stmt])} - bound
        bound |= _certain([stmt])
    return needed


def _subscripts_of(body: Sequence[ast.stmt]) -> dict[str, int]:
    """name -> the least number of numbers that it is subscripted with; 0 where it stands alone or is sliced."""
    found: dict[str, int] = {}
    bases: set[int] = set()
    for stmt in body:
        for node in ast.walk(stmt):
            taken, base = 0, node
            while isinstance(base, ast.Subscript):
                indices = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
                taken += sum(not isinstance(i, ast.Slice) for i in indices)
                base = base.value
            if isinstance(base, ast.Name) and id(base) not in bases:
                bases.add(id(base))
                found[base.id] = min(found.get(base.id, taken), taken)
    return found
