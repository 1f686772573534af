"""What must hold of the sizes for a call to be in bounds: one test at entry instead of one per access.

Computed on the nest as the user wrote it, before anything is substituted or removed, so that an access that nobody
needs still raises what Python raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.evaluation import operations
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import ArrayInfo, Assign, Guard, Integer, Nest, Read, Requirement
from polyml.model.core.scop import Check, Gather
from polyml.model.nest_passes.split_selects import split
from polyml.polyhedra import Frame
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.to_isl import to_pw_aff, to_set


def checks(nest: Nest, top: IterationContext) -> tuple[Check, ...]:
    """In source order: shapes, then accesses that some sizes put out of bounds. None is implied by an earlier one."""
    found = _Found()
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
    """Integer arguments small enough for 64-bit arithmetic; others run as plain Python. They come before all other checks, which
    compute with them.
    """
    result = []
    for name in names:
        value, limit = af.variable(name), limits[name]
        outside = af.disjunction(af.compare(">", value, Affine(limit)), af.compare("<", value, Affine(-limit)))
        violated = to_set(outside, Frame((name,), ()))
        instances = violated.set_tuple_name("S")
        result.append(Check(kind="limit", violated=violated.params(), instances=instances, iterators=(), what=name, may=True))
    return tuple(result)


class _Found:
    """Checks in order, without those that an earlier one on the same thing implies."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self._seen: set[tuple] = set()
        self._by_subject: dict[tuple, list[Check]] = {}

    def is_new(self, key: tuple) -> bool:
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def add(self, check: Check, subject: tuple = ()) -> None:
        earlier = self._by_subject.setdefault(subject, [])
        for other in earlier:
            if other.may <= check.may and check.violated.is_subset(other.violated):
                return
        earlier.append(check)
        self.checks.append(check)


def _check(context: IterationContext, outside: isl.Set, **facts: Any) -> Check:  # Any: of as many types as a Check has fields
    """The check that no point of the context is in `outside`."""
    return Check(
        violated=outside.params().coalesce(),
        instances=outside.set_tuple_name("S"),
        iterators=context.iterators,
        **facts,
    )


def _requirement(requirement: Requirement, top: IterationContext, found: _Found) -> None:
    here = top
    for outer in requirement.around:
        here = here.within(outer.condition) if isinstance(outer, Guard) else here.loop(outer)
    outside = _instances(here, [af.negate(requirement.condition)])
    if outside is None:
        return
    check = _check(here, outside, kind="usual", what=requirement.what, may=True, loc=requirement.loc)
    found.add(check, ("usual",))


def _walk(body, nest: Nest, context: IterationContext, found: _Found) -> None:
    for node in body:
        if isinstance(node, Guard):
            _walk(node.body, nest, context.within(node.condition), found)
        elif isinstance(node, Assign):
            _assign(node, nest, context, found)
        else:
            _walk(node.body, nest, context.loop(node), found)


def _assign(assign: Assign, nest: Nest, context: IterationContext, found: _Found) -> None:
    for formula, value in split(assign.value, evaluated=True):
        here = context if formula == af.TRUE else context.within(formula)
        for part, may in operations(value):
            if isinstance(part, Read) and not part.inside:
                _access(part.array, dict(enumerate(part.subscripts)), may, part.loc, nest, here, found)
            elif isinstance(part, Gather) and not part.inside:
                affine = {d: i.affine for d, i in enumerate(part.indices) if isinstance(i, Integer)}
                _access(part.array, affine, may, part.loc, nest, here, found)
            elif isinstance(part, syntax.Cast) and isinstance(part.operand, Integer):
                _cast(part, part.operand.affine, may, here, found)
    if assign.inside:
        return
    _access(assign.array, dict(enumerate(assign.subscripts)), assign.may, assign.target_loc or assign.loc, nest, context, found)


def _access(
    array: str, subscripts: Mapping[int, Affine], may: bool, loc, nest: Nest, context: IterationContext, found: _Found
) -> None:
    """subscripts: by dimension."""
    for dim, subscript in subscripts.items():
        size = nest.arrays[array].shape[dim]
        if not found.is_new((id(context), array, dim, subscript, may)):
            continue
        parts = []
        if not context.is_never_negative(subscript):
            parts.append(af.non_negative(-subscript - size - 1))
        if not context.is_below(subscript, size):
            parts.append(af.non_negative(subscript - size))
        outside = _instances(context, parts)
        if outside is None:
            continue
        what = loc.text if loc else f"{nest.arrays[array].source_name}[{', '.join(map(str, subscripts.values()))}]"
        found.add(
            _check(
                context,
                outside,
                kind="bounds",
                what=what,
                may=may,
                dim=dim - nest.arrays[array].pairs,
                subscript=polyhedra.rename_domain(context.pw_aff(subscript), "S"),
                size=size_pw_aff(size),
                loc=loc,
            ),
            ("bounds", array, dim),
        )


def _instances(context: IterationContext, parts: list[af.Condition]) -> isl.Set | None:
    """The points of the context where one of the conditions holds; None when there are none."""
    outside = None
    for part in parts:
        piece = context.assumed.intersect(context.set(part))
        if not piece.is_empty():
            outside = piece if outside is None else outside.union(piece)
    return outside


def _cast(cast: syntax.Cast, value: af.Affine, may: bool, context: IterationContext, found: _Found) -> None:
    """A Python int must fit the integer type it becomes; NumPy raises OverflowError where it does not."""
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
    """{ [] -> [(size)] } over the parameters the size mentions."""
    return to_pw_aff(size, Frame(tuple(sorted(size.names)), ()))
