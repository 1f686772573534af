"""Loop lifting: the affine parts of a function that is not affine as a whole become functions of their own, which can be compiled.

    while change > 1e-6:                                   while change > 1e-6:
        new[1:-1] = (old[:-2] + old[2:]) / 2        ->         old, new, change = _part0(new, old)
        change = np.abs(new - old).max()
        old, new = new, old
    return np.linalg.norm(old)                             return np.linalg.norm(old)

Python runs the statement that was refused, and a part is a function of the names that it reads, which returns those that
are read later. If a part is refused in turn, parts are lifted from it in the same way. (Numba has the word for loops.)
"""

from __future__ import annotations

import ast
import copy
import linecache
import sys
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from types import CodeType, FunctionType

from polyml.errors import LanguageError
from polyml.frontend import attributes
from polyml.frontend.lifting import live_variables
from polyml.frontend.lifting.lifted_function import LiftedFunction, LiftedPart
from polyml.frontend.lifting.names_in_text import (
    SCOPES,
    binds_view,
    definitely_assigned,
    loaded,
    names_of_inner_functions,
    stored,
    subscripts_of,
    unstable_names,
    upward_exposed,
)
from polyml.frontend.parsing.source_text import FUTURES, definition, last_line, text_of
from polyml.source import Loc, Source

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.While, ast.If, ast.Pass)
_UNLIFTABLE = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.NamedExpr, ast.Raise, ast.Assert,
    ast.Try, ast.With, ast.Match, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ListComp, ast.SetComp, ast.DictComp, *SCOPES,
)  # fmt: skip
_FRAME_NAMES = {"locals", "vars", "dir", "eval", "exec", "globals", "__class__", "super", "breakpoint", "_getframe", "currentframe"}
_parts: set[CodeType] = set()


def lift_parts(
    function: FunctionType, refused: Collection[Loc], without: Set[tuple[int, int]] = frozenset(), own: str | None = None, *,
    regions: bool = False,
) -> LiftedFunction | None:  # fmt: skip
    """Returns a function with the parts of it that can be compiled as functions of their own, and calls of them in their place.

    None is returned where there is no part that can stand alone and the function does not call itself.

    refused: the places of statements that belong to no part
    without: the (first, last) lines of parts that stay as they are
    own: the name that stands for the kernel in the function's text, by which the function may call itself
    regions: whether a refused statement may be a part by itself, beside others
    """
    try:
        text = text_of(function)
    except LanguageError:
        return None
    tree = ast.increment_lineno(copy.deepcopy(text.tree), text.shift)
    if _may_see_frame(tree):
        return None
    lifter = _PartLifter(function, tree, tuple((at.line, at.column - 1) for at in refused), text.source, without, regions)
    own = own if own in live_variables.loaded(tree) and own not in lifter.bound_names else None
    found = [stmt for stmt in tree.body if lifter.is_refused(stmt)]
    if not (function.__code__ in _parts and (not found or any(isinstance(stmt, ast.Return) for stmt in found))):
        tree.body = lifter.block(
            tree.body, {a.arg for a in _parameters(tree)}
        )  # otherwise the refused statement is in a function that is called
    if not lifter.parts and own is None:
        return None
    tree.decorator_list, tree.returns = [], None
    free = dict.fromkeys([*function.__code__.co_freevars, *lifter.parts, *([] if own is None else [own])])
    code = function_code(tree, function, function.__code__.co_filename, list(free))
    return LiftedFunction(function, code, lifter.parts, own)


def where_read(function: FunctionType, names: Set[str]) -> tuple[Loc, ...]:
    """Returns the places of a function's statements that read one of its parameters `names`, in order.

    Reads of attributes do not count, nor do those behind a statement that may bind the name anew.
    """
    try:
        text = text_of(function)
    except LanguageError:
        return ()
    replacer = attributes.AttributeReplacer(attributes.liftable_attributes(text.tree, set(function.__code__.co_varnames)))
    tree = replacer.visit(copy.deepcopy(text.tree))
    found: list[Loc] = []

    def look(body: Sequence[ast.stmt], wanted: Set[str]) -> Set[str]:
        for stmt in body:
            inside = [getattr(stmt, name) for name in ("body", "orelse")] if isinstance(stmt, (ast.If, ast.For, ast.While)) else []
            head = getattr(stmt, "test", None) or getattr(stmt, "iter", None) if inside else stmt
            if head is not None and live_variables.loaded(head) & wanted:
                found.append(text.loc(stmt))
            for each in inside:
                look(each, wanted)
            wanted = wanted - set(stored([stmt]))
        return wanted

    look(tree.body, names)
    return tuple(found)


def _may_see_frame(tree: ast.FunctionDef) -> bool:
    """Returns whether the function may look at its own frame, or has names such as __x, which Python renames inside a class."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    }
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return bool(names & _FRAME_NAMES) or any(name.startswith("__") and not name.endswith("__") for name in names)


def _jumps_out(stmt: ast.stmt) -> bool:
    """Returns whether a `break` or `continue` in a statement leads out of it."""
    if isinstance(stmt, (ast.Break, ast.Continue)):
        return True
    inside = stmt.orelse if isinstance(stmt, (ast.For, ast.While)) else [*getattr(stmt, "body", ()), *getattr(stmt, "orelse", ())]
    return any(map(_jumps_out, inside))


def _makes_list(stmt: ast.stmt) -> bool:
    """Returns whether a statement binds a name to a new list, which a part cannot hand on."""
    values = (node.value for node in ast.walk(stmt) if isinstance(node, ast.Assign))
    operands = ((value.left, value.right) if isinstance(value, ast.BinOp) else (value,) for value in values)
    return any(isinstance(operand, ast.List) for both in operands for operand in both)


def _parameters(tree: ast.FunctionDef) -> list[ast.arg]:
    given = tree.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]


@dataclass
class _PartLifter:
    """A _PartLifter replaces parts of one function's syntax tree, which can be compiled alone, by calls of functions.

    at: the lines and columns of the statements that are refused
    without: the (first, last) lines of parts that stay as they are
    regions: whether a refused statement may be a part by itself, beside others
    parts: the parts that were lifted so far, by the names of their functions
    """

    function: FunctionType
    tree: ast.FunctionDef
    at: tuple[tuple[int, int], ...]
    source: Source
    without: Set[tuple[int, int]]
    regions: bool = False
    parts: dict[str, LiftedPart] = field(default_factory=dict)

    def __post_init__(self):
        self._parameters = {a.arg for a in _parameters(self.tree)}
        code = self.function.__code__  # knows the names of imports, inner functions and `except ... as` too
        self._locals = self._parameters | set(stored(self.tree.body)) | {*code.co_varnames, *code.co_cellvars}
        self._names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | self._locals
        self._live = live_variables.live_after(self.tree.body)
        self._attributes = attributes.liftable_attributes(self.tree, self._names)
        self._unstable, self._inner = unstable_names(self.tree), names_of_inner_functions(self.tree)

    @property
    def bound_names(self) -> set[str]:
        """Returns the names that the function binds in whatever way: parameters, locals, and those of `global` and `nonlocal`."""
        return {*self.function.__code__.co_varnames, *self.function.__code__.co_cellvars} | self._unstable

    def block(self, body: Sequence[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """Returns a block with the parts that can be compiled alone, also those inside its statements, replaced by calls.

        bound: the names that certainly have a value where the block starts
        """
        bound, made, run = set(bound), [], []
        for stmt in body:
            if self._is_liftable(stmt):
                run.append(stmt)
                continue
            made += self._lifted(run, bound)
            bound |= definitely_assigned(run)
            run = []
            made += self._region(stmt, bound, beside=[other for other in body if other is not stmt])
            bound |= definitely_assigned([stmt])
        return [*made, *self._lifted(run, bound)]

    def _lifted(self, body: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """Returns what stands in the place of some liftable statements: a call of a part, or parts inside of them where a number that
        is read later may have no value where they end.
        """
        if not body or not any(map(self._is_work, body)) or self._reads(body) <= bound:
            return self._part(body, bound)
        made = []
        for stmt in body:
            made.append(self._with_parts_lifted(stmt, bound))
            bound = bound | definitely_assigned([stmt])
        return made

    def _reads(self, body: list[ast.stmt]) -> set[str]:
        """Returns the names whose values a part of these statements takes: those that it reads, and those that it may not assign."""
        out = set(stored(body)) & self._live[id(body[-1])]
        return upward_exposed(body, set()) & self._locals | out - definitely_assigned(body)

    def _region(self, stmt: ast.stmt, bound: set[str], beside: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Returns what stands in the place of a statement that is in no part with others: a call of a part of its own where it is worth
        one, else the statement with parts inside of it.

        bound: the names that certainly have a value before the statement
        beside: the other statements of its block; without work among them, the statement is all that the function does
        """
        if self.regions and any(map(self._is_work, beside)) and self._is_simple(stmt):
            part = self._part([stmt], bound)
            if part[0] is not stmt:
                return part
        return [self._with_parts_lifted(stmt, bound)]

    def _is_liftable(self, stmt: ast.stmt) -> bool:
        """Returns whether a statement may be in a part, which is compiled as a function of its own.

        It may be where it is an assignment, a call, a for, an if or pass, nothing in it is refused, it binds no name that inner
        functions see, and reads none that other code may bind.
        """
        return not self.is_refused(stmt) and self._is_simple(stmt)

    def _is_simple(self, stmt: ast.stmt) -> bool:
        """Returns whether a statement may be in a part as far as its kind and its names tell."""
        if not isinstance(stmt, _SIMPLE) or _jumps_out(stmt):
            return False
        if any(isinstance(node, _UNLIFTABLE) for node in ast.walk(stmt)) or _makes_list(stmt):
            return False
        bound = set(stored([stmt]))
        return not bound & self._inner and not (bound | live_variables.loaded(stmt)) & (self._unstable | {self.tree.name})

    def is_refused(self, node: ast.stmt | ast.expr) -> bool:
        """Returns whether a refused statement starts inside the node."""
        first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return any(first <= at < last for at in self.at)

    def _with_parts_lifted(self, stmt: ast.stmt, bound: set[str]) -> ast.stmt:
        """Replaces the parts inside a statement that is no part itself by calls, in place, and returns the statement.

        Statements such as `try`, which may catch an exception in the middle of a block, are left as they are.

        bound: the names that certainly have a value before the statement
        """
        if isinstance(stmt, ast.For):
            stmt.body = self.block(stmt.body, bound | set(stored([ast.Assign([stmt.target], stmt.iter)])))
            stmt.orelse = self.block(stmt.orelse, bound)
        elif isinstance(stmt, ast.While):
            stmt.test = self._value(stmt.test, bound)
            stmt.body = self.block(stmt.body, bound)
            stmt.orelse = self.block(stmt.orelse, bound)
        elif isinstance(stmt, ast.Return) and stmt.value is not None:
            stmt.value = self._value(stmt.value, bound)
        elif isinstance(stmt, ast.If):
            stmt.test = self._value(stmt.test, bound)
            stmt.body, stmt.orelse = (self.block(b, bound) for b in (stmt.body, stmt.orelse))
        return stmt

    def _part(self, body: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """Returns what stands in the place of some liftable statements: a call of a part, a function of its own that runs them.

        A statement that gives a name to a view of an array stays as it is, between a part before it and one behind it. Where the
        statements cannot be a part, they themselves are returned.

        bound: the names that certainly have a value before the statements
        """
        if not body or not any(map(self._is_work, body)):
            return body
        reads, out = self._reads(body), set(stored(body)) & self._live[id(body[-1])]
        view = next((k for k, stmt in enumerate(body) if binds_view(stmt) and set(stored([stmt])) & out), None)
        if view is not None:  # a part cannot return a view, and Python binds it at once
            before, stmt, behind = body[:view], body[view], body[view + 1 :]
            known = bound | definitely_assigned(before)
            return [*self._part(before, bound), stmt, *self._part(behind, known | definitely_assigned([stmt]))]
        if not reads <= bound:
            return body
        first, last = span = body[0].lineno, last_line(body[-1])
        if span in self.without:
            return body
        names, results = sorted(reads), sorted(out)
        call = self._call(self._lines(first, last), results, span, body, names)
        if call is None:
            return body
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in results], ast.Store())
        stmt = ast.Assign([target if len(results) > 1 else target.elts[0]], call) if results else ast.Expr(call)
        return [ast.fix_missing_locations(ast.copy_location(stmt, body[0]))]

    def _is_work(self, stmt: ast.stmt) -> bool:
        """Returns whether a statement may be worth compiling: whether it has a loop, an operation, a call or a slice.

        Adding a constant to a local name, as `count += 1` does, is not worth it, unless the name is a parameter.
        """
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.target, ast.Name):
            return stmt.target.id in self._parameters
        return any(isinstance(node, (ast.For, ast.While, ast.BinOp, ast.Call, ast.Slice)) for node in ast.walk(stmt))

    def _value(self, value: ast.expr, bound: set[str]) -> ast.expr:
        """Returns a call of a new part that computes an expression, which is a condition or the value of a return.

        The expression itself is returned where it can be no part.

        bound: the names that certainly have a value before it
        """
        reads = {name for name, _ in loaded([ast.Expr(value)])} & self._locals
        is_work = any(isinstance(node, (ast.Call, ast.BinOp)) for node in ast.walk(value))
        if (
            not is_work
            or not reads <= bound
            or live_variables.loaded(value) & (self._unstable | {self.tree.name})
            or self.is_refused(value)
        ):
            return value
        if any(isinstance(node, _UNLIFTABLE) for node in ast.walk(value)):
            return value
        span = value.lineno, last_line(value)
        if span in self.without:
            return value
        names = sorted(reads)
        lines = self._lines(*span)
        lines[-1] = lines[-1][: value.end_col_offset] + b")"
        lines[0] = b" " * (value.col_offset - 8) + b"return (" + lines[0][value.col_offset :]
        call = self._call(lines, [], span, [ast.copy_location(ast.Return(value), value)], names) if value.col_offset > 8 else None
        return value if call is None else ast.fix_missing_locations(ast.copy_location(call, value))

    def _lines(self, first: int, last: int) -> list[bytes]:
        return [self.source.line(n).encode() for n in range(first, last + 1)]

    def _call(
        self, lines: list[bytes], results: list[str], span: tuple[int, int], body: Sequence[ast.stmt], names: list[str]
    ) -> ast.Call | None:
        """Adds a part to `parts`, and returns a call of it; None where the statements cannot be a part.

        lines: the part's text
        results: the names whose values the part returns
        span: the first and the last line of the part in the file
        body: the statements of the part
        names: the parameters of the part
        """
        end = [f"{' ' * body[0].col_offset}return {', '.join(results)}"] if results else []
        function = self._function(lines, end, span, body, names)
        replacer = attributes.AttributeReplacer(self._attributes)
        lifted_body = [replacer.visit(copy.deepcopy(stmt)) for stmt in body]
        still_read = {name for stmt in lifted_body for name in live_variables.loaded(stmt)} | set(results)
        kept = [n for n in names if n in still_read]
        lifted = function
        if replacer.used and function is not None:
            new = list(lines)
            for line, start, stop in attributes.positions(body, self._attributes):
                text = new[line - span[0]]
                new[line - span[0]] = text[:start] + text[start:stop].replace(b".", b"_") + text[stop:]
            lifted = self._function(new, end, span, lifted_body, [*kept, *sorted(replacer.used)])
        if function is None or lifted is None:
            return None
        values = [(names.index(n), None) for n in (kept if replacer.used else names)]
        for name in sorted(replacer.used):
            base, attr = self._attributes[name]
            values.append((names.index(base), attr))
        name = next(n for k in count() if (n := f"_part{k}") not in self.parts and n not in self._names)
        loops = any(isinstance(node, (ast.For, ast.While)) for stmt in body for node in ast.walk(stmt))
        taken, given = subscripts_of(lifted_body), lifted.__code__.co_varnames
        subscripted = tuple((k, taken[given[k]]) for k in range(len(values)) if given[k] in taken)
        self.parts[name] = LiftedPart(function, lifted, tuple(values), span, loops, subscripted)
        return ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in names], [])

    def _function(
        self, lines: list[bytes], end: list[str], span: tuple[int, int], body: Sequence[ast.stmt], names: list[str]
    ) -> FunctionType | None:
        header = f"def {self.tree.name}({', '.join(names)}):"
        return self._made([header, *(line.decode() for line in lines), *end], span, body)

    def _made(self, lines: list[str], span: tuple[int, int], body: Sequence[ast.stmt]) -> FunctionType | None:
        """Returns the function whose text is `lines`, and enters the text into linecache, from which tracebacks show lines.

        None is returned where the text does not parse to the statements `body`.

        lines: the text; its second line is the part's first line in the file
        span: the first and the last line of the part in the file
        """
        first, last = span
        text = "\n" * (first - 2) + "\n".join(lines) + "\n"
        try:
            tree = definition(ast.parse(text))
        except (SyntaxError, IndexError, TypeError):
            return None
        if [ast.dump(stmt) for stmt in tree.body[: len(body)]] != [ast.dump(stmt) for stmt in body] or first < 2:
            return None
        file = f"{self.function.__code__.co_filename} (lines {first} to {last})"
        code = function_code(tree, self.function, file, self.function.__code__.co_freevars)
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or ()))
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        _parts.add(code)
        closure = tuple(cells[name] for name in code.co_freevars)
        return FunctionType(code, self.function.__globals__, self.function.__name__, None, closure)


def function_code(tree: ast.FunctionDef, function: FunctionType, file: str, free: Sequence[str]) -> CodeType:
    """Returns the compiled code of a definition.

    function: the function whose flags and qualified name the code gets
    file: the name of the file that the code says it is from
    free: the names that are free in the definition, bound by closure cells
    """
    outer = ast.parse(f"def outer({', '.join(free)}):\n    pass")
    definition(outer).body = [tree] if tree.name in free else [ast.Global([tree.name]), tree]
    flags = function.__code__.co_flags & FUTURES
    compiled = compile(ast.fix_missing_locations(outer), file, "exec", flags=flags, dont_inherit=True)
    (made,) = (c for c in compiled.co_consts if isinstance(c, CodeType))
    code = next(c for c in made.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    made_code = code.replace(co_firstlineno=max(1, tree.lineno))
    if sys.version_info < (3, 11):
        return made_code
    return made_code.replace(co_qualname=function.__code__.co_qualname)
