"""The loops of each component before tiling: isl's scheduler under two sets of options, and the choice between them.

parallel form      outer loops that carry no dependence, where there are any
permutable form    bands of loops that may be exchanged, for tiles
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop, Statement
from polyml.pass_manager import apply
from polyml.schedule.affine.fusion import fuse
from polyml.schedule.affine.isl_options import isl_options
from polyml.schedule.affine.shift import shift
from polyml.schedule.affine.traffic_fusion import FusionSetting, join_passes
from polyml.schedule.analysis.strides import iterators_of, jumps
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, Band, band_of, replace_band, rewrite_bands

OPERATIONS = 64_000  # isl operations for one form of a schedule, and OPERATIONS_PER_STATEMENT for each statement:
OPERATIONS_PER_STATEMENT = 12_000  # what the kernels need. Beyond it isl's integers may grow, and an operation take 1 ms


def affine_schedule(
    scop: Scop,
    dependences: Dependences,
    fusion: str = "smart",
    setting: FusionSetting | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[isl.Schedule, tuple[str, ...]]:
    """Returns the loops of each strongly connected component, before tiling, and notes on what was decided, for `explain`.

    fusion: the choice of fused loops, as in `Options`; "model" needs a setting.
    setting: the machine and limits for fusion that saves memory traffic.
    sizes: values of parameters to choose fusion by.
    """
    notes: tuple[str, ...] = ()
    operations = _operations(scop)
    form, constraints = _parallel_form(scop, dependences)
    sequential = any(_is_sequential(node) for node in _outer_bands(form.get_root()))
    if sequential and any(_may_be_tileable(s, scop, dependences) for s in scop.statements.values()):
        try:
            with polyhedra.budget(operations):
                permutable_form, _ = _isl_schedule(constraints, schedule_serialize_sccs=1)
            form = _choose(form, permutable_form, scop)
        except polyhedra.BudgetExceeded as problem:
            notes = (f"loops that may be exchanged: given up ({problem})",)
    form = _unskewed(form, scop, dependences)
    if fusion == "no":
        return form, notes
    if fusion == "model":
        form, found = apply(join_passes, form, scop, dependences, setting, sizes)
        notes += found
    form = apply(fuse, form, scop, dependences, () if setting is None else setting.reductions, everything=fusion == "max")
    return apply(shift, form, scop, dependences), notes


def parallel_schedule(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """Returns isl's schedule in which loops that carry no dependence are as far out as possible."""
    return _parallel_form(scop, dependences)[0]


def _parallel_form(scop: Scop, dependences: Dependences) -> tuple[isl.Schedule, _Constraints]:
    """Returns isl's schedule with parallel loops outermost, and the constraints for further calls of isl."""
    with polyhedra.budget(_operations(scop)):
        return _isl_schedule(_Constraints.of(scop, dependences), schedule_serialize_sccs=1, schedule_outer_coincidence=1)


def _operations(scop: Scop) -> int:
    """Returns how many of isl's operations one run of its scheduler on the SCoP may take."""
    return OPERATIONS + OPERATIONS_PER_STATEMENT * len(scop.statements)


def _may_be_tileable(statement: Statement, scop: Scop, dependences: Dependences) -> bool:
    """Returns whether the statement has at least three loops that may be tiled without skewing any.

    They may not where a dependence of the statement on itself goes back along a loop, or where it depends on itself through another
    statement both forth and back along a loop, as in a stencil.
    """
    depth = len(statement.iterators)
    if depth < 3:
        return False
    space = statement.domain.get_space()
    own = dependences.validity.intersect_domain(isl.UnionSet.from_set(statement.domain))
    own = own.intersect_range(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return not _is_between(statement, scop, dependences)
    distances = own.extract_map(space.map_from_domain_and_range(space)).deltas()
    names = [f"d{i}" for i in range(depth)]
    backward = " or ".join(f"{n} < 0" for n in names)
    back = isl.Set(f"{{ {statement.name}[{', '.join(names)}] : {backward} }}")
    return distances.intersect(back).is_empty() and not _is_between(statement, scop, dependences)


def _is_between(statement: Statement, scop: Scop, dependences: Dependences) -> bool:
    """Returns whether dependences by way of another statement go forth along a loop and also back along it, as a stencil's do."""
    for other in scop.statements.values():
        there = polyhedra.extract_map(dependences.validity, statement.domain, other.domain)
        if other is statement or there.is_empty():
            continue
        if polyhedra.has_opposite_distances(there, polyhedra.extract_map(dependences.validity, other.domain, statement.domain)):
            return True
    return False


@dataclass(frozen=True)
class _Constraints:
    """The constraints that isl's schedule has to keep.

    domain: { S[i] }, the instances.
    validity: { S[i] -> T[j] }, the dependences.
    simple: the dependences without the constraints that the domain implies, with which isl is many times faster on stencils. None
        where isl finds no schedule with them: without the domain's bounds, a dependence may be unbounded.
    """

    domain: isl.UnionSet
    validity: isl.UnionMap
    simple: isl.UnionMap | None

    @staticmethod
    def of(scop: Scop, dependences: Dependences) -> _Constraints:
        """Returns the constraints of a SCoP, the simplified ones among them."""
        domain, validity = scop.domain, dependences.validity.coalesce()
        return _Constraints(domain, validity, validity.gist_domain(domain).gist_range(domain))


def _isl_schedule(constraints: _Constraints, **options: int) -> tuple[isl.Schedule, _Constraints]:
    """Returns isl's schedule under some options, and the constraints for further calls of isl.

    The latter are `constraints`, without their simplified form where isl failed on it.
    """
    with isl_options(**options):
        try:
            if constraints.simple is not None:
                made = schedule_constraints(constraints.domain, constraints.simple).compute_schedule()
                return merge_bands(made, constraints.validity), constraints
        except isl.Error as error:
            if "unable to carry" not in str(error):
                raise
        made = schedule_constraints(constraints.domain, constraints.validity).compute_schedule()
        return made, replace(constraints, simple=None)


def merge_bands(schedule: isl.Schedule, validity: isl.UnionMap) -> isl.Schedule:
    """Returns the schedule with bands directly inside one another merged where no dependence goes back along any member."""

    def merged(node: isl.ScheduleNode) -> isl.ScheduleNode | None:
        changed = None
        while node.child(0).get_type() == NODE.band:
            inside = node.child(0)
            outer, inner = band_of(node), band_of(inside)
            if not outer.permutable or not all(_points_forward(m, node, validity) for m in inner.members):
                return changed
            coincident = tuple(c and stays(m, node, validity) for c, m in zip(inner.coincident, inner.members))
            whole = Band(outer.members + inner.members, outer.coincident + coincident, True)
            node = changed = replace_band(node.child(0).delete().parent(), whole)
        return changed

    return rewrite_bands(schedule.get_root().child(0), merged).get_schedule()


def in_source_order(schedule: isl.Schedule, found: Dependences) -> isl.Schedule:
    """Returns the schedule with its loops in the same order, and with bands that tell what is known of them.

    Loops that carry no dependence are marked coincident, and bands directly inside one another are merged where that is legal.
    """

    def known(node: isl.ScheduleNode) -> isl.ScheduleNode:
        band = band_of(node)
        free = tuple(stays(member, node, found.validity) for member in band.members)
        node = replace_band(node, Band(band.members, free, len(free) == 1))
        return rewrite_bands(node.child(0), known).parent()

    return merge_bands(rewrite_bands(schedule.get_root().child(0), known).get_schedule(), found.validity)


def _points_forward(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> bool:
    """Returns whether no dependence goes back along the member, within one iteration of the loops around `node`."""
    return polyhedra.has_no_pair(_along(member, node, validity), isl.Map.lex_gt)


def stays(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> bool:
    """Returns whether the member carries no dependence, within one iteration of the loops around `node`."""
    times = _along(member, node, validity)
    return polyhedra.has_no_pair(times, isl.Map.lex_gt) and polyhedra.has_no_pair(times, isl.Map.lex_lt)


def _along(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> isl.UnionMap:
    """Returns the dependences inside a node as pairs of values { [t] -> [t'] } of the member.

    Only dependences within one iteration of the loops around the node count.
    """
    domain = node.get_domain()
    inside = validity.intersect_domain(domain).intersect_range(domain)
    if node.get_schedule_depth() > 0:
        inside = inside.eq_at_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
    along = isl.UnionMap.from_union_pw_aff(member)
    return inside.apply_domain(along).apply_range(along)


def schedule_constraints(domain: isl.UnionSet, validity: isl.UnionMap) -> isl.ScheduleConstraints:
    """Returns isl's constraints with the dependences as validity, coincidence and proximity.

    Always all three are given: without coincidence isl calls every loop parallel.
    """
    constraints = isl.ScheduleConstraints.on_domain(domain)
    return constraints.set_validity(validity).set_coincidence(validity).set_proximity(validity)


def _outer_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """Returns the outermost bands below the node, or the node itself where it is a band."""
    if node.get_type() == NODE.band:
        return [node]
    return [band for i in range(node.n_children()) for band in _outer_bands(node.child(i))]


def _is_sequential(node: isl.ScheduleNode) -> bool:
    """Returns whether each loop of the band carries a dependence."""
    return not any(band_of(node).coincident)


def _choose(parallel_form: isl.Schedule, permutable_form: isl.Schedule, scop: Scop) -> isl.Schedule:
    """Returns for each component one of two schedules: the one with parallel outer loops, or the one with permutable loops.

    Where no outer loop is parallel and three or more loops without skew may be exchanged (LU, Cholesky), tiles of all of them
    are better than parallel inner loops: each element is brought to the cache once per tile instead of once per step.
    """
    before, after = components(parallel_form), components(permutable_form)
    if len(before) != len(after):
        return parallel_form
    chosen = []
    for first, second in zip(before, after):
        names = _names(first)
        match = second if _names(second) == names else next((c for c in after if _names(c) == names), None)
        chosen.append(match if match is not None and _tileable(match) and not _is_outer_parallel(first.get_root()) else first)
    result = chosen[0]
    for component in chosen[1:]:
        result = result.sequence(component)
    return result


def components(schedule: isl.Schedule) -> list[isl.Schedule]:
    """Returns the children of the schedule's outermost sequence, each as a schedule of its own."""
    top = schedule.get_root().child(0)
    if top.get_type() != NODE.sequence:
        return [schedule]
    return [_part(schedule, top.child(i), i) for i in range(top.n_children())]


def _part(schedule: isl.Schedule, child: isl.ScheduleNode, number: int) -> isl.Schedule:
    """Returns a child of the schedule's outermost sequence as a schedule of its own.

    number: the child's position in the sequence.
    """
    instances = child.filter_get_filter()
    found = schedule.intersect_domain(instances)
    if found.get_root().child(0).get_type() == child.child(0).get_type():
        return found
    below = nodes.tree_of(schedule)["child"]["sequence"][number].get("child")  # isl does not see that other children have none
    tree = {"domain": nodes.text_of(schedule.get_domain().intersect(instances))}
    return nodes.schedule(tree if below is None else {**tree, "child": below})


def _names(schedule: isl.Schedule) -> frozenset[str]:
    """Returns the names of the statements that the schedule runs."""
    return names_at(schedule.get_root())


def names_at(component: isl.ScheduleNode) -> frozenset[str]:
    """Returns the names of the statements of a component: a filter, or the root of a schedule."""
    is_root = component.get_type() == NODE.domain
    return frozenset(polyhedra.set_names(component.domain_get_domain() if is_root else component.filter_get_filter()))


def _is_outer_parallel(component: isl.ScheduleNode) -> bool:
    """Returns whether each outermost band has a loop that carries no dependence."""
    return all(not _is_sequential(node) for node in _outer_bands(component))


def _tileable(schedule: isl.Schedule) -> bool:
    """Returns whether the schedule has one outermost band, permutable, of three or more loops none of which is skewed."""
    bands = _outer_bands(schedule.get_root())
    if len(bands) != 1:
        return False
    band = band_of(bands[0])
    return band.permutable and len(band.members) >= 3 and all(_is_plain(m) for m in band.members)


def _is_plain(member: isl.UnionPwAff) -> bool:
    """Returns whether the member is, for each statement, a single iterator, possibly shifted or reversed, or a constant."""
    pieces = member.get_pw_aff_list()
    for i in range(pieces.n_pw_aff()):
        for coefficients in polyhedra.iterator_coefficients(pieces.get_at(i)):
            if sum(c if c > 0 else -c for c in coefficients) > 1:
                return False
    return True


def _unskewed(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule with the source's loops for components whose skewed or exchanged loops cost more than they gain.

    Skewed loops do not go along rows of memory. They pay where every iteration of the source's innermost loop needs the one before
    (Gauss-Seidel), not where only a few do (row and column k in Floyd and Warshall's algorithm). Where a sequential outer loop
    runs short vector operations (a triangular solve), loops along rows matter more than threads.
    """
    if not any(_is_skewed(node, scop, dependences) or _leaves_rows(node, scop) for node in component_nodes(schedule)):
        return schedule
    parts = []
    for part in components(schedule):
        root = part.get_root()
        is_skewed = _is_skewed(root, scop, dependences)
        if is_skewed or _leaves_rows(root, scop):
            part = scop.schedule.intersect_domain(part.get_domain())
        parts.append(in_source_order(part, dependences) if is_skewed else part)
    result = parts[0]
    for part in parts[1:]:
        result = result.sequence(part)
    return result


def component_nodes(schedule: isl.Schedule) -> list[isl.ScheduleNode]:
    """Returns the children of the schedule's outermost sequence, or its root where it does not begin with one."""
    top = schedule.get_root().child(0)
    return [top.child(k) for k in range(top.n_children())] if top.get_type() == NODE.sequence else [schedule.get_root()]


def _leaves_rows(component: isl.ScheduleNode, scop: Scop) -> bool:
    """Returns whether a component's innermost loops jump between rows of arrays in more accesses than the source's do.

    It returns False where each outermost band has a parallel loop, and where a statement has more than two loops.
    """
    if _is_outer_parallel(component):
        return False
    names = sorted(names_at(component))
    if any(len(scop.statements[n].iterators) > 2 for n in names):
        return False
    now = before = 0
    for name in names:
        innermost = _innermost(component, name)
        now += jumps(scop, name, innermost)
        before += jumps(scop, name, [len(scop.statements[name].iterators) - 1])
    return now > before


def _innermost(component: isl.ScheduleNode, name: str) -> list[int]:
    """Returns the positions of the iterators on which the innermost loop around the statement `name` depends."""
    found: list[int] = []
    for node in _all_bands(component):
        for member in band_of(node).members:
            found = iterators_of(member, name) or found
    return found


def _is_skewed(component: isl.ScheduleNode, scop: Scop, dependences: Dependences) -> bool:
    """Returns whether a component has skewed loops, but no statement whose skewing pays.

    It pays where most iterations of the source's innermost loop around the statement read what the one just before wrote.
    """
    if all(_is_plain(m) for node in _all_bands(component) for m in band_of(node).members):
        return False
    return not any(_waits(scop.statements[name], dependences) for name in names_at(component))


def _all_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """Returns the node, if it is a band, and all bands below it, outer before inner."""
    own = [node] if node.get_type() == NODE.band else []
    return own + [band for i in range(node.n_children()) for band in _all_bands(node.child(i))]


def _waits(statement: Statement, dependences: Dependences) -> bool:
    """Returns whether most instances of the statement read what the instance just before them in the innermost loop wrote."""
    depth = len(statement.iterators)
    mine = isl.UnionSet.from_set(statement.domain)
    own = dependences.flow.intersect_domain(mine).intersect_range(mine)
    if own.is_empty():
        return False
    before = [f"i{k}" for k in range(depth)]
    after = [*before[:-1], f"{before[-1]} + 1"]
    step = isl.Map(f"{{ {statement.name}[{', '.join(before)}] -> {statement.name}[{', '.join(after)}] }}")
    space = statement.domain.get_space()
    waiting = own.extract_map(space.map_from_domain_and_range(space)).intersect(step).domain()
    return not waiting.is_empty() and polyhedra.is_full(waiting)
