"""The conditions on the sizes of a call under which it is in bounds: one test at entry instead of one per access.

It is computed on the nest as the user wrote it, before anything is substituted or removed, so that an access that nobody needs
still raises what Python raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.evaluation import operations
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import ArrayInfo, Assign, Guard, Integer, Nest, Node, Read, Requirement, relations_required
from polyml.model.core.scop import Check, Gather
from polyml.model.nest_passes.split_selects import split
from polyml.polyhedra import Frame
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.to_isl import to_pw_aff, to_set
from polyml.source import Loc


def checks(nest: Nest, top: IterationContext) -> tuple[Check, ...]:
    """Returns the checks of a nest: relations that it takes for granted, shapes, requirements, accesses that some sizes put out of
    bounds, and contents of index arrays.

    Accesses are in source order. Checks that an earlier one implies are left out.

    nest: as the user wrote it, before passes change it
    top: the context outside all loops
    """
    found = _CheckCollector()
    for requirement in relations_required(nest):
        _requirement(requirement, top, found)
    for array in nest.arrays.values():
        for dim, extent in enumerate(array.shape):
            if array.loc is not None and not top.is_never_negative(extent):
                found.add(_shape_check(top, array, dim, extent))
    for requirement in nest.requirements:
        _requirement(requirement, top, found)
    _walk(nest.body, nest, top, found)
    for requirement in nest.contents:
        _requirement(requirement, top, found)
    return tuple(found.checks)


def limit_checks(names: tuple[str, ...], limits: Mapping[str, int]) -> tuple[Check, ...]:
    """Returns checks that integer arguments are small enough for 64-bit arithmetic; other calls run as plain Python.

    They come before all other checks, which compute with these arguments.
    """
    result = []
    for name in names:
        value, limit = af.variable(name), limits[name]
        outside = af.disjunction(af.compare(">", value, Affine(limit)), af.compare("<", value, Affine(-limit)))
        violated = to_set(outside, Frame((name,), ()))
        instances = violated.set_tuple_name("S")
        result.append(Check(kind="limit", violated=violated.params(), instances=instances, iterators=(), what=name, may=True))
    return tuple(result)


@dataclass(frozen=True)
class _CheckedAccess:
    """A _CheckedAccess is an access whose subscripts have to be checked.

    subscripts: by dimension
    may: whether it stands under a data-dependent condition
    """

    array: str
    subscripts: Mapping[int, Affine]
    may: bool
    loc: Loc | None


class _CheckCollector:
    """A _CheckCollector collects checks in order, without those that an earlier check of the same subject implies."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self._seen: set[tuple] = set()
        self._by_subject: dict[tuple, list[Check]] = {}

    def is_new(self, key: tuple) -> bool:
        """Returns whether this is the first call with this key; later calls with the same key return False."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def add(self, check: Check, subject: tuple = ()) -> None:
        """Adds a check, unless an earlier one of the same subject implies it.

        subject: a key for what is checked, such as ("bounds", array, dimension)
        """
        earlier = self._by_subject.setdefault(subject, [])
        for other in earlier:
            if other.may <= check.may and check.violated.is_subset(other.violated):
                return
        earlier.append(check)
        self.checks.append(check)


def _check(context: IterationContext, outside: isl.Set, **facts: Any) -> Check:  # Any: of as many types as a Check has fields
    """Returns the check that there are no points in a set.

    outside: points { [iterators] } of the context that break the check
    facts: the other fields of Check
    """
    return Check(
        violated=outside.params().coalesce(),
        instances=outside.set_tuple_name("S"),
        iterators=context.iterators,
        **facts,
    )


def _requirement(requirement: Requirement, top: IterationContext, found: _CheckCollector) -> None:
    here = top
    for outer in requirement.around:
        here = here.inside(outer)
    outside = _instances(here, [af.negate(requirement.condition)])
    if outside is None:
        return
    check = _check(here, outside, kind=requirement.kind, what=requirement.what, may=True, loc=requirement.loc)
    found.add(check, (requirement.kind,))


def _walk(body: tuple[Node, ...], nest: Nest, context: IterationContext, found: _CheckCollector) -> None:
    for node in body:
        if isinstance(node, Guard):
            _walk(node.body, nest, context.within(node.condition), found)
        elif isinstance(node, Assign):
            _assign(node, nest, context, found)
        else:
            _walk(node.body, nest, context.loop(node), found)


def _assign(assign: Assign, nest: Nest, context: IterationContext, found: _CheckCollector) -> None:
    """Adds to `found` the checks of all accesses and conversions of an assignment.

    context: the loops and guards around it
    """
    for formula, value in split(assign.value, evaluated=True):
        here = context if formula == af.TRUE else context.within(formula)
        for part, may in operations(value):
            if isinstance(part, Read) and not part.inside:
                _access(_CheckedAccess(part.array, dict(enumerate(part.subscripts)), may, part.loc), nest, here, found)
            elif isinstance(part, Gather) and not part.inside:
                affine = {d: i.affine for d, i in enumerate(part.indices) if isinstance(i, Integer)}
                _access(_CheckedAccess(part.array, affine, may, part.loc), nest, here, found)
            elif isinstance(part, syntax.Cast) and isinstance(part.operand, Integer):
                _cast(part, part.operand.affine, may, here, found)
    if assign.inside:
        return
    written = _CheckedAccess(assign.array, dict(enumerate(assign.subscripts)), assign.may, assign.target_loc or assign.loc)
    _access(written, nest, context, found)


def _access(access: _CheckedAccess, nest: Nest, context: IterationContext, found: _CheckCollector) -> None:
    """Adds to `found` a bounds check for each subscript of an access that is not known to be in bounds.

    context: the loops and guards around it
    """
    info = nest.arrays[access.array]
    for dim, subscript in access.subscripts.items():
        size = info.shape[dim]
        if not found.is_new((id(context), access.array, dim, subscript, access.may)):
            continue
        parts = []
        if not context.is_never_negative(subscript):
            parts.append(af.non_negative(-subscript - size - 1))
        if not context.is_below(subscript, size):
            parts.append(af.non_negative(subscript - size))
        outside = _instances(context, parts)
        if outside is None:
            continue
        what = access.loc.text if access.loc else f"{info.source_name}[{', '.join(map(str, access.subscripts.values()))}]"
        found.add(
            _check(
                context,
                outside,
                kind="raise" if info.is_list else "bounds",
                what=f"an index out of bounds: `{what}`" if info.is_list else what,
                may=access.may,
                dim=dim - info.pairs,
                subscript=polyhedra.rename_domain(context.pw_aff(subscript), "S"),
                size=size_pw_aff(size),
                loc=access.loc,
            ),
            ("bounds", access.array, dim),
        )


def _instances(context: IterationContext, parts: list[af.Condition]) -> isl.Set | None:
    """Returns the iterations of a context in which one of the conditions holds, for sizes not below 0; None if there are none."""
    outside = None
    for part in parts:
        piece = context.assumed.intersect(context.set(part))
        if not piece.is_empty():
            outside = piece if outside is None else outside.union(piece)
    return outside


def _cast(cast: syntax.Cast, value: af.Affine, may: bool, context: IterationContext, found: _CheckCollector) -> None:
    """Adds to `found` the check that a Python int fits the integer type it is converted to, else NumPy raises OverflowError.

    value: the affine value that is converted
    may: whether the conversion stands under a data-dependent condition
    context: the loops and guards around it
    """
    to = cast.to
    if not (cast.operand.dtype.weak and to.is_integer) or not found.is_new((id(context), to, value, may)):
        return
    low, high = (0, 2**to.bits - 1) if to.kind == "u" else (-(2 ** (to.bits - 1)), 2 ** (to.bits - 1) - 1)
    parts = []
    if low == 0 or to.bits < 64:
        parts.append(af.compare("<", value, Affine(low)))
    if to.bits < 64:
        parts.append(af.compare(">", value, Affine(high)))
    outside = _instances(context, parts)
    if outside is None:
        return
    found.add(
        _check(
            context,
            outside,
            kind="range",
            what=f"{cast.loc.text if cast.loc else value} as {to.numpy_name}",
            may=may,
            subscript=polyhedra.rename_domain(context.pw_aff(value), "S"),
            loc=cast.loc,
        ),
        ("range", to),
    )


def _shape_check(top: IterationContext, array: ArrayInfo, dim: int, extent: Affine) -> Check:
    """Returns the check that an array's size in one dimension is not negative."""
    outside = top.set(af.non_negative(-extent - 1))
    return Check(
        kind="shape",
        violated=outside.intersect_params(top.parameters.facts).params(),
        instances=outside.set_tuple_name("S"),
        iterators=(),
        what=array.source_name,
        may=array.conditional,
        dim=dim - array.pairs,
        size=size_pw_aff(extent),
        loc=array.loc,
    )


def size_pw_aff(size: Affine) -> isl.PwAff:
    """Returns an affine size as { [] -> [(size)] } over the parameters that it mentions."""
    return to_pw_aff(size, Frame(tuple(sorted(size.names)), ()))
