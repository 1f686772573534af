"""Scop and Dependences -> Schedule: isl's scheduler for the affine part, then the passes that choose tiles on its tree.

components   each strongly connected component of the dependence graph gets its own bands
affine       loops that carry no dependence outside, or bands of loops that may be exchanged; fusion and shifting
cuts         components in tiles over time, or in slabs whose parts are scheduled like kernels
mapping      blocks of contractions, tiles, the loop for threads; and chunks of rows around nests
proof        every result is checked against the exact dependences
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.pass_manager import apply
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.affine.components import strongly_connected_components
from polyml.schedule.affine.distribution import in_sequence
from polyml.schedule.affine.scheduler import affine_schedule, component_nodes, components, in_source_order, names_at
from polyml.schedule.affine.traffic_fusion import FusionSetting
from polyml.schedule.analysis.contraction_roles import has_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.traffic import Traffic, nests
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.strips.row_strips import Stripped, in_strips
from polyml.schedule.tiling.blocked_factorization import SLAB, Slabs, in_slabs, middle, restricted, solve
from polyml.schedule.tiling.blocked_factorization import cut as slabs_of
from polyml.schedule.tiling.contraction import map_contractions
from polyml.schedule.tiling.contraction_axes import LayoutSetting, RowStrips
from polyml.schedule.tiling.cpu_mapping import map_bands
from polyml.schedule.tiling.panel import map_short
from polyml.schedule.tiling.row_chunks import Chunked, handed_on, in_chunks
from polyml.schedule.tiling.time_tiling import TimeTiles, tile_time, time_tiles
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, band_of

OPERATIONS = 1_000_000  # isl operations for one schedule: twice what the largest kernels need
CUT_OPERATIONS = 500_000  # and to look for slabs and tiles over time
CHUNK_OPERATIONS = 300_000  # and for chunks of rows
STRIP_OPERATIONS = 2_000_000  # and for strips of rows, of sums in blocks of columns too
TRAFFIC_OPERATIONS = 50_000  # and to say what nests move
PIECE_OPERATIONS = 100_000  # more of both for each piece of an index set, which all depend on each other
FREE = 3  # sizes that code for tiles over time can distinguish: with more, isl distinguishes too many cases

Notes = tuple[str, ...]  # what was decided, a line each, for `explain`


@dataclass(frozen=True)
class Scheduled:
    """A schedule that was found, and what is known of it.

    tree: the schedule, which is legal.
    notes: what was decided, for `explain`.
    sized: whether its tiles depend on the sizes that it was chosen by.
    cut: whether a component is in slabs, in tiles over time or in chunks of rows.
    blocked: whether strips of rows run in blocks of columns that nests share.
    related: whether code is to take for granted that sizes are related as they are in the call.
    operations: how many operations of isl the search took; 0 where they were not counted.
    """

    tree: isl.Schedule
    notes: Notes
    sized: bool = False
    cut: bool = False
    related: bool = False
    blocked: bool = False
    operations: int = 0


@dataclass(frozen=True)
class ScheduleRequest:
    """The settings of a search for a schedule: the machine, the transformations allowed, and the sizes to choose tiles by.

    machine: the CPU that the schedule is for.
    tile, parallel: whether there may be tiles, and loops for threads.
    alone: whether one thread runs the whole kernel; tiles over time are then larger, or there are none where they do not pay.
    cut: whether components may be in slabs, in tiles over time or in chunks of rows.
    fusion: the choice of fused loops, as in `Options`.
    pieces: statements that index-set splitting made; their nests keep the source's order (`distribution.divide`).
    sizes: values of parameters to choose tile sizes by; the schedule is legal for all others too.
    free: how many sizes are independent, without those known to equal another one or to differ from it by a constant; where there
        are many, there are no tiles over time.
    """

    machine: CpuMachine
    tile: bool
    parallel: bool
    alone: bool = False
    cut: bool = True
    fusion: str = "model"
    pieces: frozenset[str] = frozenset()
    sizes: Mapping[str, int] | None = None
    free: int = 0

    @property
    def running(self) -> CpuMachine:
        """Returns the machine with as many cores as run the kernel."""
        return replace(self.machine, cores=1) if self.alone else self.machine


def compute(
    scop: Scop,
    dependences: Dependences,
    request: ScheduleRequest,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
) -> Scheduled:
    """Returns a legal schedule of the whole SCoP; the source order, with a note, where isl fails or takes too long.

    reductions: the updates whose order is free, by statement.
    """
    if not scop.statements:
        return Scheduled(scop.schedule, ("nothing to schedule",))
    try:
        with budget(OPERATIONS + PIECE_OPERATIONS * len(request.pieces)):
            return _Planner(request, reductions).scheduled(_ProgramPart(scop.schedule, scop, dependences))
    except isl.Error as problem:
        return Scheduled(scop.schedule, (f"isl's scheduler failed ({problem}): source order",))
    except BudgetExceeded as problem:
        return Scheduled(scop.schedule, (f"scheduling given up ({problem}): source order",))


def _traffic_note(fusion: str, schedule: isl.Schedule, scop: Scop, sizes: Mapping[str, int] | None) -> str:
    """Returns a note: how many nests there are under this choice of fusion, and the bytes that they move at least."""
    parts, traffic = nests(schedule), Traffic(scop, sizes)
    try:
        with budget(TRAFFIC_OPERATIONS):
            moved = f"which move{'' if len(parts) > 1 else 's'} at least {sum(map(traffic.of, parts)):,} bytes{traffic.note}"
    except BudgetExceeded as problem:
        moved = f"whose traffic is not known ({problem})"
    return f"fusion {fusion}: {len(parts)} nest{'s' if len(parts) > 1 else ''}, {moved}"


def _one_by_one(scop: Scop, dependences: Dependences, why: BudgetExceeded) -> tuple[isl.Schedule, Notes]:
    """Returns a schedule in which isl schedules each strongly connected component by itself, and notes on what was decided.

    A component for which isl takes too long alone has the source's loops.

    why: the failure of scheduling all components at once, for the notes.
    """
    parts: list[isl.Schedule] = []
    notes: Notes = (f"components are scheduled one by one ({why})",)
    for instances in strongly_connected_components(scop, dependences):
        part, within = restricted(scop, dependences, instances)
        try:
            loops, more = affine_schedule(part, within)
        except BudgetExceeded as problem:
            loops = in_source_order(scop.schedule.intersect_domain(instances), within)
            more = (f"{', '.join(part.statements)}: the source's loops ({problem})",)
        parts.append(loops)
        notes += more
    return in_sequence(parts), notes


def _may_be_cut(component: isl.ScheduleNode, scop: Scop) -> bool:
    """Returns whether a component might be cut into slabs or into tiles over time: it begins with a band one of whose loops carries a
    dependence, and is not a single statement of a program with contractions, which has tiles of its own.
    """
    top = component.child(0)
    is_sequential = top.get_type() == NODE.band and not all(band_of(top).coincident)
    return is_sequential and (len(names_at(component)) > 1 or not has_contraction(scop))


@dataclass(frozen=True)
class _ProgramPart:
    """A part of a program that is scheduled by itself.

    tree: its schedule so far.
    scop, dependences: its statements, and the dependences among them alone.
    """

    tree: isl.Schedule
    scop: Scop
    dependences: Dependences

    def component(self, tree: isl.Schedule) -> _ProgramPart:
        """Returns the part of this program part whose instances the schedule `tree` runs."""
        return _ProgramPart(tree, *restricted(self.scop, self.dependences, tree.get_domain()))


@dataclass(frozen=True)
class _Planner:
    """The steps from a SCoP to its schedule, for one request: isl's loops, slabs or tiles over time, other tiles, and the proof.

    reductions: by statement, the updates whose order is free.
    """

    request: ScheduleRequest
    reductions: Mapping[str, Reduction]

    def scheduled(self, whole: _ProgramPart) -> Scheduled:
        """Returns the schedule of the whole program."""
        request = self.request
        sized = request.tile and has_contraction(whole.scop)
        known = request.sizes if sized else None
        affine, notes = self._affine(whole, known)
        notes += (_traffic_note(request.fusion, affine, whole.scop, known),)
        whole = replace(whole, tree=affine)
        if request.tile and request.cut and any(_may_be_cut(node, whole.scop) for node in component_nodes(affine)):
            tree: isl.Schedule | None = None
            cuts: list[Slabs | TimeTiles | None] = []
            try:
                with budget(CUT_OPERATIONS + PIECE_OPERATIONS * len(request.pieces)):
                    parts = [whole.component(tree) for tree in components(affine)]
                    cuts = [self._cut(part, whole.scop) for part in parts]
                    sized = sized or any(cuts)
                    cuts = [None if isinstance(cut, TimeTiles) and not (cut.pays and request.free <= FREE) else cut for cut in cuts]
                    if any(cuts):
                        tree, found = self._in_cuts(parts, cuts, whole)
                        notes += found
            except BudgetExceeded as problem:
                notes += (f"not cut into slabs or tiles over time: {problem}",)
            if tree is not None:
                return Scheduled(tree, notes, True, True, any(isinstance(cut, TimeTiles) for cut in cuts))
        mapped, found, blocked = self._mapped_in_strips(whole)
        notes += found
        if request.tile and request.cut and request.fusion == "model" and handed_on(whole.scop):
            chunked = self._in_chunks(replace(whole, tree=mapped))
            chosen, is_cut = chunked.tree or mapped, chunked.tree is not None
            return Scheduled(chosen, notes + chunked.notes, sized or chunked.sized, is_cut, blocked=blocked)
        return Scheduled(mapped, notes, sized, blocked=blocked)

    def _mapped_in_strips(self, whole: _ProgramPart) -> tuple[isl.Schedule, Notes, bool]:
        """Returns the schedule with products and their neighbours in strips of rows, and all other nests mapped, notes, and whether
        strips run in blocks of columns.

        It is proved legal. Where there are no strips, or they are not legal, all nests are mapped one by one.
        """
        stripped = self._in_strips(whole)
        tree = whole.tree if stripped.tree is None else stripped.tree
        mapped, notes, proved = self._mapped(replace(whole, tree=tree), self.request.sizes)
        try:
            if not proved:
                self._check(mapped, whole)
        except IllegalSchedule as problem:
            if stripped.tree is None:
                raise
            mapped, notes, proved = self._mapped(whole, self.request.sizes)
            if not proved:
                self._check(mapped, whole)
            return mapped, (f"no strips of rows: {problem.message}", *notes), False
        return mapped, stripped.notes + notes, stripped.blocked

    def _in_strips(self, whole: _ProgramPart) -> Stripped:
        """Returns the schedule with products and their neighbours in shared loops over strips of rows; without a tree (None) where
        there are none. That it is legal is left to be proved.
        """
        request = self.request
        if request.sizes is None or not (request.tile and request.cut and request.fusion == "model"):
            return Stripped(None)

        def lay_out(strips: RowStrips, order: isl.Schedule) -> tuple[isl.Schedule, Notes]:
            part = whole.component(order)
            reductions = self._reductions_of(part.scop)
            setting = LayoutSetting(part.scop, request.machine, request.sizes, reductions, False, strips.rows, strips)
            found = part.dependences if strips.block is None else part.dependences.at_once(strips.block)
            tree, notes, _ = apply(map_contractions, order, found, setting, lambda others: (others, ()))
            return tree, notes

        try:
            with budget(STRIP_OPERATIONS):
                limits = request.machine, request.parallel, request.running.cores
                updates = FreeUpdates(whole.scop, whole.dependences, self._reductions_of(whole.scop))
                return apply(in_strips, whole.tree, whole.scop, updates, limits, request.sizes, lay_out)
        except BudgetExceeded as problem:
            return Stripped(None, (f"no strips of rows: {problem}",))

    def _in_chunks(self, whole: _ProgramPart) -> Chunked:
        """Returns the schedule with nests in shared loops over chunks of rows, proved legal.

        Where that fails, the result has no tree (None), and a note says why.
        """
        try:
            with budget(CHUNK_OPERATIONS):
                found = apply(in_chunks, whole.tree, whole.scop, whole.dependences, self.request.running, self.request.sizes)
                if found.tree is not None:
                    self._check(found.tree, whole)
                return found
        except (BudgetExceeded, IllegalSchedule) as problem:
            return Chunked(None, (f"no chunks of rows: {problem}",), True)

    def _check(self, tree: isl.Schedule, part: _ProgramPart) -> None:
        """Raises IllegalSchedule where the schedule breaks a dependence, other than among updates of a reduction."""
        check_legal(tree, part.scop, part.dependences, self.reductions)
        check_parallel(tree, part.scop, part.dependences, self.reductions)

    def _affine(self, whole: _ProgramPart, sizes: Mapping[str, int] | None) -> tuple[isl.Schedule, Notes]:
        """Returns the loops before tiling, and notes: the source's for nests with split index sets, isl's for all others.

        sizes: values of parameters to choose fusion by.
        """
        pieces = self.request.pieces
        if not pieces:
            return self._searched(whole.scop, whole.dependences, sizes)
        parts: list[isl.Schedule] = []
        notes: Notes = (f"index sets split into {', '.join(sorted(pieces))}",)
        for nest in components(whole.scop.schedule):
            if pieces.isdisjoint(polyhedra.set_names(nest.get_domain())):
                part = whole.component(nest)
                nest, more = self._searched(part.scop, part.dependences, sizes)
                notes += more
            else:
                nest = in_source_order(nest, whole.dependences)
            parts.append(nest)
        return in_sequence(parts), notes

    def _searched(self, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None) -> tuple[isl.Schedule, Notes]:
        """Returns isl's loops before tiling, and notes; where all components at once take too long, each is scheduled by itself.

        sizes: values of parameters to choose fusion by.
        """
        request = self.request
        setting = FusionSetting(request.machine, self._reductions_of(scop), request.parallel, request.tile)
        try:
            return affine_schedule(scop, dependences, request.fusion, setting, sizes)
        except BudgetExceeded as problem:
            return _one_by_one(scop, dependences, problem)

    def _reductions_of(self, scop: Scop) -> dict[str, Reduction]:
        return {name: r for name, r in self.reductions.items() if name in scop.statements}

    def _is_divided(self, scop: Scop) -> bool:
        """Returns whether the SCoP has statements that index-set splitting made; these keep the loops of the source."""
        return not self.request.pieces.isdisjoint(scop.statements)

    def _mapped(self, part: _ProgramPart, sizes: Mapping[str, int] | None, slab: int = 0) -> tuple[isl.Schedule, Notes, bool]:
        """Returns (schedule, notes, is it proved legal) for a part: contractions in blocks, other nests in tiles and for threads.

        sizes: values of parameters to choose block sizes by.
        slab: how many iterations a slab of a blocked factorization has, where the part belongs to one; else 0.
        """
        request = self.request

        def tiles(order: isl.Schedule) -> tuple[isl.Schedule, Notes]:
            return apply(map_bands, order, part.scop, request.machine, tile=request.tile, parallel=request.parallel, slab=slab)

        if not (request.tile and has_contraction(part.scop)):
            return *tiles(part.tree), False
        reductions = self._reductions_of(part.scop)
        setting = LayoutSetting(part.scop, request.machine, sizes, reductions, request.parallel, grain=max(slab, 1))
        return apply(map_contractions, part.tree, part.dependences, setting, tiles)

    def _cut(self, part: _ProgramPart, scop: Scop) -> Slabs | TimeTiles | None:
        """Returns the slabs or tiles over time by which a component is to be cut; None where it is not cut.

        scop: the whole program.
        """
        request = self.request
        if has_contraction(scop):
            single = len(part.scop.statements) < 2  # which has tiles of its own
            return None if single else slabs_of(part.tree, part.scop, request.sizes, simple=not self._is_divided(part.scop))
        cores = request.running.cores if request.parallel else 1
        found = time_tiles(part.tree, part.scop, part.dependences, request.machine, request.sizes, cores=cores)
        if found is None and self.reductions:
            return solve(part.tree, part.scop, part.dependences, self.reductions)
        return found

    def _in_cuts(
        self, parts: Sequence[_ProgramPart], cuts: Sequence[Slabs | TimeTiles | None], whole: _ProgramPart
    ) -> tuple[isl.Schedule | None, Notes]:
        """Returns the schedule with components in slabs or in tiles over time, None where that is not legal; and notes.

        parts: the components.
        cuts: for each component how it is cut, None where it is not.
        """
        plans: list[dict[str, object]] = []
        notes: Notes = ()
        for part, cut in zip(parts, cuts):
            tree, decided = self._component_in_cut(part, cut)
            child = nodes.tree_of(tree).get("child")
            plans.append({"filter": nodes.text_of(part.tree.get_domain()), **({} if child is None else {"child": child})})
            notes += decided
        root = {"domain": nodes.text_of(whole.scop.domain), "child": plans[0]["child"] if len(plans) == 1 else {"sequence": plans}}
        made = nodes.schedule(root)
        try:
            self._check(made, whole)
            return made, notes
        except IllegalSchedule as problem:
            return None, (f"not cut into slabs or tiles over time: {problem.message}",)

    def _component_in_cut(self, part: _ProgramPart, cut: Slabs | TimeTiles | None) -> tuple[isl.Schedule, Notes]:
        """Returns one component's schedule, and notes: in the slabs or tiles over time `cut`, or in usual tiles for None."""
        made: tuple[isl.Schedule | None, Notes] = (None, ())
        if isinstance(cut, TimeTiles):
            made = apply(tile_time, part.tree, cut, parallel=self.request.parallel)
        elif isinstance(cut, Slabs):
            made = apply(in_slabs, part.tree, cut, partial(self._part_of_slab, part, cut, self._sizes_in(cut, part.scop)))
        tree, notes = made
        return self._mapped(part, self.request.sizes)[:2] if tree is None else (tree, notes)

    def _sizes_in(self, cut: Slabs, scop: Scop) -> Mapping[str, int] | None:
        """Returns values of parameters for which the parts of a slab choose their tiles; None where sizes are unknown.

        Among them is SLAB, the iteration at which the slab begins. The values are those of the loop's first slab; where index sets
        are split, of the middle one, since the pieces before and behind it are then of the same size.
        """
        sizes = self.request.sizes
        return None if sizes is None else {**sizes, SLAB: middle(cut, scop, sizes) if self._is_divided(scop) else 0}

    def _part_of_slab(
        self, component: _ProgramPart, cut: Slabs, sizes: Mapping[str, int] | None, instances: isl.UnionSet
    ) -> tuple[isl.Schedule, Notes]:
        """Returns the schedule of one part of a component's slabs, and notes; it is searched and tiled like a kernel of its own.

        sizes: values of parameters to choose tiles by; among them is SLAB, the iteration at which the slab begins.
        instances: those of the part.
        """
        scop, dependences = restricted(component.scop, component.dependences, instances)
        loops = component.tree.intersect_domain(instances)
        short = map_short(loops, scop, dependences, parallel=self.request.parallel)
        if short is not None:
            return short, ()
        if not (self._is_divided(scop) and instances is not cut.parts[-1]):
            loops, _ = affine_schedule(scop, dependences, "no" if self.request.fusion == "no" else "smart")
        tree, notes, _ = self._mapped(_ProgramPart(loops, scop, dependences), sizes, cut.width)
        return tree, notes
