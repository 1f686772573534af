"""The source's order with loops for threads and for lanes: those that carry no dependence, for SCoPs with regions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Role, Scop, Statement
from polyml.model.index_arrays.origins import INJECTIVE, MONOTONIC, IndexFact
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.private_numbers import flags, private_numbers
from polyml.schedule.analysis.traffic import ASSUMED
from polyml.schedule.legality.check import parallel_bands
from polyml.schedule.legality.proof import carries_none
from polyml.schedule.tree.bands import APART, NODE, POINT, band_of, insert_band, mark, parallel_mark, scaled_floor
from polyml.source import Loc

_MOST_TOLD = 3  # of what carries dependences
_REGION_WORK = 16  # plain instances that one of a region takes as long as
_STRIP = 512  # iterations of an innermost loop that one thread takes at once, as vectors
_PLAIN_BITS = 64  # of the elements that those write


def with_threads(
    scop: Scop,
    dependences: Dependences,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
    tree: isl.Schedule | None = None,
) -> isl.Schedule:
    """Returns the schedule of a SCoP's source order in which each outermost loop goes to threads that carries no dependence, or none
    but those among sums and other reductions of numbers, of which each thread has partial results then.

    reductions: by statement, the updates whose order is free
    tree: the schedule, if it is not the SCoP's own
    """
    numbers = {name: r for name, r in reductions.items() if not scop.arrays[r.array].shape}
    updates = FreeUpdates(scop, dependences, numbers)
    return _marked((tree or scop.schedule).get_root(), updates).root().get_schedule()


def with_lanes(schedule: isl.Schedule, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule of a SCoP's source order in which each innermost loop that carries no dependence is marked as such."""
    return _apart(schedule.get_root(), dependences.validity).root().get_schedule()


@dataclass(frozen=True)
class OrderedLoop:
    """An OrderedLoop is a loop around a region that runs in order, as a part of the region.

    place: where it stands
    carriers: what of the region may carry a dependence, as clauses
    helpful: what would have to be known of index arrays for the loop, or one inside of it, to go to threads; () where nothing is known
        to help
    names: the user's name of each of their arrays
    """

    place: Loc
    carriers: tuple[str, ...]
    helpful: tuple[IndexFact, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def why(self) -> str:
        """Returns why it runs in order, as a clause; "" where that is not known."""
        return " and ".join(self.carriers[:_MOST_TOLD])

    @property
    def wish(self) -> str:
        """Returns what would make it parallel, as a clause; "" for nothing."""
        told = (_WISHES[fact.kind].format(self.names[fact.array]) for fact in self.helpful)
        return f"it would be parallel if {' and '.join(told)}" if self.helpful else ""

    @property
    def advice(self) -> str:
        """Returns the statements that would say so; "" for none."""
        return "; ".join(f"polyml.assume(polyml.{fact.kind}({self.names[fact.array]}))" for fact in self.helpful)

    def __str__(self) -> str:
        since = f", since {self.why}" if self.why else ""
        wish = f"; {self.wish}: {self.advice}" if self.helpful else ""
        return f"the loop in line {self.place.line} runs in order, in a region{since}{wish}"


_WISHES = {INJECTIVE: "no number were twice in {}", MONOTONIC: "no number in {} were less than the one before it"}


@dataclass(frozen=True)
class RowWork:
    """A RowWork says which loops for threads, that others stand around and that run regions without loops of their own, are worth threads.

    least: plain instances that one has to have; math.inf where one thread runs the loops
    sizes: values of parameters in the call that code is made for
    """

    least: float = 0.0
    sizes: Mapping[str, int] = field(default_factory=dict)


def rows_of_regions(scop: Scop, dependences: Dependences) -> dict[str, int]:
    """Returns how many loops are around the outermost one for threads, by region without loops of its own, where some are."""
    regions = {name: s for name, s in scop.statements.items() if s.region is not None and _has_no_loops(s)}
    return {name: depth for name, depth in _threaded_depths(scop, dependences).items() if depth > 0 and name in regions}


def sequential_loops(
    scop: Scop, dependences: Dependences | None, around: frozenset[Loc] = frozenset(), worth: RowWork = RowWork()
) -> frozenset[Loc]:
    """Returns the places of the outermost loops around regions of which no loop may go to threads, and of those inside of loops for threads
    around regions without loops of their own.

    dependences: None where they are not known
    around: the places of loops that do not count, since they stay loops of the model in any case
    worth: which loops for threads are a reason to keep those around them
    """
    depths = {} if dependences is None else _threaded_depths(scop, dependences)
    regions = {name: s for name, s in scop.statements.items() if s.region is not None}
    for name in depths.keys() & regions.keys():
        if depths[name] > 0 and _has_no_loops(regions[name]):
            if _iterations(scop, regions[name], depths[name], worth.sizes) * _REGION_WORK < worth.least:
                del depths[name]
    ends = {name: depths[name] + 1 if _has_no_loops(s) else len(s.loops) for name, s in regions.items() if name in depths}
    kept = {*around, *(loop for name, end in ends.items() for loop in regions[name].loops[:end])}
    others = (s.loops for s in regions.values() if s.iterators)
    places = (next((loop for loop in loops if loop not in kept), None) for loops in others)
    return frozenset(place for place in places if place is not None)


def loops_around_threads(scop: Scop, dependences: Dependences | None) -> frozenset[Loc]:
    """Returns the places of loops around assignments that loops inside of them may run on threads.

    dependences: None where they are not known
    """
    threaded = frozenset() if dependences is None else _threaded(scop, dependences)
    found = (loop for name in threaded if scop.statements[name].region is None for loop in scop.statements[name].loops)
    return frozenset(loop for loop in found if loop is not None)


def work_inside(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], sizes: Mapping[str, int], is_shared: bool
) -> dict[Loc, int]:
    """Returns the work that loops inside of the loops which data end have for threads and vectors, in plain instances in each iteration, by the
    places of the loops around.

    reductions: by statement, the updates whose order is free
    sizes: values of parameters in the call that code is made for
    is_shared: whether there are several threads, which also share loops of regions
    """
    threaded, work = _threaded(scop, dependences, reductions), dict[Loc | None, int]()
    for statement in scop.statements.values():
        leaves = () if statement.region is None or statement.name in threaded else statement.region.leaves
        if leaves:
            work[statement.loops[statement.iterators.index(leaves[1])]] = 0
    for statement in (scop.statements[name] for name in threaded):
        for depth, place in enumerate(statement.loops if is_shared or statement.region is None else (), 1):
            if place in work:
                work[place] += round(_iterations(scop, statement, depth, sizes) * _instance_work(scop, statement))
    return {place: found for place, found in work.items() if place is not None}


def _instance_work(scop: Scop, statement: Statement) -> float:
    """Returns the plain instances that one of a statement takes as long as: vectors have more elements that are shorter."""
    return _REGION_WORK if statement.region is not None else scop.arrays[statement.write.array].element.bits / _PLAIN_BITS


def region_work(scop: Scop, dependences: Dependences, sizes: Mapping[str, int]) -> dict[Loc, int]:
    """Returns the work of loops around regions that go to threads, in plain instances, by the places of these loops and those inside.

    sizes: values of parameters in the call that code is made for
    """
    found = dict[Loc | None, int]()
    for statement in (scop.statements[name] for name in _threaded(scop, dependences)):
        for depth, place in enumerate(statement.loops if statement.region is not None else ()):
            found[place] = max(found.get(place, 0), _iterations(scop, statement, depth, sizes) * _REGION_WORK)
    return {place: work for place, work in found.items() if place is not None}


def _iterations(scop: Scop, statement: Statement, depth: int, sizes: Mapping[str, int]) -> int:
    """Returns about how often a statement runs in an iteration of the loop around it at a depth, 0 where that is not known."""
    known = {p.name: sizes.get(p.name, 1 if p.found else ASSUMED) for p in scop.parameters}
    lengths = polyhedra.box_lengths(polyhedra.at_sizes(statement.domain, known))
    return 0 if lengths is None else prod(lengths[depth:])


def short_iterations(scop: Scop, places: Collection[Loc]) -> frozenset[Loc]:
    """Returns those of the places of outermost loops whose iterations are regions without loops, and nothing else."""
    inside: dict[Loc, list[Statement]] = {}
    for statement in scop.statements.values():
        if statement.loops and statement.loops[0] in places and statement.loops[0] is not None:
            inside.setdefault(statement.loops[0], []).append(statement)
    return frozenset(place for place, found in inside.items() if all(map(_is_short, found)))


def _is_short(statement: Statement) -> bool:
    return statement.region is not None and _has_no_loops(statement) and len(statement.loops) == 1


def _has_no_loops(statement: Statement) -> bool:
    body = () if statement.region is None else statement.region.body
    return not any(isinstance(stmt, (syntax.For, syntax.While)) for stmt in statements(body))


def is_every_region_threaded(scop: Scop, dependences: Dependences, places: Collection[Loc]) -> bool:
    """Returns whether a loop around each region goes to threads. places: those of loops in order, which are parts of their regions"""
    threaded = _threaded(scop, dependences)
    around = (s for s in scop.statements.values() if s.region is not None and s.iterators and s.loops[0] not in places)
    return all(statement.name in threaded for statement in around)


def _threaded(scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})) -> frozenset[str]:
    """Returns the statements around which a loop may go to threads. reductions: by statement, the updates whose order is free"""
    return frozenset(_threaded_depths(scop, dependences, reductions))


def _threaded_depths(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> dict[str, int]:
    """Returns how many loops are around the outermost one that may go to threads, by statement. reductions: as for `with_threads`"""
    found = dict[str, int]()
    for node, _ in parallel_bands(with_threads(scop, dependences, reductions).get_root()):
        for name in polyhedra.set_names(node.get_domain()):
            found[name] = min(found.get(name, len(scop.statements[name].loops)), node.get_schedule_depth())
    return found


def in_order(scop: Scop, places: Collection[Loc], is_known: bool = True) -> tuple[OrderedLoop, ...]:
    """Returns the loops at these places, which run in order, with what of their regions may carry a dependence.

    is_known: whether dependences are known
    """
    told = []
    for place in sorted(places, key=lambda each: (each.line, each.column)):
        inside = [s for s in scop.statements.values() if s.region is not None and place in s.loops]
        carriers = tuple(dict.fromkeys(text for statement in inside for text in _carriers(scop, statement)))
        helpful = _helpful(scop, inside, place) if is_known else ()
        names = {fact.array: scop.arrays[fact.array].source_name for fact in helpful}
        told.append(OrderedLoop(place, carriers, helpful, names))
    return tuple(told)


def _helpful(scop: Scop, inside: Sequence[Statement], place: Loc) -> tuple[IndexFact, ...]:
    """Returns the fewest facts on index arrays by which a loop that is not inside of another one goes to threads; () where none do.

    inside: the regions in the loop
    place: that of the other one
    """
    names = {statement.name: statement.loops.index(place) for statement in inside}
    facts = [fact for fact in dict.fromkeys(_candidates(inside)) if _may_be_assumed(scop, fact)]
    if _is_enough(scop, (), names) or not _is_enough(scop, facts, names):
        return ()
    for fact in tuple(facts):
        others = [each for each in facts if each is not fact]
        if others and _is_enough(scop, others, names):
            facts = others
    return tuple(facts)


def _candidates(inside: Sequence[Statement]) -> Iterator[IndexFact]:
    for statement in inside:
        for access in (*statement.writes, *statement.reads):
            yield from (step.needed for traced in access.traced for step in traced.steps if step.needed is not None)


def _may_be_assumed(scop: Scop, fact: IndexFact) -> bool:
    """Returns whether a kernel may assume something of an array: it is an argument of one dimension that no statement writes."""
    array = scop.arrays[fact.array]
    is_written = any(access.array == fact.array for s in scop.statements.values() for access in s.writes)
    return array.role is Role.ARGUMENT and len(array.shape) == 1 and not is_written


def _is_enough(scop: Scop, facts: Sequence[IndexFact], names: Mapping[str, int]) -> bool:
    """Returns whether some facts make a loop around each of some statements parallel. names: of the statements, and around how many loops
    it has to be at most, counted from the outermost one
    """
    known = replace(scop, facts=(*scop.facts, *facts))
    depths = _threaded_depths(known, Dependences(known))
    return all(name in depths and depths[name] <= most for name, most in names.items())


def _carriers(scop: Scop, statement: Statement) -> Iterator[str]:
    """Yields what a region writes in one iteration that it may read or write in another one."""
    region = statement.region
    for access in () if region is None else region.accesses:
        array = scop.arrays[access.array]
        name = array.source_name or array.name
        if access.writes and not array.shape:
            yield f"{name} goes from one iteration to the next"
        elif access.writes and None in access.subscripts and access.loc is not None:
            yield f"{access.loc.text} may be any element of {name}"


def _apart(node: isl.ScheduleNode, order: isl.UnionMap) -> isl.ScheduleNode:
    """Returns a node of a schedule tree in which the innermost loops that carry none of the pairs `order` have the mark."""
    if node.get_type() == NODE.band and node.child(0).get_type() == NODE.leaf:
        return mark(node, APART).parent() if node.band_n_member() == 1 and carries_none(node, order) else node
    for position in range(node.n_children()):
        node = _apart(node.child(position), order).parent()
    return node


def _marked(node: isl.ScheduleNode, updates: FreeUpdates) -> isl.ScheduleNode:
    """Returns a node of a schedule tree in which the outermost loops have the mark that carry no dependence but those among updates."""
    if node.get_type() == NODE.band and (partial := _partial_or_private(node, updates)) is not None:
        if _is_innermost(node.child(0)) and not _runs_region(node, updates.scop):
            return mark(_in_strips(node), parallel_mark(partial)).parent()
        if node.child(0).get_type() != NODE.leaf:
            node = mark(node.child(0), POINT).parent().parent()
        return mark(node, parallel_mark(partial)).parent()
    for position in range(node.n_children()):
        node = _marked(node.child(position), updates).parent()
    return node


def _in_strips(band: isl.ScheduleNode) -> isl.ScheduleNode:
    """Returns a loop over strips of the iterations of an innermost loop, so that a thread has some that run as vectors."""
    loop = band_of(band)
    inside = mark(insert_band(band.delete(), loop), POINT).parent()
    return insert_band(inside, scaled_floor(loop, [_STRIP])).band_member_set_ast_loop_type(0, isl.ast_loop_type.atomic)


def _is_innermost(node: isl.ScheduleNode) -> bool:
    """Returns whether no loop is below a node."""
    children = map(node.child, range(node.n_children()))
    return node.get_type() == NODE.leaf or node.get_type() != NODE.band and all(map(_is_innermost, children))


def _runs_region(node: isl.ScheduleNode, scop: Scop) -> bool:
    return any(scop.statements[name].region is not None for name in polyhedra.set_names(node.get_domain()))


def _partial_or_private(band: isl.ScheduleNode, updates: FreeUpdates) -> tuple[str, ...] | None:
    """Returns the same as `_partial`, where each thread may have its own of the numbers whose values live in one iteration, and where all
    iterations may assign a constant to a number.
    """
    private = private_numbers(band, updates.scop, updates.dependences)
    if private is None:
        return None
    partial = _partial(band, updates)
    if partial is None and (free := private | flags(band, updates.scop)):
        others = {name: r for name, r in updates.reductions.items() if r.array not in free}
        return _partial(band, FreeUpdates(updates.scop, updates.dependences.besides(free), others))
    return partial


def _partial(band: isl.ScheduleNode, updates: FreeUpdates) -> tuple[str, ...] | None:
    """Returns the numbers of which threads have partial results if they share a loop, none where it carries no dependence; None where
    threads cannot share it.
    """
    if carries_none(band, updates.every):
        return ()
    names = polyhedra.set_names(band.get_domain())
    if not updates.updates(names) or not carries_none(band, updates.kept):
        return None
    partial = updates.carried(names, band.band_get_partial_schedule().get_at(0))
    return partial if updates.only_in(names, partial) else None
