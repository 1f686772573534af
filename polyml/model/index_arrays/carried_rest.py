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

from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_arrays, assigned_names, left, statements
from polyml.frontend.syntax import Stmt
from polyml.model.index_arrays.iteration_arrays import allocated, renamed, stored, taken
from polyml.model.index_arrays.kernel_names import NewNames, carried_numbers, mentions, read_first, surely_assigned

_LONG = (syntax.For, syntax.While)


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
    written = assigned_arrays(rest)
    if assigned_arrays(first) & _arrays(rest) or written & _arrays(first) or written & {param.name for param in kernel.params}:
        return ()  # an error in an iteration leaves what the iterations before it have written
    handed = read_first(rest) & assigned_names(first)
    if not handed <= surely_assigned(first):
        return ()
    kinds = _kinds(rest)
    if not handed <= kinds.keys() or any(kinds[name].is_complex for name in handed):
        return ()
    return tuple(_apart(loop, first, rest, {name: kinds[name] for name in sorted(handed)}, names))


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
    arrays = {name: names.fresh(f"{name}_handed") for name in handed}
    kinds = _kinds(rest)
    own = {n: syntax.Name(names.fresh(f"{n}_here"), dtype=kinds[n]) for n in sorted(assigned_names(first) & kinds.keys())}
    yield from (allocated(arrays[name], loop, kind) for name, kind in handed.items())
    at = syntax.Name(loop.var, dtype=PYINT)
    kept = (stored(arrays[name], loop, at, syntax.Name(name, dtype=kind)) for name, kind in handed.items())
    yield replace(loop, body=(*first, *kept))
    later = syntax.Name(names.fresh(loop.var), dtype=PYINT)
    given = (syntax.Assign(own[name], taken(arrays[name], loop, later, kind), loc=loop.loc) for name, kind in handed.items())
    yield replace(loop, var=later.name, body=(*given, *renamed(rest, {**own, loop.var: later})), loc=None)
