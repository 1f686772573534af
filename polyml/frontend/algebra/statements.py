"""Products that statements of one block have in common, and those that one statement makes for another alone.

    C[:] = A @ B + D; E[:] = A @ B * 2   ->   _shared = A @ B; C[:] = _shared + D; E[:] = _shared * 2
    T = A @ B; y = T @ x                 ->   y = (A @ B) @ x      whose product then gets its cheapest order

Both are candidates: they are taken where they are cheaper. A value stays the same between two statements if none between them
binds or changes a name that it reads, or one that may be a view of the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from polyml.frontend import syntax, traversal
from polyml.frontend.algebra.facts import Facts
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Expr, Stmt

SHARED = ("matmul", "dot", "einsum", "sum", "mean")  # what is worth a place in memory, in which it is anyway
_VIEWS = ("transpose", "reshape", "ravel", "swapaxes", "squeeze", "expand_dims", "flip", "moveaxis", "diagonal", "conj", "asarray",
          "ascontiguousarray", "real", "imag", "fliplr", "flipud", "diag", "take")  # fmt: skip


def names_in(expr: Expr) -> frozenset[str]:
    """Returns the names that an expression reads."""
    return frozenset(name for node in traversal.nodes(expr) if (name := traversal.name_of(node)) is not None)


class Memory:
    """A memory knows which names of a kernel may stand for the same memory."""

    def __init__(self, body: Sequence[Stmt]):
        self._groups: dict[str, str] = {}
        for stmt in statements(body):
            if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and not is_new(stmt.value):
                for name in names_in(stmt.value):
                    self._groups[self._first(name)] = self._first(stmt.target.name)

    def _first(self, name: str) -> str:
        while (above := self._groups.get(name, name)) != name:
            name = above
        return name

    def changed(self, stmt: Stmt) -> frozenset[str]:
        """Returns the names that a statement, or one inside it, binds or whose memory it changes; of each group one name."""
        found = set()
        for each in statements((stmt,)):
            match each:
                case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
                    found.add(self._first(name))
                case syntax.Assign(target=target):
                    base: Expr = target
                    while isinstance(base, syntax.Part) or isinstance(base, syntax.Function) and base.args:
                        base = base.base if isinstance(base, syntax.Part) else base.args[0]
                    found |= {self._first(name) for name in names_in(base)}
        return frozenset(found)

    def keeps(self, between: Sequence[Stmt], names: frozenset[str]) -> bool:
        """Returns whether statements leave what is read under these names as it is."""
        read = {self._first(name) for name in names}
        return all(not self.changed(stmt) & read for stmt in between)


def is_new(expr: Expr) -> bool:
    """Returns whether the value of an expression is certainly a number or a new array, which shares no memory with others."""
    if isinstance(expr, syntax.Function):
        return expr.function not in _VIEWS
    return isinstance(expr, (syntax.Binary, syntax.Unary, syntax.Compare, syntax.Const, syntax.Shape, syntax.Cast)) or (
        isinstance(expr, syntax.Call) and expr.function not in _VIEWS
    )


@dataclass(frozen=True)
class Candidate:
    """A candidate is another form of some statements of a block.

    before: the statements that change, by their position.
    after: what stands in the place of each of them; None for one that is left out.
    first: a statement that is added before the first of them; None for none.
    text: what is shared or joined, for `explain`.
    """

    before: tuple[int, ...]
    after: tuple[Stmt | None, ...]
    first: syntax.Assign | None
    text: str

    def renamed(self, name: str) -> Candidate:
        """Returns the candidate with another name for what is shared."""
        if self.first is None:
            return self
        old, new = target_of(self.first), syntax.Name(name, loc=self.first.target.loc)

        def change(expr: Expr) -> Expr:
            return traversal.rename(expr, lambda node: name if traversal.named(node) == old else traversal.named(node))

        after = tuple(None if stmt is None else traversal.map_reads(stmt, change) for stmt in self.after)
        return replace(self, first=replace(self.first, target=new), after=after)

    def applied(self, block: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Returns the block with the candidate's statements."""
        made: list[Stmt] = []
        for place, stmt in enumerate(block):
            if self.first is not None and place == self.before[0]:
                made.append(self.first)
            new = self.after[self.before.index(place)] if place in self.before else stmt
            made += [] if new is None else [new]
        return tuple(made)


def target_of(stmt: syntax.Assign) -> str:
    """Returns the name that an assignment binds."""
    if not isinstance(stmt.target, syntax.Name):
        raise TypeError(f"it binds no name: {stmt!r}")
    return stmt.target.name


def names_of(stmt: Stmt) -> Iterator[str]:
    """Yields the names that a statement itself binds."""
    match stmt:
        case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
            yield name


def candidates(
    block: Sequence[Stmt], at: Sequence[Facts], memory: Memory, uses: Callable[[str], int], fresh: Callable[[], str]
) -> Iterator[Candidate]:
    """Yields other forms of the statements of a block.

    at: what is known at each statement.
    uses: how often the kernel mentions a name, without the assignments to it.
    fresh: gives a name that is not in use.
    """
    yield from _joined(block, at, memory, uses)
    yield from _shared(block, at, memory, fresh)


def _joined(block: Sequence[Stmt], at: Sequence[Facts], memory: Memory, uses: Callable[[str], int]) -> Iterator[Candidate]:
    for place, stmt in enumerate(block):
        if not (isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and not stmt.in_place):
            continue
        name, value = stmt.target.name, stmt.value
        fact = at[place].fact(value)
        if not isinstance(value, (syntax.Function, syntax.Binary)) or fact is None or not fact.rank or not is_new(value):
            continue
        read = next((k for k in range(place + 1, len(block)) if name in _read_by(block[k])), None)
        if read is None or uses(name) != 1 or not isinstance(block[read], (syntax.Assign, syntax.Return)):
            continue
        if _is_whole(block[read], name) or not memory.keeps(block[place + 1 : read], names_in(value) | {name}):
            continue
        made = traversal.map_reads(block[read], lambda expr: _with(expr, syntax.Name(name), value))
        if name in _read_by(made):
            continue  # a subscript or a size, which only names have
        yield Candidate((place, read), (None, made), None, f"`{name}` is computed where it is used")


def _shared(block: Sequence[Stmt], at: Sequence[Facts], memory: Memory, fresh: Callable[[], str]) -> Iterator[Candidate]:
    places: dict[str, list[int]] = {}
    exprs: dict[str, Expr] = {}
    for place, stmt in enumerate(block):
        if isinstance(stmt, (syntax.Assign, syntax.Return)):
            for expr in _operands_of_new(stmt):
                if isinstance(expr, syntax.Function) and expr.function in SHARED and at[place].fact(expr) is not None:
                    places.setdefault(repr(expr), []).append(place)
                    exprs[repr(expr)] = expr
    for key in sorted(places, key=len, reverse=True):
        expr, found = exprs[key], sorted(set(places[key]))
        if len(places[key]) < 2 or not memory.keeps(block[found[0] : found[-1]], names_in(expr)):
            continue
        name = syntax.Name(fresh(), loc=expr.loc)
        after = tuple(_replaced(block[place], expr, name) for place in found)
        shown = "a product" if expr.loc is None else f"`{expr.loc.text}`"
        first = syntax.Assign(name, expr, loc=block[found[0]].loc)
        yield Candidate(tuple(found), after, first, f"{shown} is computed once, for {len(places[key])} uses")


def _read_by(stmt: Stmt) -> frozenset[str]:
    found: set[str] = set()
    for each in statements((stmt,)):
        for expr in traversal.expressions(each):
            found |= names_in(expr)
        if isinstance(each, syntax.Assign) and not isinstance(each.target, syntax.Name):
            found |= names_in(each.target)
        if isinstance(each, syntax.Assign) and each.in_place and isinstance(each.target, syntax.Name):
            found.add(each.target.name)
    return frozenset(found)


def _is_whole(stmt: Stmt, name: str) -> bool:
    """Returns whether a statement gives an array another name, or returns it, or is one that changes it."""
    values = stmt.values if isinstance(stmt, syntax.Return) else traversal.expressions(stmt)[:1]
    if isinstance(stmt, syntax.Assign) and name in names_in(stmt.target):
        return True
    return any(isinstance(value, (syntax.Name, syntax.ArrayName)) and value.name == name for value in values)


def _operands_of_new(stmt: syntax.Assign | syntax.Return) -> Iterator[Expr]:
    """Yields each expression of a statement that is an operand of what makes a new array or a number, and no view of it."""
    values = (stmt.value,) if isinstance(stmt, syntax.Assign) else stmt.values
    if isinstance(stmt, syntax.Assign) and not isinstance(stmt.target, syntax.Name):
        yield stmt.value  # its elements are stored
    for value in values:
        for node in traversal.nodes(value):
            if isinstance(node, (syntax.IfExp, syntax.Logical)):
                break
            if is_new(node):
                yield from traversal.operands(node)


def _replaced(stmt: Stmt, expr: Expr, name: syntax.Name) -> Stmt:
    if isinstance(stmt, syntax.Return):
        return replace(stmt, values=tuple(_with_inside(value, expr, name) for value in stmt.values))
    if not isinstance(stmt, syntax.Assign):
        raise TypeError(f"not a statement with a value: {stmt!r}")
    stored = not isinstance(stmt.target, syntax.Name)
    return replace(stmt, value=(_with if stored else _with_inside)(stmt.value, expr, name))


def _with_inside(value: Expr, expr: Expr, name: Expr) -> Expr:
    """Returns a value with a name in the place of an expression wherever it is an operand of what makes a new array or number."""
    operands = traversal.operands(value)
    if not operands:
        return value
    change = _with if is_new(value) else _with_inside
    return traversal.with_operands(value, tuple(change(each, expr, name) for each in operands))


def _with(value: Expr, expr: Expr, other: Expr) -> Expr:
    """Returns a value with one expression in the place of another."""
    if repr(value) == repr(expr):
        return other
    operands = traversal.operands(value)
    if not operands:
        return value
    change = _with if is_new(value) or not isinstance(other, syntax.Name) else _with_inside
    return traversal.with_operands(value, tuple(change(each, expr, other) for each in operands))
