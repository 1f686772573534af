"""A schedule is legal when every instance runs once, and every sink after its source."""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.dependence import Dependences
from polyml.model.scop import Scop


def check_legal(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> None:
    """Raise IllegalSchedule with a smallest witness unless

        coverage:   domain(theta) = the scop's instances
        order:      forall s -> t in validity.  theta(s) <lex theta(t)

    theta: { S[i] -> [time...] }, the schedule as one relation. Parallel loops are checked by `check_parallel`.
    """
    order = schedule.get_map().intersect_domain(schedule.get_domain())
    instances = scop.domain
    missing = instances.subtract(order.domain())
    if not missing.is_empty():
        raise IllegalSchedule(f"the schedule never runs {polyhedra.witness(missing)}", loc=scop.loc)
    extra = order.domain().subtract(instances)
    if not extra.is_empty():
        raise IllegalSchedule(f"the schedule runs {polyhedra.witness(extra)}, which is no instance", loc=scop.loc)
    broken = violated(order, dependences.validity)
    if not broken.is_empty():
        found = polyhedra.witness(broken)
        source, sink = (polyhedra.instance_text(i) for i in found.instances)
        sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes)
        notes = [f"with {sizes}"] if sizes else []
        raise IllegalSchedule(f"{sink} must run after {source}", loc=scop.loc, notes=[*notes, str(schedule)])


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


def carried_coincidentally(prefix: isl.UnionMap, member: isl.UnionMap, dependences: isl.UnionMap) -> bool:
    """Whether no dependence between instances of equal prefix moves along the member: its loop is parallel.

    prefix: { S[i] -> [outer times] }; member: { S[i] -> [time] }.
    """
    together = dependences.eq_at_multi_union_pw_aff(prefix) if isinstance(prefix, isl.MultiUnionPwAff) else dependences
    same = together.apply_domain(member).apply_range(member)
    pieces = same.get_map_list()
    return all(
        pieces.get_at(k).is_subset(isl.Map.identity(pieces.get_at(k).get_space())) for k in range(pieces.n_map())
    )
