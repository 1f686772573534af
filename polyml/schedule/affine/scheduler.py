"""The loops of each component before tiling: isl's scheduler under two settings, and the choice between them.

parallel form      outer loops that carry nothing, where there are any
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
from polyml.schedule.affine.traffic_fusion import Setting, join_passes
from polyml.schedule.analysis.strides import iterators_of, jumps
from polyml.schedule.tree.bands import NODE, Band, band_of, replace_band, rewrite_bands
from polyml.schedule.tree.text import parse_tree, print_tree

OPERATIONS = 64_000  # isl operations for one form of a schedule, and OPERATIONS_PER_STATEMENT for each statement:
OPERATIONS_PER_STATEMENT = 12_000  # what the kernels need. Beyond it isl's integers may grow, and an operation take 1 ms


def affine_schedule(
    scop: Scop,
    dependences: Dependences,
    fusion: str = "smart",
    setting: Setting | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[isl.Schedule, tuple[str, ...]]:
    """The loops of each component, before tiling; and what was decided and given up on the way, for `explain`.

    fusion: as in `Options`; "model" needs the setting that it chooses in. sizes: values of parameters to judge by.
    """
    notes: tuple[str, ...] = ()
    operations = _operations(scop)
    form, asked = _parallel_form(scop, dependences)
    sequential = any(_is_sequential(node) for node in _outer_bands(form.get_root()))
    if sequential and any(_may_be_tileable(s, scop, dependences) for s in scop.statements.values()):
        try:
            with polyhedra.budget(operations):
                permutable_form, _ = _isl_schedule(asked, schedule_serialize_sccs=1)
            form = _choose(form, permutable_form, scop)
        except polyhedra.BudgetExceeded as problem:
            notes = (f"loops that may be exchanged: given up ({problem})",)
    form = _unskewed(form, scop, dependences)
    if fusion == "no":
        return form, notes
    if fusion == "model":
        form, found = apply(join_passes, form, scop, dependences, setting, sizes)
        notes += found
    form = apply(fuse, form, scop, dependences, everything=fusion == "max")
    return apply(shift, form, scop, dependences), notes


def parallel_schedule(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """The parallel form of each component: loops that carry nothing as far out as there are any."""
    return _parallel_form(scop, dependences)[0]


def _parallel_form(scop: Scop, dependences: Dependences) -> tuple[isl.Schedule, _Asked]:
    with polyhedra.budget(_operations(scop)):
        return _isl_schedule(_Asked.of(scop, dependences), schedule_serialize_sccs=1, schedule_outer_coincidence=1)


def _operations(scop: Scop) -> int:
    return OPERATIONS + OPERATIONS_PER_STATEMENT * len(scop.statements)


def _may_be_tileable(statement: Statement, scop: Scop, dependences: Dependences) -> bool:
    """Whether the statement allows three loops to be exchanged as they are: no dependence on itself points back, and ways over
    another statement do not lead back to it from both sides.
    """
    depth = len(statement.iterators)
    if depth < 3:
        return False
    space = statement.domain.get_space()
    own = dependences.validity.intersect_domain(isl.UnionSet.from_set(statement.domain))
    own = own.intersect_range(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return not _is_between(statement, scop, dependences)
    apart = own.extract_map(space.map_from_domain_and_range(space)).deltas()
    names = [f"d{i}" for i in range(depth)]
    backward = " or ".join(f"{n} < 0" for n in names)
    back = isl.Set(f"{{ {statement.name}[{', '.join(names)}] : {backward} }}")
    return apart.intersect(back).is_empty() and not _is_between(statement, scop, dependences)


def _is_between(statement: Statement, scop: Scop, dependences: Dependences) -> bool:
    """Whether dependences on some statement and from there back lead forth along a loop and back along it, as a stencil's do."""
    for other in scop.statements.values():
        there = polyhedra.extract_map(dependences.validity, statement.domain, other.domain)
        if other is statement or there.is_empty():
            continue
        if polyhedra.has_opposite_distances(there, polyhedra.extract_map(dependences.validity, other.domain, statement.domain)):
            return True
    return False


@dataclass(frozen=True)
class _Asked:
    """What isl is asked to keep in order. simple: the relations without what the domain says of them, which makes isl many times
    faster on stencils; None where isl fails on them (it cannot carry a dependence that the domain bounds).
    """

    domain: isl.UnionSet
    validity: isl.UnionMap
    simple: isl.UnionMap | None

    @staticmethod
    def of(scop: Scop, dependences: Dependences) -> _Asked:
        domain, validity = scop.domain, dependences.validity.coalesce()
        return _Asked(domain, validity, validity.gist_domain(domain).gist_range(domain))


def _isl_schedule(asked: _Asked, **options: int) -> tuple[isl.Schedule, _Asked]:
    """isl's schedule under some options, and what to ask with others."""
    with isl_options(**options):
        try:
            if asked.simple is not None:
                made = schedule_constraints(asked.domain, asked.simple).compute_schedule()
                return merge_bands(made, asked.validity), asked
        except isl.Error as error:
            if "unable to carry" not in str(error):
                raise
        made = schedule_constraints(asked.domain, asked.validity).compute_schedule()
        return made, replace(asked, simple=None)


def merge_bands(schedule: isl.Schedule, validity: isl.UnionMap) -> isl.Schedule:
    """Bands right inside one another become one where all their members may be exchanged: none carries backwards."""

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
    """The schedule as it is, with the loops known that carry nothing, those right inside one another in one band."""

    def known(node: isl.ScheduleNode) -> isl.ScheduleNode:
        band = band_of(node)
        free = tuple(stays(member, node, found.validity) for member in band.members)
        node = replace_band(node, Band(band.members, free, len(free) == 1))
        return rewrite_bands(node.child(0), known).parent()

    return merge_bands(rewrite_bands(schedule.get_root().child(0), known).get_schedule(), found.validity)


def _points_forward(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> bool:
    """Whether no dependence, the loops around `node` being equal, goes back along the member."""
    return polyhedra.has_no_pair(_along(member, node, validity), isl.Map.lex_gt)


def stays(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> bool:
    """Whether no dependence, the loops around `node` being equal, moves along the member."""
    times = _along(member, node, validity)
    return polyhedra.has_no_pair(times, isl.Map.lex_gt) and polyhedra.has_no_pair(times, isl.Map.lex_lt)


def _along(member: isl.UnionPwAff, node: isl.ScheduleNode, validity: isl.UnionMap) -> isl.UnionMap:
    """The dependences inside a node as pairs of the member's values: { [t] -> [t'] }."""
    domain = node.get_domain()
    inside = validity.intersect_domain(domain).intersect_range(domain)
    if node.get_schedule_depth() > 0:
        inside = inside.eq_at_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
    along = isl.UnionMap.from_union_pw_aff(member)
    return inside.apply_domain(along).apply_range(along)


def schedule_constraints(domain: isl.UnionSet, validity: isl.UnionMap) -> isl.ScheduleConstraints:
    """Validity, coincidence and proximity, always all three: without coincidence isl calls every loop parallel."""
    constraints = isl.ScheduleConstraints.on_domain(domain)
    return constraints.set_validity(validity).set_coincidence(validity).set_proximity(validity)


def _outer_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    if node.get_type() == NODE.band:
        return [node]
    return [band for i in range(node.n_children()) for band in _outer_bands(node.child(i))]


def _is_sequential(node: isl.ScheduleNode) -> bool:
    return not any(band_of(node).coincident)


def _choose(parallel_form: isl.Schedule, permutable_form: isl.Schedule, scop: Scop) -> isl.Schedule:
    """Component by component the form to go on with.

    Where no outer loop is parallel and three or more plain loops can be exchanged (LU, Cholesky), tiles of all of them
    beat parallel inner loops: each element is brought to the cache once per tile instead of once per step.
    """
    before, after = components(parallel_form), components(permutable_form)
    if len(before) != len(after):
        return parallel_form
    chosen = []
    for first, second in zip(before, after):
        names = _names(first)
        match = second if _names(second) == names else next((c for c in after if _names(c) == names), None)
        chosen.append(match if match is not None and _tileable(match) and not _outer_parallel(first) else first)
    result = chosen[0]
    for component in chosen[1:]:
        result = result.sequence(component)
    return result


def components(schedule: isl.Schedule) -> list[isl.Schedule]:
    """The parts of a top-level sequence, each a schedule of its own."""
    top = schedule.get_root().child(0)
    if top.get_type() != NODE.sequence:
        return [schedule]
    return [_part(schedule, top.child(i), i) for i in range(top.n_children())]


def _part(schedule: isl.Schedule, child: isl.ScheduleNode, number: int) -> isl.Schedule:
    """A child of the outermost sequence as a schedule of its own."""
    instances = child.filter_get_filter()
    found = schedule.intersect_domain(instances)
    if found.get_root().child(0).get_type() == child.child(0).get_type():
        return found
    below = parse_tree(str(schedule))["child"]["sequence"][number].get("child")  # isl does not see that other children have none
    tree = {"domain": str(schedule.get_domain().intersect(instances))}
    return isl.Schedule(print_tree(tree if below is None else {**tree, "child": below}))


def _names(schedule: isl.Schedule) -> frozenset[str]:
    found = schedule.get_domain().get_set_list()
    return frozenset(found.get_at(i).get_tuple_name() for i in range(found.n_set()))


def _outer_parallel(schedule: isl.Schedule) -> bool:
    return all(not _is_sequential(node) for node in _outer_bands(schedule.get_root()))


def _tileable(schedule: isl.Schedule) -> bool:
    """One outer band of three or more exchangeable members, each a plain iterator (no skew)."""
    bands = _outer_bands(schedule.get_root())
    if len(bands) != 1:
        return False
    band = band_of(bands[0])
    return band.permutable and len(band.members) >= 3 and all(_is_plain(m) for m in band.members)


def _is_plain(member: isl.UnionPwAff) -> bool:
    """Whether every statement's expression is one iterator, possibly shifted or reversed, or a constant."""
    pieces = member.get_pw_aff_list()
    for i in range(pieces.n_pw_aff()):
        for coefficients in polyhedra.iterator_coefficients(pieces.get_at(i)):
            if sum(abs(c) for c in coefficients) > 1:
                return False
    return True


def _unskewed(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> isl.Schedule:
    """The source's order for components whose new order costs more than it gains.

    A skew costs the rows' contiguity. It pays where every iteration of the innermost loop needs the one before
    (Gauss-Seidel); where only a few of them are involved (Floyd and Warshall's row and column k) it does not. In a
    sequence of vector operations (a triangular solve) the loop inside is too short to share, so rows come first.
    """
    parts = []
    for part in components(schedule):
        is_skewed = not _skew_pays(part, scop, dependences)
        if is_skewed or _leaves_rows(part, scop):
            part = scop.schedule.intersect_domain(part.get_domain())
        parts.append(in_source_order(part, dependences) if is_skewed else part)
    result = parts[0]
    for part in parts[1:]:
        result = result.sequence(part)
    return result


def _leaves_rows(schedule: isl.Schedule, scop: Scop) -> bool:
    """Whether loops two deep inside a sequential one jump from row to row where the source's do not."""
    names = sorted(_names(schedule))
    if _outer_parallel(schedule) or any(len(scop.statements[n].iterators) > 2 for n in names):
        return False
    now = before = 0
    for name in names:
        innermost = _innermost(schedule, name)
        now += jumps(scop, name, innermost)
        before += jumps(scop, name, [len(scop.statements[name].iterators) - 1])
    return now > before


def _innermost(schedule: isl.Schedule, name: str) -> list[int]:
    """The iterators that the innermost loop around a statement moves with."""
    found: list[int] = []
    for node in _all_bands(schedule.get_root()):
        for member in band_of(node).members:
            found = iterators_of(member, name) or found
    return found


def _skew_pays(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> bool:
    bands = _all_bands(schedule.get_root())
    if all(_is_plain(m) for node in bands for m in band_of(node).members):
        return True
    return any(_waits(scop.statements[name], dependences) for name in _names(schedule))


def _all_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    own = [node] if node.get_type() == NODE.band else []
    return own + [band for i in range(node.n_children()) for band in _all_bands(node.child(i))]


def _waits(statement: Statement, dependences: Dependences) -> bool:
    """Whether most instances of the innermost loop read what the instance before them wrote."""
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
