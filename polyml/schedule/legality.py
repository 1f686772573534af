"""A schedule is legal when every instance runs once, and every sink after its source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.dependence import Dependences
from polyml.model.reduction import Reduction, relaxed_validity
from polyml.model.scop import Scop
from polyml.schedule.tree import NODE, PARALLEL, together


def check_legal(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> None:
    """Raise IllegalSchedule with a smallest witness unless

        coverage:   domain(theta) = the scop's instances
        once:       theta is single valued
        order:      forall s -> t in validity.  theta(s) <lex theta(t)

    theta: { S[i] -> [time...] }, the schedule as one relation. Parallel loops are checked by `check_parallel`. Updates of one
    element by one of `reductions` may come in any order.
    """
    order = schedule.get_map().intersect_domain(schedule.get_domain())
    instances = scop.domain
    missing = instances.subtract(order.domain())
    if not missing.is_empty():
        raise IllegalSchedule(f"the schedule never runs {polyhedra.witness(missing)}", loc=scop.loc)
    extra = order.domain().subtract(instances)
    if not extra.is_empty():
        raise IllegalSchedule(f"the schedule runs {polyhedra.witness(extra)}, which is no instance", loc=scop.loc)
    if not order.is_single_valued():
        raise IllegalSchedule(f"the schedule runs {polyhedra.witness(_repeated(order))} more than once", loc=scop.loc)
    broken = violated(order, relaxed_validity(dependences, scop, reductions))
    if not broken.is_empty():
        found = polyhedra.witness(broken)
        source, sink = (polyhedra.instance_text(i) for i in found.instances)
        sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes)
        notes = [f"with {sizes}"] if sizes else []
        raise IllegalSchedule(f"{sink} must run after {source}", loc=scop.loc, notes=[*notes, str(schedule)])


def _repeated(order: isl.UnionMap) -> isl.UnionSet:
    """The instances { S[i] } that have several times in { S[i] -> [time...] }."""
    other_times = order.subtract(order.lexmin())
    return other_times.domain()


def violated(order: isl.UnionMap, dependences: isl.UnionMap) -> isl.UnionMap:
    """The dependences whose sink does not run after their source.

    order: { S[i] -> [time...] }; dependences, result: { S[i] -> T[j] }.
    """
    times = dependences.apply_domain(order).apply_range(order)
    if _all_forward(times):
        return isl.UnionMap.empty(dependences.get_space())
    return dependences.intersect(order.lex_ge_union_map(order))


def _all_forward(times: isl.UnionMap) -> bool:
    """Whether every pair of times is in order: { [t] -> [t'] } with t <lex t'."""
    pieces = times.get_map_list()
    for k in range(pieces.n_map()):
        piece = pieces.get_at(k)
        backward = isl.Map.lex_ge(piece.get_space().domain())
        if not piece.intersect(backward).is_empty():
            return False
    return True


def check_parallel(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> None:
    """Raise IllegalSchedule unless every loop marked parallel carries no dependence:

        forall s -> t in validity.  prefix(s) = prefix(t)  implies  member(s) = member(t)

    prefix: the time of all loops around the mark, member: the loop right below it.
    """
    for node in _parallel_bands(schedule.get_root()):
        broken = carried(node, dependences.validity)
        if not broken.is_empty():
            found = polyhedra.witness(broken)
            source, sink = (polyhedra.instance_text(i) for i in found.instances)
            sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes)
            notes = [f"with {sizes}"] if sizes else []
            raise IllegalSchedule(
                f"{sink} depends on {source}, so their loop cannot be parallel", loc=scop.loc, notes=notes
            )


def carried(node: isl.ScheduleNode, validity: isl.UnionMap) -> isl.UnionMap:
    """{ S[i] -> T[j] }: the dependences between different iterations of a band's first loop, outer loops being equal."""
    domain = node.get_domain()
    inside = validity.intersect_domain(domain).intersect_range(domain)
    member = isl.MultiUnionPwAff.from_union_pw_aff(node.band_get_partial_schedule().get_at(0))
    outer = node.get_prefix_schedule_multi_union_pw_aff() if node.get_schedule_depth() > 0 else None
    loops = [] if outer is None else [outer.get_at(k) for k in range(node.get_schedule_depth())]
    plain = [loop for loop in loops if not polyhedra.has_division(loop)]
    if 0 < len(plain) < len(loops):  # those over single iterations alone often tell, and do so much sooner
        some = inside.eq_at_multi_union_pw_aff(together(plain))
        if some.subtract(some.eq_at_multi_union_pw_aff(member)).is_empty():
            return isl.UnionMap.empty(inside.get_space())
    inside = inside if outer is None else inside.eq_at_multi_union_pw_aff(outer)
    return inside.subtract(inside.eq_at_multi_union_pw_aff(member))


def _parallel_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """The bands right below a mark "parallel"."""
    found = [band for i in range(node.n_children()) for band in _parallel_bands(node.child(i))]
    if node.get_type() == NODE.mark and node.mark_get_id().get_name() == PARALLEL:
        below = node.child(0)
        if below.get_type() != NODE.band:
            raise IllegalSchedule("a mark `parallel` stands right above the band of its loop")
        if below.band_n_member() > 1 or _has_unmarked_band(below.child(0)):
            raise IllegalSchedule("a mark `parallel` is for one loop: the loops inside it stand under a mark of their own")
        found.insert(0, below)
    return found


def _has_unmarked_band(node: isl.ScheduleNode) -> bool:
    """Whether the mark above would be that of a band here, should isl need no loop for the band that it stands on."""
    if node.get_type() in (NODE.band, NODE.mark):
        return node.get_type() == NODE.band
    return any(_has_unmarked_band(node.child(i)) for i in range(node.n_children()))
