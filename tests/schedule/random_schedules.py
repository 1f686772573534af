"""Random legal schedules: what the tests run to see that every legal order computes the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.affine.isl_options import isl_options
from polyml.schedule.legality.check import is_legal
from polyml.schedule.tree.bands import NODE, PARALLEL, POINT, Band, band_of, mark, reorder, replace_band

STEPS = 5
OPERATIONS = 3_000_000  # isl operations that one step may take; a step that needs more is not taken

Node = isl.ScheduleNode


def random_legal_schedule(scop: Scop, deps: Dependences, rng: Random, *, steps: int = STEPS) -> isl.Schedule:
    """A schedule that keeps every dependence: isl's under random options, or the source's, changed `steps` times.

    A change is a random tile, interchange, reversal, skew, shift, split, distribution or reordering; one that breaks a
    dependence is taken back. Loops whose iterations are independent are sometimes marked parallel.
    """
    order = _Order(scop, deps)
    schedule = _start(scop, deps, rng)
    for _ in range(steps):
        changed = _within_budget(lambda: _changed(schedule, order, rng))
        if changed is not None:
            schedule = changed
    return _within_budget(lambda: _with_parallel_loops(schedule, order, rng)) or schedule


class _Order:
    """The dependences that schedules have to keep, { S[i] -> T[j] }."""

    def __init__(self, scop: Scop, deps: Dependences):
        self._scop, self._deps = scop, deps

    def is_kept_by(self, schedule: isl.Schedule) -> bool:
        return is_legal(schedule, self._scop, self._deps)

    def open_at(self, node: Node) -> isl.UnionMap:
        """The dependences between instances below the node that loops above it have not put in order."""
        domain, prefix = node.get_domain(), node.get_prefix_schedule_union_map()
        inside = self._deps.validity.intersect_domain(domain).intersect_range(domain)
        return inside.intersect(prefix.apply_range(prefix.reverse()))

    def is_permutable(self, band: Node) -> bool:
        """No member goes backwards along a dependence, so that members may be interchanged and tiled."""
        waiting = self.open_at(band)
        maps = [isl.UnionMap.from_union_pw_aff(member) for member in band_of(band).members]
        return all(waiting.intersect(m.lex_gt_union_map(m)).is_empty() for m in maps)

    def is_parallel(self, band: Node) -> bool:
        """The iterations of a band of one member are independent of each other."""
        (member,) = band_of(band).members
        time = isl.UnionMap.from_union_pw_aff(member)
        waiting = self.open_at(band)
        return waiting.subtract(time.apply_range(time.reverse())).is_empty()


def _within_budget(attempt: Callable[[], isl.Schedule | None]) -> isl.Schedule | None:
    try:
        with budget(OPERATIONS):
            return attempt()
    except BudgetExceeded:
        return None


def _start(scop: Scop, deps: Dependences, rng: Random) -> isl.Schedule:
    if rng.random() < 0.3:
        return scop.schedule
    options = {
        "serialize_sccs": rng.choice((0, 1)),
        "maximize_coincidence": rng.choice((0, 1)),
        "outer_coincidence": rng.choice((0, 1)),
        "maximize_band_depth": rng.choice((0, 1)),
        "whole_component": rng.choice((0, 1)),
        "max_coefficient": rng.choice((-1, 1, 2)),
        "treat_coalescing": rng.choice((0, 1)),
    }
    constraints = isl.ScheduleConstraints.on_domain(scop.domain).set_context(scop.context)
    constraints = constraints.set_validity(deps.validity).set_coincidence(deps.validity)
    constraints = constraints.set_proximity(rng.choice((deps.validity, deps.flow, deps.anti.union(deps.output))))
    with isl_options(**{f"schedule_{name}": value for name, value in options.items()}):
        return _within_budget(lambda: _isl_schedule(constraints)) or scop.schedule


def _isl_schedule(constraints: isl.ScheduleConstraints) -> isl.Schedule | None:
    """None where isl finds none: under some options it gives up ("unable to carry dependences")."""
    try:
        return constraints.compute_schedule()
    except isl.Error as problem:
        if "unable to carry dependences" not in str(problem):
            raise
        return None


# changes of the tree


def _changed(schedule: isl.Schedule, order: _Order, rng: Random) -> isl.Schedule | None:
    """The schedule after one random change, or None where the change was not possible or not legal."""
    places = _paths(schedule.get_root(), (NODE.band, NODE.sequence))
    if not places:
        return None
    node = _at(schedule, rng.choice(places))
    change = rng.choice(_BAND_CHANGES if node.get_type() == NODE.band else (_reordered,))
    new = change(node, order, rng)
    if new is None:
        return None
    result = new.get_schedule()
    return result if order.is_kept_by(result) else None


def _tiled(band: Node, order: _Order, rng: Random) -> Node | None:
    """for i, j: S  ->  for it, jt step (a, b): for i in tile, j in tile: S"""
    if not order.is_permutable(band):
        return None
    sizes = isl.MultiVal.zero(band.band_get_space())
    for member in range(band.band_n_member()):
        sizes = sizes.set_val(member, isl.Val(rng.randint(1, 7)))
    with isl_options(tile_scale_tile_loops=0, tile_shift_point_loops=0):  # tiles of tiles stay simple for isl
        return band.band_tile(sizes)


def _interchanged(band: Node, order: _Order, rng: Random) -> Node | None:
    count = band.band_n_member()
    if count < 2 or not order.is_permutable(band):
        return None
    return replace_band(band, reorder(band_of(band), rng.sample(range(count), count)))


def _reversed(band: Node, order: _Order, rng: Random) -> Node:
    return _with_member(band, rng, lambda member, others: member.scale_val(isl.Val(-1)))


def _skewed(band: Node, order: _Order, rng: Random) -> Node | None:
    """for i, j: S  ->  for i, j + f * i: S"""
    if band.band_n_member() < 2:
        return None
    factor = isl.Val(rng.choice((-1, 1, 2)))
    return _with_member(band, rng, lambda member, others: member.add(rng.choice(others).scale_val(factor)))


def _shifted(band: Node, order: _Order, rng: Random) -> Node:
    """Every statement's iterations move by a constant of its own."""

    def moved(member: isl.UnionPwAff, others) -> isl.UnionPwAff:
        for piece in polyhedra.pieces(member.domain()):
            by = isl.UnionPwAff.val_on_domain(isl.UnionSet.from_set(piece), isl.Val(rng.randint(-3, 3)))
            member = member.add(by).union_add(member.subtract_domain_union_set(isl.UnionSet.from_set(piece)))
        return member

    return _with_member(band, rng, moved)


def _split(band: Node, order: _Order, rng: Random) -> Node | None:
    members = band.band_n_member()
    return band.band_split(rng.randint(1, members - 1)) if members > 1 else None


def _distributed(band: Node, order: _Order, rng: Random) -> Node | None:
    """for i: S; T  ->  for i: S   for i: T"""
    statements = polyhedra.pieces(band.get_domain())
    if len(statements) < 2:
        return None
    chosen = isl.UnionSet.from_set(rng.choice(statements)).universe()
    return band.order_before(chosen) if rng.random() < 0.5 else band.order_after(chosen)


def _reordered(sequence: Node, order: _Order, rng: Random) -> Node:
    """One part of a sequence moves to its front or its end."""
    chosen = sequence.child(rng.randrange(sequence.n_children())).filter_get_filter()
    return sequence.order_before(chosen) if rng.random() < 0.5 else sequence.order_after(chosen)


_BAND_CHANGES = (_tiled, _tiled, _interchanged, _reversed, _skewed, _shifted, _split, _distributed)


def _with_parallel_loops(schedule: isl.Schedule, order: _Order, rng: Random) -> isl.Schedule:
    """Marks about half of the loops whose iterations are independent, each after splitting it from its band."""
    for path in sorted(_paths(schedule.get_root(), (NODE.band,)), key=len, reverse=True):
        band = _at(schedule, path)
        member, members = rng.randrange(band.band_n_member()), band.band_n_member()
        if member + 1 < members:
            band = band.band_split(member + 1)
        if member:
            band = band.band_split(member).child(0)
        if rng.random() < 0.5 and order.is_parallel(band):
            band = mark(band.child(0), POINT).ancestor(2)  # the mark below ends what the one above claims
            schedule = mark(band, PARALLEL).get_schedule()
    return schedule


# the tree


def _paths(node: Node, kinds: tuple, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Where the nodes of these kinds stand: which child to take from the root on."""
    found = [path] if node.get_type() in kinds else []
    for index in range(node.n_children()):
        found += _paths(node.child(index), kinds, (*path, index))
    return found


def _at(schedule: isl.Schedule, path: tuple[int, ...]) -> Node:
    node = schedule.get_root()
    for index in path:
        node = node.child(index)
    return node


def _with_member(band: Node, rng: Random, change: Callable) -> Node:
    """The band with one member replaced by change(member, the other members); nothing is claimed of the new band."""
    members = list(band_of(band).members)
    index = rng.randrange(len(members))
    members[index] = change(members[index], members[:index] + members[index + 1 :])
    return replace_band(band, Band(tuple(members), (False,) * len(members), False))
