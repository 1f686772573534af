"""Loop distribution: each statement of a nest gets inner loops of its own, one after another in each outer iteration.

    for k: for i: for j: { S; T }      ->      for k: { for i: for j: S;  for i: for j: T }

What comes out is the source order of pieces of index sets (`model.scop_passes.index_set_splitting`), as Allen and Kennedy's codegen makes it
("Automatic translation of Fortran programs to vector form", TOPLAS 9(4), 1987) where no statements wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences, dependences
from polyml.model.core.scop import Scop, Statement
from polyml.model.scop_passes.index_set_splitting import freeing, piece_names, split
from polyml.model.scop_passes.node_splitting import keep
from polyml.schedule.affine.scheduler import components
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.legality.check import is_legal
from polyml.schedule.tree.bands import NODE, band_of


@dataclass(frozen=True)
class _Nest:
    """outer: { S[i] -> [t] } of each loop around all statements; inner: each statement's own loops, in the order they run."""

    outer: tuple[isl.MultiUnionPwAff, ...]
    inner: Mapping[str, isl.Schedule]

    def schedule(self) -> isl.Schedule:
        made = in_sequence(list(self.inner.values()))
        for band in reversed(self.outer):
            made = made.insert_partial_schedule(band)
        return made


@dataclass(frozen=True)
class Divided:
    """A scop with index sets split and their nests distributed. found: its dependences. pieces: by name, the domains that they
    are pieces of.
    """

    scop: Scop
    found: Dependences
    pieces: Mapping[str, isl.Set]
    _parts: tuple[_Nest | isl.Schedule, ...] = field(repr=False)


def divide(scop: Scop, found: Dependences) -> Divided | None:
    """The scop with index sets split and nests distributed where that frees loops; None where there are none."""
    cuts = freeing(scop, found)
    if not cuts:
        return None
    made = split(scop, {name: cut.pieces for name, cut in cuts.items()})
    depths = {piece: cut.depth for name, cut in cuts.items() for piece in piece_names(name, cut.pieces)}
    origins = {piece: scop.statements[name].domain for name, cut in cuts.items() for piece in piece_names(name, cut.pieces)}
    order, parts = dependences(made), []
    for part in components(made.schedule):
        inside = [depths[name] for name in polyhedra.set_names(part.get_domain()) if name in depths]
        parts.append(_distributed(part, order, max(inside)) if inside else part)
    if any(part is None for part in parts):
        return None
    whole = in_sequence([p.schedule() if isinstance(p, _Nest) else p for p in parts])
    if not is_legal(whole, made, order):
        return None
    made = replace(made, schedule=whole)
    return Divided(made, order.of(made), origins, tuple(parts))  # a legal order puts the same pairs in the same order


def with_versions(given: Divided) -> Divided | None:
    """The same with what contractions read and others overwrite in arrays of their own; None where there is nothing such."""
    scop, parts = given.scop, []
    for part in given._parts:
        found = _kept(scop, part, given.pieces) if isinstance(part, _Nest) else None
        scop, part = found or (scop, part)
        parts.append(part)
    if scop is given.scop:
        return None
    whole = in_sequence([p.schedule() if isinstance(p, _Nest) else p for p in parts])
    scop = replace(scop, schedule=whole)
    return Divided(scop, dependences(scop), given.pieces, tuple(parts))


def _kept(scop: Scop, nest: _Nest, pieces: Mapping[str, isl.Set]) -> tuple[Scop, _Nest] | None:
    statements = [scop.statements[name] for name in nest.inner if name in pieces]
    readers = {s.name: pieces[s.name] for s in statements if polyhedra.is_full(s.domain) and may_be_contraction(s)}
    found = keep(scop, tuple(nest.inner), len(nest.outer), readers)
    if found is None:
        return None
    made, before = found
    outer, inner = list(nest.outer), {}
    for name, loops in nest.inner.items():
        for copy in [made.statements[c] for c, first in before.items() if first == name]:
            own = isl.Schedule.from_domain(isl.UnionSet.from_set(copy.domain))
            for dim in reversed(range(len(outer), len(copy.iterators))):
                own = own.insert_partial_schedule(_band(polyhedra.dimension(copy.domain, dim).to_pw_aff()))
            inner[copy.name] = own
            times = [_time_of(copy, scop.statements[name], band, len(outer)) for band in outer]
            if any(time is None for time in times):
                return None
            outer = [band.union_add(_band(time)) for band, time in zip(outer, times)]
        inner[name] = loops
    return made, _Nest(tuple(outer), inner)


def _time_of(copy: Statement, reader: Statement, band: isl.MultiUnionPwAff, depth: int) -> isl.PwAff | None:
    """When the copy runs in an outer loop, which is when the reader of its element does; None where other loops decide that."""
    value = polyhedra.expression_of(band.get_at(0), reader.name)
    if value is None or any(k >= depth for k in polyhedra.used_iterators(value)):
        return None
    return polyhedra.value_onto(value, [reader.iterators.index(name) for name in copy.iterators], copy.name)


def _band(member: isl.PwAff) -> isl.MultiUnionPwAff:
    return isl.MultiUnionPwAff.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(member))


def in_sequence(parts: list[isl.Schedule]) -> isl.Schedule:
    """One after the other."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.sequence(part)
    return whole


def _distributed(nest: isl.Schedule, found: Dependences, depth: int) -> _Nest | None:
    """The nest with each statement in inner loops of its own; None where statements wait for each other."""
    bands, node = [], nest.get_root().child(0)
    while len(bands) < depth:
        if node.get_type() != NODE.band or node.band_n_member() != 1:
            return None
        bands.append(node.band_get_partial_schedule())
        node = node.child(0)
    order = found.validity
    for band in bands:
        order = order.eq_at_multi_union_pw_aff(band)
    domains = {d.get_tuple_name(): isl.UnionSet.from_set(d) for d in polyhedra.pieces(nest.get_domain())}
    turns = in_order(list(domains), order)
    if turns is None:
        return None
    return _Nest(tuple(bands), {name: _inside(nest.intersect_domain(domains[name]), name, depth) for name in turns})


def _inside(nest: isl.Schedule, name: str, depth: int) -> isl.Schedule:
    """One statement's loops without the outer ones, and without those that run once."""
    node = nest.get_root().child(0)
    for _ in range(depth):
        node = node.delete()
    while node.get_type() == NODE.band:
        once = all(k < depth for member in band_of(node).members for k in iterators_of(member, name))
        node = node.delete() if once else node.child(0)
    return node.get_schedule()


def in_order(names: list[str], order: isl.UnionMap) -> list[str] | None:
    """The names so that none waits for a later one; None where some wait for each other."""
    waits = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in polyhedra.pieces(order)}
    left, turns = list(names), []
    while left:
        ready = next((n for n in left if not any((other, n) in waits for other in left if other != n)), None)
        if ready is None:
            return None
        turns.append(ready)
        left.remove(ready)
    return turns
