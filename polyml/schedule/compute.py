"""Scop and Dependences -> Schedule: isl's scheduler for the affine part, our own choices on the tree.

    components   each strongly connected part of the dependence graph gets its own bands
    forms        the parallel one (outer loops carry nothing) or the permutable one (for tiling by wavefronts)
    mapping      tiles, the loop that goes to threads
    check        every result against the exact dependences
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml.machine import CpuMachine
from polyml.model.dependence import Dependences
from polyml.model.scop import Scop, Statement
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.fusion import fuse
from polyml.schedule.legality import check_legal, check_parallel
from polyml.schedule.mapping import map_bands
from polyml.schedule.options import isl_options
from polyml.schedule.tree import NODE, band_of

OPERATIONS = 20_000_000  # isl operations for one schedule, a few seconds at most


@dataclass(frozen=True)
class Scheduled:
    """tree: the schedule, legal. notes: what was decided, for `explain`."""

    tree: isl.Schedule
    notes: tuple[str, ...]


def compute(scop: Scop, dependences: Dependences, machine: CpuMachine, *, tile: bool, parallel: bool) -> Scheduled:
    """A legal schedule of the whole SCoP. Past isl's budget it is the source order, and a note says so."""
    if not scop.statements:
        return Scheduled(scop.schedule, ("nothing to schedule",))
    try:
        with budget(OPERATIONS):
            tree = affine_schedule(scop, dependences)
            tree, notes = map_bands(tree, scop, dependences, machine, tile=tile, parallel=parallel)
            check_legal(tree, scop, dependences)
            check_parallel(tree, scop, dependences)
            return Scheduled(tree, notes)
    except BudgetExceeded:
        return Scheduled(scop.schedule, (f"scheduling exceeded {OPERATIONS} isl operations: source order",))


def affine_schedule(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """The loops of each component, before tiling."""
    parallel_form = _isl_schedule(scop, dependences, schedule_serialize_sccs=1, schedule_outer_coincidence=1)
    sequential = any(_is_sequential(node) for node in _outer_bands(parallel_form.get_root()))
    if sequential and any(_may_be_tileable(s, dependences) for s in scop.statements.values()):
        permutable_form = _isl_schedule(scop, dependences, schedule_serialize_sccs=1)
        parallel_form = _choose(parallel_form, permutable_form, scop)
    return fuse(parallel_form, scop, dependences)


def _may_be_tileable(statement: Statement, dependences: Dependences) -> bool:
    """Whether the statement alone allows three loops to be exchanged as they are: no dependence on itself points back."""
    depth = len(statement.iterators)
    if depth < 3:
        return False
    space = statement.domain.get_space()
    own = dependences.validity.intersect_domain(isl.UnionSet.from_set(statement.domain))
    own = own.intersect_range(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return True
    apart = own.extract_map(space.map_from_domain_and_range(space)).deltas()
    names = [f"d{i}" for i in range(depth)]
    backward = " or ".join(f"{n} < 0" for n in names)
    back = isl.Set(f"{{ {statement.name}[{', '.join(names)}] : {backward} }}")
    return apart.intersect(back).is_empty()


def _isl_schedule(scop: Scop, dependences: Dependences, **options: int) -> isl.Schedule:
    """isl's schedule under some options.

    The relations are simplified by the domain first, which makes isl many times faster on stencils; where isl then fails
    (it cannot carry a dependence that the domain bounds) it gets them in full.
    """
    domain, validity = scop.domain, dependences.validity.coalesce()
    with isl_options(**options):
        try:
            simple = validity.gist_domain(domain).gist_range(domain)
            return schedule_constraints(domain, simple).compute_schedule()
        except isl.Error as error:
            if "unable to carry" not in str(error):
                raise
        return schedule_constraints(domain, validity).compute_schedule()


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
    before, after = _components(parallel_form), _components(permutable_form)
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


def _components(schedule: isl.Schedule) -> list[isl.Schedule]:
    """The parts of a top-level sequence, each a schedule of its own."""
    top = schedule.get_root().child(0)
    if top.get_type() != NODE.sequence:
        return [schedule]
    parts = []
    for i in range(top.n_children()):
        parts.append(schedule.intersect_domain(top.child(i).filter_get_filter()))
    return parts


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
    """Whether every statement's expression is one iterator, possibly shifted."""
    pieces = member.get_pw_aff_list()
    for i in range(pieces.n_pw_aff()):
        text = str(pieces.get_at(i))
        body = text[text.rindex("[(") + 2 : text.rindex(")]")]
        if "*" in body or "floor" in body or any(c.isdigit() and body[j + 1 : j + 2].isalpha() for j, c in enumerate(body)):
            return False
        names = [t for t in body.replace("-", "+").split("+") if t.strip() and not t.strip().isdigit()]
        if len(names) > 1 or "-" in body.split("+")[0][:1]:
            return False
    return True
