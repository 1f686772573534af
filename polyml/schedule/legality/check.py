"""The check of a schedule: it is legal when every instance runs once, and every sink of a dependence after its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import NONE, Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.schedule.legality.proof import carries_none, keeps, runs_once
from polyml.schedule.tree.bands import NODE, partial_results
from polyml.schedule.tree.directives import Directives, parse_mark


def check_legal(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> None:
    """Raises IllegalSchedule with a smallest witness unless every instance runs once, and every sink after its source:

        coverage:   domain(theta) = the scop's instances
        once:       theta is single valued
        order:      forall s -> t in validity.  theta(s) <lex theta(t)

    theta: { S[i] -> [time...] }, the schedule as one relation. Updates of one element by one of `reductions` may come in any
    order. Parallel loops are checked by `check_parallel`.
    """
    if is_legal(schedule, scop, dependences, reductions):
        return
    order = schedule.get_map().intersect_domain(schedule.get_domain())
    instances = scop.domain
    missing = instances.subtract(order.domain())
    if not missing.is_empty():
        raise IllegalSchedule(f"the schedule never runs {polyhedra.witness(missing)}")
    extra = order.domain().subtract(instances)
    if not extra.is_empty():
        raise IllegalSchedule(f"the schedule runs {polyhedra.witness(extra)}, which is no instance")
    if not order.is_single_valued():
        raise IllegalSchedule(f"the schedule runs {polyhedra.witness(_repeated(order))} more than once")
    broken = violated(order, relaxed_validity(dependences, scop, reductions))
    if not broken.is_empty():
        source, sink, why = reason(broken, scop, dependences)
        raise IllegalSchedule(f"{sink} must run after {source}", notes=[why, str(schedule)])


def is_legal(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> bool:
    """Returns whether `check_legal` would raise nothing; it looks for no witness, so it is faster.

    It returns False as well for trees with nodes that add instances.
    """
    if not runs_once(schedule, scop.domain):
        return False
    if keeps(schedule, dependences.validity):  # as most do, so that what is free need not be found
        return True
    return bool(reductions) and keeps(schedule, relaxed_validity(dependences, scop, reductions))


def reason(broken: isl.UnionMap, scop: Scop, dependences: Dependences) -> tuple[str, str, str]:
    """Returns a smallest pair of dependent instances as texts, the source and the sink, and which dependences connect the two.

    broken: { S[i] -> T[j] }, the pairs in question, not empty.
    """
    found = polyhedra.witness(broken)
    assert found is not None, "there is a pair"
    source, sink = (polyhedra.instance_text(i) for i in found.instances)
    sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes)
    names, where = ", ".join(name for name, _ in found.sizes), sizes.replace(", ", " and ") or "true"
    pair = isl.UnionMap(f"[{names}] -> {{ {source} -> {sink} : {where} }}")
    kinds = []
    for kind in ("flow", "anti", "output"):
        if not getattr(dependences, kind).intersect(pair).is_empty():
            writes = (kind != "anti", kind != "flow")
            sides = zip(found.instances, (pair.domain(), pair.range()), writes)
            first, second = (_elements(scop, instance, points, w) for instance, points, w in sides)
            arrays = sorted(a for a in first.keys() & second.keys() if not first[a].intersect(second[a]).is_empty())
            kinds.append(f"{kind} dependence through {', '.join(scop.arrays[a].source_name or a for a in arrays)}")
    return source, sink, f"{' and '.join(kinds)}{f', with {sizes}' if sizes else ''}"


def _elements(scop: Scop, instance: polyhedra.Instance, instances: isl.UnionSet, writes: bool) -> dict[str, isl.UnionSet]:
    """Returns by array the elements { A[i] } that a statement writes, or with `writes` false those that it reads.

    instance: an instance of the statement.
    instances: { S[i] }, that instance as a set.
    """
    statement = scop.statements[instance[0]]
    touched: dict[str, isl.UnionSet] = {}
    for access in (statement.write,) if writes else statement.reads:
        elements = instances.apply(isl.UnionMap.from_map(access.relation))
        touched[access.array] = elements.union(touched[access.array]) if access.array in touched else elements
    return touched


def _repeated(order: isl.UnionMap) -> isl.UnionSet:
    """Returns the instances { S[i] } for which the schedule `order`, { S[i] -> [time...] }, has more than one time."""
    other_times = order.subtract(order.lexmin())
    return other_times.domain()


def violated(order: isl.UnionMap, dependences: isl.UnionMap) -> isl.UnionMap:
    """Returns the dependences whose sink does not run after their source.

    order: { S[i] -> [time...] }; dependences, result: { S[i] -> T[j] }.
    """
    times = dependences.apply_domain(order).apply_range(order)
    if polyhedra.has_no_pair(times, isl.Map.lex_ge):
        return isl.UnionMap.empty(dependences.get_space())
    return dependences.intersect(order.lex_ge_union_map(order))


def check_parallel(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> None:
    """Raises IllegalSchedule unless every loop marked parallel carries no dependence:

        forall s -> t in validity.  prefix(s) = prefix(t)  implies  member(s) = member(t)

    prefix: the time of all loops around the mark, member: the loop directly below it. A loop may carry updates of an array by one
    of `reductions` where threads have partial results of the array and nothing else in the loop touches it.
    """
    for node, partial in parallel_bands(schedule.get_root()):
        if not _may_have_partial(node, partial, scop, reductions):
            message = f"partial results of {', '.join(partial)} need a loop that does nothing else with them"
            raise IllegalSchedule(message)
        _refuse_carried(node, _validity_in(node, partial, scop, dependences, reductions), scop, dependences, "parallel")


def _may_have_partial(node: isl.ScheduleNode, partial: Sequence[str], scop: Scop, reductions: Mapping[str, Reduction]) -> bool:
    """Returns whether threads of the loop may have partial results of the arrays `partial`; True where there are none.

    The loop's statements must touch the arrays by reductions alone, and no loop for threads may be inside or around it.
    """
    return not partial or only_updated(scop, _names(node), partial, reductions) and not _has_parallel(node)


def _validity_in(
    node: isl.ScheduleNode, partial: Sequence[str], scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]
) -> isl.UnionMap:
    """Returns the dependences that the parallel loop `node` must not carry: all but those among updates of partial results.

    partial: the arrays of which threads have partial results.
    """
    names = _names(node) if partial else ()
    free = {name: r for name, r in reductions.items() if name in names and r.array in partial}
    return relaxed_validity(dependences, scop, free)


def _names(node: isl.ScheduleNode) -> list[str]:
    return polyhedra.set_names(node.get_domain())


def is_parallel(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> bool:
    """Returns whether `check_parallel` would raise nothing; it looks for no witness, so it is faster."""
    return all(
        _may_have_partial(node, partial, scop, reductions)
        and carries_none(node, _validity_in(node, partial, scop, dependences, reductions))
        for node, partial in parallel_bands(schedule.get_root())
    )


def refusal(schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]) -> str:
    """Returns the message why the schedule or one of its parallel loops is illegal; "" where all are legal."""
    try:
        check_legal(schedule, scop, dependences, reductions)
        check_parallel(schedule, scop, dependences, reductions)
    except IllegalSchedule as problem:
        return problem.message
    return ""


def check_together(schedule: isl.Schedule, scop: Scop, dependences: Dependences, relaxed: Callable[[], isl.UnionMap]) -> None:
    """Raises IllegalSchedule where a loop that is vectorized or unrolled and jammed carries a dependence.

    relaxed: the dependences but for those among updates of reductions, which such loops may carry (`relaxed_validity`).
    """
    for band, directives in _bands_together(schedule.get_root()):
        if directives.unroll_jam:
            _refuse_carried(band, relaxed(), scop, dependences, "unrolled and jammed")
        if directives.vectorize:
            _refuse_carried(band, relaxed(), scop, dependences, "run in lanes")


def broken_pairs(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> isl.UnionMap:
    """Returns { S[i] -> T[j] }, all pairs for which `check_legal`, `check_parallel` or `check_together` refuses a schedule that runs
    every instance once.
    """
    relaxed, root = relaxed_validity(dependences, scop, reductions), schedule.get_root()
    order = schedule.get_map().intersect_domain(schedule.get_domain())
    found = [violated(order, relaxed), *(carried(band, relaxed) for band, _ in _bands_together(root))]
    for node, partial in parallel_bands(root):
        found.append(carried(node, _validity_in(node, partial, scop, dependences, reductions)))
    return polyhedra.union(found, NONE)


def _refuse_carried(band: isl.ScheduleNode, validity: isl.UnionMap, scop: Scop, dependences: Dependences, what: str) -> None:
    """Raises IllegalSchedule with a witness where a band's first loop carries a dependence.

    validity: { S[i] -> T[j] }, the dependences that it must not carry.
    what: what cannot be done with the loop, for the message.
    """
    if carries_none(band, validity):
        return
    broken = carried(band, validity)
    if not broken.is_empty():
        source, sink, why = reason(broken, scop, dependences)
        raise IllegalSchedule(f"{sink} depends on {source}, so their loop cannot be {what}", notes=[why])


def _bands_together(node: isl.ScheduleNode) -> list[tuple[isl.ScheduleNode, Directives]]:
    """Returns the bands of loops that are vectorized or unrolled and jammed, each with the directives in the mark above it."""
    found = [each for i in range(node.n_children()) for each in _bands_together(node.child(i))]
    named = parse_mark(node.mark_get_id().get_name()) if node.get_type() == NODE.mark else None
    return [(node.child(0), named[1]), *found] if named is not None and named[1].together else found


def only_updated(scop: Scop, names: Iterable[str], arrays: Iterable[str], reductions: Mapping[str, Reduction]) -> bool:
    """Returns whether the statements `names` touch each of the arrays by reductions of one operator alone."""
    operators: dict[str, set[str]] = {array: set() for array in arrays}
    for name in names:
        statement, reduction = scop.statements[name], reductions.get(name)
        touched = [a.array for a in (*statement.reads, *statement.writes)]
        for array in operators.keys() & {*touched}:
            if reduction is None or reduction.array != array or touched.count(array) != 2:
                return False
            operators[array].add(reduction.operator)
    return all(len(found) == 1 for found in operators.values())


def carried(node: isl.ScheduleNode, validity: isl.UnionMap) -> isl.UnionMap:
    """Returns the dependences { S[i] -> T[j] } that a band's first loop carries, within one iteration of the loops around it."""
    domain = node.get_domain()
    inside = validity.intersect_domain(domain).intersect_range(domain)
    member = isl.MultiUnionPwAff.from_union_pw_aff(node.band_get_partial_schedule().get_at(0))
    if node.get_schedule_depth() > 0:
        inside = inside.eq_at_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
    return inside.subtract(inside.eq_at_multi_union_pw_aff(member))


def _has_parallel(node: isl.ScheduleNode) -> bool:
    """Returns whether a loop inside or around the band is marked parallel."""
    above = node.parent()
    while above.has_parent():
        above = above.parent()
        if _partial_of(above) is not None:
            return True
    return bool(parallel_bands(node))


def _partial_of(node: isl.ScheduleNode) -> tuple[str, ...] | None:
    """Returns the arrays of which threads have partial results, from the mark of a parallel loop; None for any other node."""
    if node.get_type() != NODE.mark:
        return None
    text = node.mark_get_id().get_name()
    named = parse_mark(text)
    if named is None:
        return partial_results(text)
    return named[1].partial if named[1].parallel else None


def parallel_bands(node: isl.ScheduleNode) -> list[tuple[isl.ScheduleNode, tuple[str, ...]]]:
    """Returns the bands of loops marked parallel, each with the arrays of which threads have partial results.

    Raises IllegalSchedule for a mark that does not stand above a band of one loop.
    """
    found = [band for i in range(node.n_children()) for band in parallel_bands(node.child(i))]
    partial = _partial_of(node)
    if partial is not None:
        below = node.child(0)
        if below.get_type() != NODE.band:
            raise IllegalSchedule("a mark `parallel` stands right above the band of its loop")
        if below.band_n_member() > 1 or _has_unmarked_band(below.child(0)):
            raise IllegalSchedule("a mark `parallel` is for one loop: the loops inside it stand under a mark of their own")
        found.insert(0, (below, partial))
    return found


def _has_unmarked_band(node: isl.ScheduleNode) -> bool:
    """Returns whether, on some way down from the node, a band comes before any mark.

    The mark above the node would then be taken for that band's loop if isl made no loop between the two.
    """
    if node.get_type() in (NODE.band, NODE.mark):
        return node.get_type() == NODE.band
    return any(_has_unmarked_band(node.child(i)) for i in range(node.n_children()))
