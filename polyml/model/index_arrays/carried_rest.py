"""Loops of which the last statements alone carry numbers: what is before them is a loop of its own, whose iterations may run on threads.

    for i in range(n):                              costs = empty(n)
        cost = long_search(i)                       for i in range(n):
        if cost < best:                   ->            cost = long_search(i); costs[i] = cost
            best = cost; place = i                  for i in range(n):
                                                        if costs[i] < best: best = costs[i]; place = i

This is loop distribution with scalar expansion (Allen and Kennedy, "Optimizing compilers for modern architectures", 2001, chapter 5): an iteration hands
its numbers to the second loop in arrays. It is legal where neither half writes elements of arrays that the other one uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_arrays, assigned_names, left, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.index_arrays.kernel_names import NewNames, mentions

IN_ARRAYS = {PYINT: I64, PYFLOAT: F64, PYBOOL: BOOL}  # the types of elements that hold Python's numbers
_LONG = (syntax.For, syntax.While)


def in_arrays(kind: DType) -> DType:
    """Returns the type of elements that hold numbers of a type."""
    return IN_ARRAYS.get(kind, kind)


def rest_apart(loop: syntax.For, kernel: syntax.Kernel, names: NewNames) -> tuple[Stmt, ...]:
    """Returns the statements that take the place of a loop of a typed kernel, if its last ones alone carry numbers; else ().

    names: gives names that the kernel does not have
    """
    if loop.step != 1 or left(loop.body) or any(isinstance(s, (syntax.Alloc, syntax.Require)) for s in statements(loop.body)):
        return ()
    carried = carried_numbers(loop, kernel)
    count = next((k for k, stmt in enumerate(loop.body) if carried & {*mentions((stmt,))}), 0)
    first, rest = loop.body[:count], loop.body[count:]
    if not any(isinstance(s, _LONG) for s in statements(first)) or any(isinstance(s, _LONG) for s in statements(rest)):
        return ()
    stored = assigned_arrays(rest)
    if assigned_arrays(first) & _arrays(rest) or stored & _arrays(first) or stored & {param.name for param in kernel.params}:
        return ()  # an error in an iteration leaves what the iterations before it have written
    handed = _read_first(rest) & assigned_names(first)
    if not handed <= _assigned(first):
        return ()
    kinds = _kinds(rest)
    if not handed <= kinds.keys() or any(kinds[name].is_complex for name in handed):
        return ()
    return tuple(_apart(loop, first, rest, {name: kinds[name] for name in sorted(handed)}, names))


def carried_numbers(loop: syntax.For, kernel: syntax.Kernel) -> set[str]:
    """Returns the numbers that an iteration of a loop may read from one before it, or that anything else mentions."""
    inside, everywhere = mentions((loop,)), mentions(kernel.body)
    stored = {s.target.name for s in statements(loop.body) if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name)}
    return {name for name in stored if inside[name] < everywhere[name]} | (_read_first(loop.body) & stored)


def _read_first(body: Sequence[Stmt]) -> set[str]:
    """Returns the numbers that statements may read before these assign them."""
    found: set[str] = set()
    known: set[str] = set()
    for stmt in body:
        read = {n.name for e in traversal.expressions(stmt) for n in traversal.nodes(e) if isinstance(n, syntax.Name)}
        for inner in traversal.bodies(stmt):
            read |= _read_first(inner) - ({stmt.var} if isinstance(stmt, syntax.For) else set())
        found |= read - known
        known |= _assigned((stmt,))
    return found


def _assigned(body: Sequence[Stmt]) -> set[str]:
    """Returns the numbers that statements surely assign."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            found.add(stmt.target.name)
        elif isinstance(stmt, syntax.If):
            found |= _assigned(stmt.then) & _assigned(stmt.orelse)
    return found


def _kinds(body: Sequence[Stmt]) -> dict[str, DType]:
    """Returns the types of the numbers that statements mention."""
    nodes = (node for s in statements(body) for e in traversal.accessed(s) for node in traversal.nodes(e))
    return {node.name: node.dtype for node in nodes if isinstance(node, syntax.Name) and node.dtype is not None}


def _arrays(body: Sequence[Stmt]) -> set[str]:
    """Returns the names of the arrays that statements read or write."""
    nodes = (node for s in statements(body) for e in traversal.accessed(s) for node in traversal.nodes(e))
    return {node.array for node in nodes if isinstance(node, syntax.Subscript)}


def _apart(
    loop: syntax.For, first: tuple[Stmt, ...], rest: tuple[Stmt, ...], handed: Mapping[str, DType], names: NewNames
) -> Iterator[Stmt]:
    """Yields the statements that take the place of a loop. handed: the types of the numbers that its first half hands to its rest"""
    length: Expr = syntax.Binary("-", loop.stop, loop.start, dtype=PYINT)
    length = syntax.Binary("max", length, syntax.Const(0, dtype=PYINT), dtype=PYINT)
    arrays = {name: names.fresh(f"{name}_handed") for name in handed}
    kinds = _kinds(rest)
    own = {n: syntax.Name(names.fresh(f"{n}_here"), dtype=kinds[n]) for n in sorted(assigned_names(first) & kinds.keys())}
    for name, kind in handed.items():
        yield syntax.Alloc(arrays[name], (length,), in_arrays(kind), None, loc=loop.loc)

    def element(name: str, at: syntax.Name) -> syntax.Subscript:
        place = syntax.Binary("-", at, loop.start, dtype=PYINT)
        return syntax.Subscript(arrays[name], (place,), dtype=in_arrays(handed[name]), inside=True, loc=loop.loc)

    at = syntax.Name(loop.var, dtype=PYINT)
    kept = (syntax.Assign(element(n, at), _as(syntax.Name(n, dtype=k), in_arrays(k)), loc=loop.loc) for n, k in handed.items())
    yield replace(loop, body=(*first, *kept))
    later = syntax.Name(names.fresh(loop.var), dtype=PYINT)
    taken = (syntax.Assign(own[name], _as(element(name, later), kind), loc=loop.loc) for name, kind in handed.items())
    yield replace(loop, var=later.name, body=(*taken, *_renamed(rest, {**own, loop.var: later})), loc=None)


def _as(value: Expr, kind: DType) -> Expr:
    return value if value.dtype == kind else syntax.Cast(value, kind, True, dtype=kind)


def _renamed(body: Sequence[Stmt], names: Mapping[str, syntax.Name]) -> tuple[Stmt, ...]:
    """Returns statements with other names of numbers."""

    def other(expr: Expr) -> Expr:
        if isinstance(expr, syntax.Name):
            return replace(names[expr.name], loc=expr.loc) if expr.name in names else expr
        return traversal.with_operands(expr, tuple(map(other, traversal.operands(expr))))

    def moved(stmt: Stmt) -> Stmt:
        made = traversal.with_bodies(traversal.map_reads(stmt, other), lambda inner: _renamed(inner, names))
        if isinstance(made, syntax.Assign) and isinstance(made.target, syntax.Name) and made.target.name in names:
            return replace(made, target=names[made.target.name])
        return made

    return tuple(map(moved, body))
