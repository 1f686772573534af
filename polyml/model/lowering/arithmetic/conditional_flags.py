"""A number that a loop does nothing with but to set it to a constant becomes a disjunction.

    for i in range(n):                     hit = False
        if A[i] != B[i]:                   for i in range(n):
            changed = 1          ->            hit = A[i] != B[i] or hit
                                           if hit: changed = 1

Disjunctions are reductions, which have lanes and threads; a number that iterations may set has neither. One that is True or False itself needs no
other one: `same = not A[i] != B[i] and same`. The condition comes first, so that it is evaluated whatever was found before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polyml.dtypes import BOOL
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import left, statements
from polyml.frontend.syntax import Stmt
from polyml.model.index_arrays.kernel_names import NewNames, mentions


def with_disjunctions(kernel: syntax.Kernel) -> syntax.Kernel:
    """Returns the typed kernel with disjunctions in place of numbers that loops only set to constants."""
    names, made = NewNames(kernel), list[str]()
    body = _block(kernel.body, names, made)
    return replace(kernel, body=body, scalars=(*kernel.scalars, *((name, BOOL) for name in made)))


def _block(body: tuple[Stmt, ...], names: NewNames, made: list[str]) -> tuple[Stmt, ...]:
    """Returns statements in which outermost loops set no numbers. made: the new numbers, which are added to these"""
    changed: list[Stmt] = []
    for stmt in body:
        found = _set_by(stmt) if isinstance(stmt, syntax.For) and not left((stmt,)) else {}
        hits = {name: syntax.Name(names.fresh(f"{name}_hit"), dtype=BOOL) for name in found}
        made += [hit.name for hit in hits.values()]
        changed += [syntax.Assign(hit, syntax.Const(False, dtype=BOOL), loc=stmt.loc) for hit in hits.values()]
        inside = tuple(_hit((stmt,), hits)) if hits else (stmt,)
        changed += [traversal.with_bodies(each, lambda inner: _block(inner, names, made)) for each in inside]
        changed += [syntax.If(hits[name], (found[name],), (), loc=found[name].loc) for name in hits]
    return tuple(map(_joined, changed))


def _set_by(loop: syntax.For) -> Mapping[str, syntax.Assign]:
    """Returns the numbers that a loop sets to a constant under a condition, each to one, and does nothing else with: an assignment of each.

    Those that are set where a search has found a better number stay, since the search is a reduction with them.
    """
    inside = [*statements((loop,))]
    branches = [branch for each in inside if isinstance(each, syntax.If) for branch in (each.then, each.orelse)]
    conditional = {id(s) for branch in branches if not any(map(_is_found, branch)) for s in branch}
    others = mentions((loop,))
    found: dict[str, syntax.Assign] = {}
    for stmt in inside:
        match stmt:
            case syntax.Assign(syntax.Name(name) as target, syntax.Const() as value) if id(stmt) in conditional:
                first = found.setdefault(name, stmt).value
                is_same = isinstance(first, syntax.Const) and repr(first.value) == repr(value.value)
                if is_same and value.dtype == target.dtype and value.dtype is not None and value.dtype.kind != "b":
                    others[name] -= 1
    return {name: store for name, store in found.items() if not others[name]}


def _is_found(stmt: Stmt) -> bool:
    """Returns whether a statement assigns a number that is no constant."""
    return isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and not isinstance(stmt.value, syntax.Const)


def _hit(body: tuple[Stmt, ...], hits: Mapping[str, syntax.Name]) -> Iterator[Stmt]:
    """Yields statements that note in a number that another one would be set."""
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and stmt.target.name in hits:
            yield syntax.Assign(hits[stmt.target.name], syntax.Const(True, dtype=BOOL), loc=stmt.loc)
        else:
            yield traversal.with_bodies(stmt, lambda inner: tuple(_hit(inner, hits)))


def _joined(stmt: Stmt) -> Stmt:
    """Returns the assignment of a disjunction or conjunction that a statement is; the statement itself where it is none."""
    match stmt:
        case syntax.If(
            condition=condition,
            then=(syntax.Assign(target=syntax.Name() as target, value=syntax.Const(value=bool(truth), dtype=kind)) as assigned,),
            orelse=(),
        ) if kind == target.dtype and condition.dtype is not None and condition.dtype.kind == "b":
            if any(isinstance(node, syntax.Name) and node.name == target.name for node in traversal.nodes(condition)):
                return stmt
            test = condition if truth else syntax.Unary("not", condition, dtype=BOOL, loc=condition.loc)
            value = syntax.Logical("or" if truth else "and", (test, replace(target, loc=None)), dtype=kind, loc=assigned.loc)
            return replace(assigned, value=value, loc=stmt.loc)
    return stmt
