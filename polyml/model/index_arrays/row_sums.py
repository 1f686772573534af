"""Sums and extrema of numbers that a loop updates whose iterations are regions: each iteration has its own, and they are joined behind the loop.

    for i in range(n):                        terms = empty(n)
        total = row(i)                 ->     for i in range(n):
        change += abs(total - x[i])               term = -0.0
        x[i] = total                              total = row(i); term += abs(total - x[i]); x[i] = total
                                                  terms[i] = term
                                              for i in range(n): change += terms[i]

So nothing goes from one iteration of the region to the next, and its iterations may run on threads; the sums are affine. With one update in
an iteration, the order of the additions stays the source's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import left, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.index_arrays.carried_rest import rest_apart
from polyml.model.index_arrays.iteration_arrays import allocated, renamed, stored, taken
from polyml.model.index_arrays.kernel_names import NewNames, carried_numbers, mentions
from polyml.model.index_arrays.updates import Update, counts, extremum_of, operator_of
from polyml.source import Loc


@dataclass(frozen=True)
class _Found:
    """A _Found is an update of a number. is_repeated: whether inner loops repeat it. counts: whether it adds a small constant"""

    update: Update
    is_repeated: bool
    counts: bool


def with_terms(kernel: syntax.Kernel, places: Collection[Loc], reorders: bool) -> syntax.Kernel:
    """Returns a typed kernel in which the loops at these places join what their iterations add to numbers behind the loop; the same object where
    they add to none.

    reorders: whether floats may be added up in another order
    """
    names = NewNames(kernel)
    body = _block(kernel.body, kernel, places, reorders, names)
    return kernel if body == kernel.body else replace(kernel, body=body)


def _block(
    body: tuple[Stmt, ...], kernel: syntax.Kernel, places: Collection[Loc], reorders: bool, names: NewNames
) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, syntax.For) and stmt.loc in places:
            updates = _updates(stmt, reorders)
            rest = () if carried_numbers(stmt, kernel) <= updates.keys() else rest_apart(stmt, kernel, names)
            if rest or updates:
                made += rest or _apart(stmt, updates, names)
                continue
        made.append(traversal.with_bodies(stmt, lambda inner: _block(inner, kernel, places, reorders, names)))
    return tuple(made)


def _updates(loop: syntax.For, reorders: bool) -> dict[str, Update]:
    """Returns the numbers with which a loop does nothing but to update them, in an order that is free or kept."""
    inside = [*statements(loop.body)]
    if loop.step != 1 or left(loop.body):
        return {}
    repeated = {id(s) for each in inside if isinstance(each, (syntax.For, syntax.While)) for s in statements(each.body)}
    choices = (stmt for stmt in inside if isinstance(stmt, syntax.If) and (reorders or not _prefers_later(stmt.condition)))
    extremes = {id(stmt.then[0]): operator for stmt in choices if (operator := extremum_of(stmt))}
    mentioned = mentions((loop,))
    found: dict[str, list[_Found]] = {}
    for stmt in inside:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            operator = extremes.get(id(stmt)) or operator_of(stmt.value, stmt.target)
            mentioned[stmt.target.name] -= 1 if isinstance(stmt.value, syntax.Const) else 2
            each = _Found(Update(stmt.target.dtype, operator), id(stmt) in repeated, counts(stmt.value, stmt.target))
            found.setdefault(stmt.target.name, []).append(each)
    return {name: each[0].update for name, each in found.items() if not mentioned[name] and _is_free(each, reorders)}


def _prefers_later(condition: Expr) -> bool:
    """Returns whether a comparison also holds for equal numbers, as zeros of different signs are."""
    return isinstance(condition, syntax.Compare) and condition.op in (">=", "<=")


def _is_free(found: Sequence[_Found], reorders: bool) -> bool:
    """Returns whether a number may be joined behind the loop."""
    update = found[0].update
    if not update.operator or any(other.update != update for other in found):
        return False
    kind = update.element
    if kind.kind == "b":
        return update.operator in ("or", "and")
    if len(found) == 1 and not found[0].is_repeated:  # the order stays
        return kind.is_integer or kind.is_float and kind.bits >= 32
    if kind == PYINT:
        return all(each.counts for each in found)
    return kind.is_integer or kind.is_float and kind.bits >= 32 and reorders


def _apart(loop: syntax.For, updates: Mapping[str, Update], names: NewNames) -> Iterator[Stmt]:
    """Yields the statements that take the place of a loop."""
    own = {name: syntax.Name(names.fresh(f"{name}_term"), dtype=update.element) for name, update in updates.items()}
    terms = {name: names.fresh(f"{name}_terms") for name in updates}
    yield from (allocated(terms[name], loop, update.element) for name, update in updates.items())
    begun = (syntax.Assign(own[name], updates[name].nothing, loc=loop.loc) for name in updates)
    at = syntax.Name(loop.var, dtype=PYINT)
    kept = (stored(terms[name], loop, at, own[name]) for name in updates)
    yield replace(loop, body=(*begun, *renamed(loop.body, own), *kept))
    at = syntax.Name(names.fresh("at"), dtype=PYINT)
    joined = []
    for name, update in updates.items():
        number = syntax.Name(name, dtype=update.element)
        joined.append(syntax.Assign(number, update.joined(number, taken(terms[name], loop, at, update.element))))
    yield syntax.For(at.name, loop.start, loop.stop, 1, tuple(joined))
