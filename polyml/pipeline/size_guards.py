"""For which sizes code is: tests at entry by which a call with other sizes gets other code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.call_interface import Parameter, SizeRelation, size_relations
from polyml.model.core.scop import OTHER_FORM, Check, Scop
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.compute import Scheduled


def typical_sizes(scop: Scop, sizes: Sizes) -> dict[str, int] | None:
    """Returns {parameter: value} for the sizes of arrays, in the call that the code is for.

    The result is None where `sizes` does not say how large the arrays of that call are.
    """
    if sizes.extents is None:
        return None
    shapes = dict(sizes.extents)
    return {p.name: shapes[array][dim] for p, array, dim in _sizes(scop)}


def extents_of(sizes: Sizes | None) -> dict[tuple[str, int], int] | None:
    """Returns {(array, dimension): extent} in the call that code is for; None where the extents are not known."""
    if sizes is None or sizes.extents is None:
        return None
    return {(array, dim): extent for array, shape in sizes.extents for dim, extent in enumerate(shape)}


def extents_of_parameters(scop: Scop, values: Mapping[str, int]) -> dict[tuple[str, int], int]:
    """Returns {(array, dimension): extent} for the values of a SCoP's parameters, by name."""
    return {(array, dim): values[p.name] for p, array, dim in _sizes(scop) if p.name in values}


def guarded(scop: Scop, scheduled: Scheduled, sized: bool, sizes: Sizes | None, related: tuple[SizeRelation, ...]) -> Scop:
    """Returns the SCoP with tests at entry added: a call that fails one of them has sizes that the schedule is not for, and runs
    other code.

    sized: whether the schedule or the arrays depend on sizes.
    sizes: the sizes of the call; None: the code is for all.
    related: the relations between sizes that hold in the call.
    """
    if sized and sizes is not None:
        scop = _with_check(scop, _sizes_check(scop, sizes))
    if scheduled.related and related:
        return _with_related(scop, related)
    return scop if sizes is None or not sizes.others else _for_others(scop, sizes.others)


def sizes_used(scop: Scop) -> dict[tuple[str, int], str]:
    """Returns {(array, dim): parameter} for the sizes of arrays on which the sets of instances depend."""
    used = {name for s in scop.statements.values() for name in polyhedra.used_parameters(s.domain)}
    return {(array, dim): p.name for p, array, dim in _sizes(scop) if p.name in used}


def related_sizes(scop: Scop, sizes: Sizes | None) -> tuple[SizeRelation, ...]:
    """Returns the relations between sizes, such as N = M + 1, that hold in the call that the code is for.

    Only sizes on which the sets of instances depend count. The result is () where the code may not rely on relations.
    """
    if sizes is None or sizes.extents is None or not sizes.is_related:
        return ()
    used = sizes_used(scop)
    return size_relations(
        [(array, dim, extent) for array, shape in sizes.extents for dim, extent in enumerate(shape) if (array, dim) in used]
    )


def _sizes(scop: Scop) -> Iterator[tuple[Parameter, str, int]]:
    """Yields (parameter, array, dimension) for each parameter that is the size of an array's dimension."""
    return ((p, p.array, p.dim) for p in scop.parameters if p.array is not None and p.is_size)


def _sizes_check(scop: Scop, sizes: Sizes) -> Check:
    """Returns the test at entry that fails where a size is below or above the limits in `sizes`, between which the code is used."""
    limits = dict(sizes.limits)
    known = {p.name: limits[array][dim] for p, array, dim in _sizes(scop)}
    outside = " or ".join(f"{name} < {low} or {name} > {high}" for name, (low, high) in known.items()) or "false"
    return _usual(scop, isl.Set(f"[{', '.join(known)}] -> {{ : {outside} }}"))


def _with_related(scop: Scop, related: tuple[SizeRelation, ...]) -> Scop:
    """Returns the SCoP for calls in which the relations between sizes hold, with a test at entry that fails for other calls."""
    holds = _holds(scop, related)
    usual = holds if scop.usual is None else scop.usual.intersect(holds)
    return replace(_with_check(scop, _usual(scop, holds.complement())), usual=usual)


def _for_others(scop: Scop, related: tuple[SizeRelation, ...]) -> Scop:
    """Returns the SCoP with a test at entry that fails where all the relations between sizes hold, for which there is other
    code; without that test where the SCoP does not depend on these sizes.
    """
    known = {(array, dim) for _, array, dim in _sizes(scop)}
    if not all({(r.name, r.dim), (r.other, r.other_dim)} <= known for r in related):
        return scop
    return _with_check(scop, _usual(scop, _holds(scop, related)))


def _with_check(scop: Scop, check: Check) -> Scop:
    """Returns the SCoP with one more test at entry, before all others except those for numbers too large to compute with."""
    first = [c for c in scop.checks if c.kind == "limit"]
    return replace(scop, checks=(*first, check, *scop.checks[len(first) :]))


def _holds(scop: Scop, related: tuple[SizeRelation, ...]) -> isl.Set:
    """Returns the set of sizes for which the relations hold, such as [N, M] -> { : N = M + 1 }."""
    names = {(array, dim): p.name for p, array, dim in _sizes(scop)}
    facts = [(names[a.name, a.dim], names[a.other, a.other_dim], a.difference) for a in related]
    space = ", ".join(dict.fromkeys(name for fact in facts for name in fact[:2]))
    equal = " and ".join(f"{name} = {other} + {difference}" for name, other, difference in facts)
    return isl.Set(f"[{space}] -> {{ : {equal} }}")


def _usual(scop: Scop, others: isl.Set) -> Check:
    """Returns a test at entry that fails for the sizes in the set `others`; a call with such sizes runs other code."""
    return Check(kind="usual", violated=others, instances=others, iterators=(), what=OTHER_FORM, may=True)
