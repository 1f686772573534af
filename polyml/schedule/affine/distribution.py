"""Loop distribution: each statement of a nest gets inner loops of its own, one after another in each outer iteration.

    for k: for i: for j: { S; T }      ->      for k: { for i: for j: S;  for i: for j: T }

What comes out is the source order of pieces of index sets (`model.scop_passes.index_set_splitting`), as Allen and Kennedy's
codegen makes it ("Automatic translation of Fortran programs to vector form", TOPLAS 9(4), 1987) where no statements wait for
each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences, dependences
from polyml.model.core.scop import Scop, Statement
from polyml.model.scop_passes.index_set_splitting import freeing_partitions, piece_names, split
from polyml.model.scop_passes.node_splitting import split_nodes
from polyml.schedule.affine.scheduler import components
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.legality.check import is_legal
from polyml.schedule.tree.bands import NODE, band_of


@dataclass(frozen=True)
class _DistributedNest:
    """A nest whose statements share the outer loops and have inner loops of their own.

    outer: { S[i] -> [t] } of each loop around all statements.
    inner: each statement's own loops, by name, in the order in which the statements run.
    """

    outer: tuple[isl.MultiUnionPwAff, ...]
    inner: Mapping[str, isl.Schedule]

    def schedule(self) -> isl.Schedule:
        """Returns the nest's loops as a schedule tree."""
        made = in_sequence(list(self.inner.values()))
        for band in reversed(self.outer):
            made = made.insert_partial_schedule(band)
        return made


@dataclass(frozen=True)
class Divided:
    """A SCoP whose index sets are split and whose nests are distributed.

    scop: the SCoP with the new statements.
    found: its dependences.
    pieces: by the name of each statement that the splitting made, the domain { S[i] } of the statement that was split.
    _parts: its outermost nests in order: a distributed one as `_DistributedNest`, any other as a schedule tree.
    """

    scop: Scop
    found: Dependences
    pieces: Mapping[str, isl.Set]
    _parts: tuple[_DistributedNest | isl.Schedule, ...] = field(repr=False)


def divide(scop: Scop, found: Dependences) -> Divided | None:
    """Returns the SCoP with index sets split and nests distributed, where more loops then carry no dependence.

    None where no further loop would be without dependences, or where the nests cannot be distributed legally.
    """
    cuts = freeing_partitions(scop, found)
    if not cuts:
        return None
    made = split(scop, {name: cut.pieces for name, cut in cuts.items()})
    depths = {piece: cut.depth for name, cut in cuts.items() for piece in piece_names(name, cut.pieces)}
    origins = {piece: scop.statements[name].domain for name, cut in cuts.items() for piece in piece_names(name, cut.pieces)}
    order = dependences(made)
    parts: list[_DistributedNest | isl.Schedule] = []
    for part in components(made.schedule):
        inside = [depths[name] for name in polyhedra.set_names(part.get_domain()) if name in depths]
        nest = _distributed(part, order, max(inside)) if inside else part
        if nest is None:
            return None
        parts.append(nest)
    whole = in_sequence([p.schedule() if isinstance(p, _DistributedNest) else p for p in parts])
    if not is_legal(whole, made, order):
        return None
    made = replace(made, schedule=whole)
    return Divided(made, order.of(made), origins, tuple(parts))  # a legal order puts the same pairs in the same order


def with_versions(given: Divided) -> Divided | None:
    """Returns the SCoP in which contractions read copies of operands that other statements overwrite; None where there are none."""
    scop = given.scop
    parts: list[_DistributedNest | isl.Schedule] = []
    for part in given._parts:
        found = _with_copies(scop, part, given.pieces) if isinstance(part, _DistributedNest) else None
        scop, part = found or (scop, part)
        parts.append(part)
    if scop is given.scop:
        return None
    whole = in_sequence([p.schedule() if isinstance(p, _DistributedNest) else p for p in parts])
    scop = replace(scop, schedule=whole)
    return Divided(scop, dependences(scop), given.pieces, tuple(parts))


def _with_copies(scop: Scop, nest: _DistributedNest, pieces: Mapping[str, isl.Set]) -> tuple[Scop, _DistributedNest] | None:
    """Returns the SCoP and one nest with statements that copy what the nest's contractions read; None where none is needed.

    pieces: for statements made by index-set splitting, the whole domain { S[i] } of the statement that was split.
    """
    statements = [scop.statements[name] for name in nest.inner if name in pieces]
    readers = {s.name: pieces[s.name] for s in statements if polyhedra.is_full(s.domain) and may_be_contraction(s)}
    found = split_nodes(scop, tuple(nest.inner), len(nest.outer), readers)
    if found is None:
        return None
    made, before = found
    outer = list(nest.outer)
    inner: dict[str, isl.Schedule] = {}
    for name, loops in nest.inner.items():
        for copy in [made.statements[c] for c, first in before.items() if first == name]:
            own = isl.Schedule.from_domain(isl.UnionSet.from_set(copy.domain))
            for dim in reversed(range(len(outer), len(copy.iterators))):
                own = own.insert_partial_schedule(_band(polyhedra.dimension(copy.domain, dim).to_pw_aff()))
            inner[copy.name] = own
            for k, band in enumerate(outer):
                time = _time_of(copy, scop.statements[name], band, len(outer))
                if time is None:
                    return None
                outer[k] = band.union_add(_band(time))
        inner[name] = loops
    return made, _DistributedNest(tuple(outer), inner)


def _time_of(copy: Statement, reader: Statement, band: isl.MultiUnionPwAff, depth: int) -> isl.PwAff | None:
    """Returns { copy[i] -> [(t)] }, the iteration of an outer loop in which a copying statement runs: that of the copy's reader.

    None where that iteration depends on the reader's inner loops, too.

    copy, reader: the statement that copies an element, and the one that reads the copy.
    band: the outer loop.
    depth: how many outer loops there are.
    """
    value = polyhedra.expression_of(band.get_at(0), reader.name)
    if value is None or any(k >= depth for k in polyhedra.used_iterators(value)):
        return None
    return polyhedra.value_onto(value, [reader.iterators.index(name) for name in copy.iterators], copy.name)


def _band(member: isl.PwAff) -> isl.MultiUnionPwAff:
    return isl.MultiUnionPwAff.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(member))


def in_sequence(parts: list[isl.Schedule]) -> isl.Schedule:
    """Returns one schedule that runs the given schedules one after the other."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.sequence(part)
    return whole


def _distributed(nest: isl.Schedule, found: Dependences, depth: int) -> _DistributedNest | None:
    """Returns the nest with each statement in inner loops of its own.

    None where statements depend on each other in a cycle, or the nest does not begin with `depth` single loops.

    depth: how many loops remain around all statements.
    """
    bands: list[isl.MultiUnionPwAff] = []
    node = nest.get_root().child(0)
    while len(bands) < depth:
        if node.get_type() != NODE.band or node.band_n_member() != 1:
            return None
        bands.append(node.band_get_partial_schedule())
        node = node.child(0)
    order = found.validity
    for band in bands:
        order = order.eq_at_multi_union_pw_aff(band)
    domains = {d.get_tuple_name(): isl.UnionSet.from_set(d) for d in polyhedra.pieces(nest.get_domain())}
    names = topological_order(list(domains), order)
    if names is None:
        return None
    return _DistributedNest(tuple(bands), {name: _inside(nest.intersect_domain(domains[name]), name, depth) for name in names})


def _inside(nest: isl.Schedule, name: str, depth: int) -> isl.Schedule:
    """Returns the inner loops of the statement `name`: without the `depth` outer loops, and without loops of one iteration."""
    node = nest.get_root().child(0)
    for _ in range(depth):
        node = node.delete()
    while node.get_type() == NODE.band:
        once = all(k < depth for member in band_of(node).members for k in iterators_of(member, name))
        node = node.delete() if once else node.child(0)
    return node.get_schedule()


def topological_order(names: list[str], order: isl.UnionMap) -> list[str] | None:
    """Returns the statements in an order in which none depends on a later one; None where they depend on each other in a cycle.

    order: { S[i] -> T[j] }, the dependences.
    """
    edges = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in polyhedra.pieces(order)}
    left, found = list(names), []
    while left:
        ready = next((n for n in left if not any((other, n) in edges for other in left if other != n)), None)
        if ready is None:
            return None
        found.append(ready)
        left.remove(ready)
    return found
