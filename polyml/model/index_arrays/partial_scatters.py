"""Sums and extrema at indices from data on threads: each chunk of a loop updates an array of its own, and these are joined behind it.

    for i in range(n):                 part = full((C, B), 0)
        hist[k[i]] += w[i]      ->     for c in range(C):
                                           for i in range(c*n // C, (c + 1)*n // C): part[c, k[i]] += w[i]
                                       for c in range(C):
                                           for b in range(B): hist[b] += part[c, b]

Integers give the same sums in any order; floats do not, so this is for the settings of `fp` that allow another order. An error in a chunk
leaves what is not added up yet unwritten; so nothing that outlives the call is written before, and plain Python runs the call again.

Jin, Yang and Agrawal, "Shared memory parallelization of data mining algorithms", TKDE 2005, call this full replication.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_arrays, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.index_arrays.kernel_names import NewNames, carried_numbers
from polyml.model.index_arrays.updates import Update, extremum_of, operator_of
from polyml.source import Loc

LEAST_ITERATIONS = 2**17  # of shorter loops, threads and additions behind them cost more than they gain
_SHARE = 4  # iterations for each element that is added up behind the loop


@dataclass(frozen=True)
class Scattering:
    """A Scattering is what is known of a kernel in which sums at indices from data go to threads.

    places: the loops that may be divided into chunks
    chunks: how many
    reorders: whether floats may be added up in another order
    shapes: those of the arrays that are arguments, in the call that code is made for
    """

    places: Collection[Loc]
    chunks: int
    reorders: bool
    shapes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Scatters:
    """A Scatters is a typed kernel with its sums at indices from data in chunks.

    divided: the places of the loops that are in chunks
    whole: those of loops that would be for other sizes
    """

    kernel: syntax.Kernel
    divided: frozenset[Loc] = frozenset()
    whole: frozenset[Loc] = frozenset()


def in_chunks(kernel: syntax.Kernel, known: Scattering) -> Scatters:
    """Returns a typed kernel with its sums at indices from data in chunks, where that pays."""
    body: list[Stmt] = []
    divided, whole = set[Loc](), set[Loc]()
    for position, stmt in enumerate(kernel.body):
        targets = _targets_behind(kernel, position, known) if isinstance(stmt, syntax.For) else {}
        if isinstance(stmt, syntax.For) and stmt.loc is not None and targets:
            elements = _elements(kernel, targets, known.shapes)
            if elements and elements * known.chunks * _SHARE <= _iterations(stmt, known.shapes) >= LEAST_ITERATIONS:
                body += _Chunks(kernel, stmt, targets, known.chunks).statements()
                divided.add(stmt.loc)
                continue
            whole.add(stmt.loc)
        body.append(stmt)
    made = replace(kernel, body=tuple(body)) if divided else kernel
    return Scatters(made, frozenset(divided), frozenset(whole))


def _targets_behind(kernel: syntax.Kernel, position: int, known: Scattering) -> dict[str, Update]:
    """Returns the arrays that the loop at a position of a kernel updates in an order that is free, and that may be in chunks; else none.

    Where a chunk fails, plain Python runs the call again: so what is before the loop has to do the same again, which it does where it
    reads none of the arguments that it writes.
    """
    loop, before = kernel.body[position], kernel.body[:position]
    if not isinstance(loop, syntax.For) or loop.loc not in known.places or carried_numbers(loop, kernel):
        return {}
    written = assigned_arrays(before) & {param.name for param in kernel.params}
    read = {node.array for stmt in statements(before) for e in traversal.expressions(stmt) for node in _nodes(e)}
    return _targets(loop, known) if not written & read else {}


def _targets(loop: syntax.For, known: Scattering) -> dict[str, Update]:
    """Returns the arrays that a loop writes, if all it does with them is to update elements in an order that is free; else none."""
    inside = [*statements(loop.body)]
    if loop.step != 1 or any(isinstance(stmt, (syntax.Alloc, syntax.Return, syntax.Require)) for stmt in inside):
        return {}
    extremes = {id(stmt.then[0]): found for stmt in inside if isinstance(stmt, syntax.If) and (found := extremum_of(stmt))}
    stores = [(s, s.target) for s in inside if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Subscript)]
    targets: dict[str, Update] = {}
    for stmt, target in stores:
        operator = extremes.get(id(stmt)) or operator_of(stmt.value, target)
        updated = Update(target.dtype, operator)
        is_free = target.dtype.is_integer or target.dtype.is_float and target.dtype.bits >= 32 and known.reorders
        if not operator or not is_free or targets.setdefault(target.array, updated) != updated:
            return {}
    accessed = (e for stmt in (loop, *inside) for e in traversal.accessed(stmt))
    mentioned = Counter(node.array for e in accessed for node in _nodes(e))
    updates = Counter(target.array for _, target in stores)
    return targets if all(mentioned[name] == 2 * updates[name] for name in targets) else {}


def _elements(kernel: syntax.Kernel, targets: Collection[str], shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Returns how many elements arrays have in all; 0 where that is not known."""
    made = {stmt.name: stmt.extents for stmt in kernel.body if isinstance(stmt, syntax.Alloc)}
    counts = []
    for name in targets:
        extents = [_number(extent, shapes) for extent in made.get(name, ())] if name in made else [*shapes.get(name, (None,))]
        known = [extent for extent in extents if extent is not None]
        counts.append(prod(known) if len(known) == len(extents) else 0)
    return sum(counts) if all(counts) else 0


def _iterations(loop: syntax.For, shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Returns about how many iterations a loop has, those of loops inside of it included: the elements of the largest vector that it reads
    where that are more.
    """
    start, stop = _number(loop.start, shapes), _number(loop.stop, shapes)
    own = max(stop - start, 0) if start is not None and stop is not None else 0
    inside = any(isinstance(stmt, syntax.For) for stmt in statements(loop.body))
    read = {node.array for stmt in statements(loop.body) for e in traversal.expressions(stmt) for node in _nodes(e)}
    return max([own, *(shapes[name][0] for name in read if len(shapes.get(name, ())) == 1)]) if inside or not own else own


def _nodes(expr: Expr) -> Iterator[syntax.Subscript]:
    return (node for node in traversal.nodes(expr) if isinstance(node, syntax.Subscript))


def _number(expr: Expr, shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Returns what a size is in the call that code is made for; None where that is not known."""
    match expr:
        case syntax.Const(value=int(value)):
            return value
        case syntax.Shape(array=array, dim=dim) if array in shapes:
            return shapes[array][dim]
        case syntax.Binary(op="+" | "-" as op, left=left, right=right):
            one, other = _number(left, shapes), _number(right, shapes)
            return None if one is None or other is None else one + other if op == "+" else one - other
    return None


class _Chunks:
    """A _Chunks makes the statements that take the place of a loop."""

    def __init__(self, kernel: syntax.Kernel, loop: syntax.For, targets: Mapping[str, Update], chunks: int):
        self._loop, self._targets = loop, targets
        self._fresh = NewNames(kernel).fresh
        self._count = syntax.Const(chunks, dtype=PYINT)
        self._zero, self._chunk = syntax.Const(0, dtype=PYINT), syntax.Name(self._fresh("chunk"), dtype=PYINT)
        self._parts = {name: self._fresh(f"{name}_part") for name in targets}
        self._ranks = {
            node.array: len(node.indices) for s in statements(loop.body) for e in traversal.accessed(s) for node in _nodes(e)
        }

    def statements(self) -> Iterator[Stmt]:
        """Yields the statements."""
        loop, loc = self._loop, self._loop.loc
        for name, part in self._parts.items():
            extents = tuple(syntax.Shape(name, dim, dtype=PYINT) for dim in range(self._ranks[name]))
            target = self._targets[name]
            yield syntax.Alloc(part, (self._count, *extents), target.element, target.nothing, loc=loc)
        following = syntax.Binary("+", self._chunk, syntax.Const(1, dtype=PYINT), dtype=PYINT)
        inner = replace(
            loop, start=self._bound(self._chunk), stop=self._bound(following), body=self._moved(loop.body), restarts=True
        )
        yield syntax.For(self._chunk.name, self._zero, self._count, 1, (inner,), loc=loc)
        yield from (self._added(name, part) for name, part in self._parts.items())

    def _bound(self, chunk: Expr) -> Expr:
        """Returns where a chunk begins."""
        start, stop = self._loop.start, self._loop.stop
        length = syntax.Binary("-", stop, start, dtype=PYINT)
        share = syntax.Binary("//", syntax.Binary("*", chunk, length, dtype=PYINT), self._count, dtype=PYINT)
        return syntax.Binary("+", start, share, dtype=PYINT)

    def _moved(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(traversal.with_bodies(traversal.map_reads(stmt, self._own), self._moved) for stmt in body)

    def _own(self, expr: Expr) -> Expr:
        """Returns an expression with the chunk's elements in the place of those that it adds to."""
        made = traversal.with_operands(expr, tuple(map(self._own, traversal.operands(expr))))
        if isinstance(made, syntax.Subscript) and made.array in self._parts:
            return replace(made, array=self._parts[made.array], indices=(self._chunk, *made.indices))
        return made

    def _added(self, name: str, part: str) -> Stmt:
        """Returns the loops that add a chunk's elements to those of the array, chunk by chunk."""
        element, loc = self._targets[name].element, self._loop.loc
        names = [self._fresh("at") for _ in range(self._ranks[name])]
        indices = tuple(syntax.Name(each, dtype=PYINT) for each in names)
        whole = syntax.Subscript(name, indices, dtype=element, inside=True, loc=loc)
        own = syntax.Subscript(part, (self._chunk, *indices), dtype=element, inside=True, loc=loc)
        made: Stmt = syntax.Assign(whole, self._targets[name].joined(whole, own), loc=loc)
        for dim, each in reversed([*enumerate(names)]):
            made = syntax.For(each, self._zero, syntax.Shape(name, dim, dtype=PYINT), 1, (made,), loc=None)
        return syntax.For(self._chunk.name, self._zero, self._count, 1, (made,), loc=None)
