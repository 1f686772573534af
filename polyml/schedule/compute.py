"""Scop and Dependences -> Schedule: isl's scheduler for the affine part, our own choices on the tree.

components   each strongly connected part of the dependence graph gets its own bands
forms        the parallel one (outer loops carry nothing) or the permutable one (for tiling by wavefronts)
slabs        a component that must run in the order of a loop is cut into parts, each scheduled like a kernel
contractions loops for caches and registers
mapping      tiles, the loop that goes to threads
check        every result against the exact dependences
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from polyml.schedule.affine.scheduler import affine_schedule, components, in_source_order
from polyml.schedule.affine.traffic_fusion import FusionSetting
from polyml.schedule.analysis.contraction_roles import has_contraction
from polyml.schedule.analysis.traffic import Traffic, nests
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tiling.blocked_factorization import SLAB, Slabs, in_slabs, middle, restricted, solve
from polyml.schedule.tiling.blocked_factorization import cut as slabs_of
from polyml.schedule.tiling.contraction import map_contractions
from polyml.schedule.tiling.contraction_axes import LayoutSetting
from polyml.schedule.tiling.cpu_mapping import map_bands
from polyml.schedule.tiling.panel import map_short
from polyml.schedule.tiling.row_chunks import Chunked, handed_on, in_chunks
from polyml.schedule.tiling.time_tiling import TimeTiles, time_tiles
from polyml.schedule.tiling.time_tiling import tree as time_tree
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

OPERATIONS = 1_000_000  # isl operations for one schedule: twice what the largest kernels need
CUT_OPERATIONS = 500_000  # and to look for slabs and tiles over time
CHUNK_OPERATIONS = 300_000  # and for chunks of rows
TRAFFIC_OPERATIONS = 50_000  # and to say what nests move
PIECE_OPERATIONS = 100_000  # more of both for each piece of an index set, which all depend on each other
FREE = 3  # sizes that code for tiles over time can tell apart: with more, isl tells too many cases apart


@dataclass(frozen=True)
class Scheduled:
    """tree: the schedule, legal. notes: what was decided, for `explain`. sized: whether sizes decide about tiles. cut:
    whether a component is cut into slabs or tiles over time. alike: code should be made for sizes that are as like as in the call.
    operations: of isl that the search took, where they were counted.
    """

    tree: isl.Schedule
    notes: tuple[str, ...]
    sized: bool = False
    cut: bool = False
    alike: bool = False
    operations: int = 0


def compute(
    scop: Scop,
    dependences: Dependences,
    machine: CpuMachine,
    *,
    tile: bool,
    parallel: bool,
    alone: bool = False,
    cut: bool = True,
    fusion: str = "model",
    pieces: frozenset[str] = frozenset(),
    sizes: Mapping[str, int] | None = None,
    free: int = 0,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
) -> Scheduled:
    """A legal schedule of the whole SCoP. Past isl's budget it is the source order, and a note says so.

    tile, parallel, cut: what it may have. alone: whether one thread runs all of it, for which waves of tiles over time are larger
    or not worth it. fusion: as in `Options`. pieces: statements whose nests keep the source's order
    (`divide`). sizes: values of parameters to choose block sizes by; the schedule is legal for all. free: how many sizes the
    code is not told by others. reductions: the updates whose order is free.
    """
    if not scop.statements:
        return Scheduled(scop.schedule, ("nothing to schedule",))
    try:
        with budget(OPERATIONS + PIECE_OPERATIONS * len(pieces)):
            return _Planner(machine, tile, parallel, alone, cut, fusion, pieces, reductions, free).scheduled(
                scop, dependences, sizes
            )
    except isl.Error as problem:
        return Scheduled(scop.schedule, (f"isl's scheduler failed ({problem}): source order",))
    except BudgetExceeded as problem:
        return Scheduled(scop.schedule, (f"scheduling given up ({problem}): source order",))


def _moved(fusion: str, schedule: isl.Schedule, scop: Scop, sizes: Mapping[str, int] | None) -> str:
    """What was made of neighbouring nests, for `explain`."""
    parts, traffic = nests(schedule), Traffic(scop, sizes)
    try:
        with budget(TRAFFIC_OPERATIONS):
            moved = f"which move at least {sum(map(traffic.of, parts)):,} bytes{traffic.note}"
    except BudgetExceeded as problem:
        moved = f"whose traffic is not known ({problem})"
    return f"fusion {fusion}: {len(parts)} nest{'s' if len(parts) > 1 else ''}, {moved}"


def _one_by_one(scop: Scop, dependences: Dependences, why: BudgetExceeded) -> tuple[isl.Schedule, tuple[str, ...]]:
    """The components each on its own, with the source's loops where isl takes too long for one alone."""
    parts, notes = [], (f"components are scheduled one by one ({why})",)
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


@dataclass(frozen=True)
class _Component:
    """A part of the outermost sequence, with what is known of its statements."""

    tree: isl.Schedule
    scop: Scop
    dependences: Dependences

    @staticmethod
    def of(tree: isl.Schedule, scop: Scop, dependences: Dependences) -> _Component:
        return _Component(tree, *restricted(scop, dependences, tree.get_domain()))


@dataclass(frozen=True)
class _Planner:
    machine: CpuMachine
    tile: bool
    parallel: bool
    alone: bool
    cut: bool
    fusion: str
    pieces: frozenset[str]
    reductions: Mapping[str, Reduction]
    free: int

    def scheduled(self, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None) -> Scheduled:
        tree, sized = None, self.tile and has_contraction(scop)
        known = sizes if sized else None
        affine, notes = self._affine(scop, dependences, known)
        notes += (_moved(self.fusion, affine, scop, known),)
        cuts: list[Slabs | TimeTiles | None] = []
        if self.tile and self.cut:
            try:
                with budget(CUT_OPERATIONS + PIECE_OPERATIONS * len(self.pieces)):
                    parts = [_Component.of(tree, scop, dependences) for tree in components(affine)]
                    cuts = [self._cut(part, scop, sizes) for part in parts]
                    sized = sized or any(cuts)
                    cuts = [None if isinstance(cut, TimeTiles) and not (cut.pays and self.free <= FREE) else cut for cut in cuts]
                    if any(cuts):
                        tree, found = self._in_cuts(parts, cuts, scop, dependences, sizes)
                        notes += found
            except BudgetExceeded as problem:
                notes += (f"not cut into slabs or tiles over time: {problem}",)
        if tree is not None:
            return Scheduled(tree, notes, True, True, any(isinstance(cut, TimeTiles) for cut in cuts))
        tree, found, proved = self._mapped(affine, scop, dependences, sizes)
        if not proved:
            self._check(tree, scop, dependences)
        notes += found
        if self.tile and self.cut and self.fusion == "model" and handed_on(scop):
            chunked = self._in_chunks(tree, scop, dependences, sizes)
            return Scheduled(chunked.tree or tree, notes + chunked.notes, sized or chunked.sized, chunked.tree is not None)
        return Scheduled(tree, notes, sized)

    def _in_chunks(self, tree: isl.Schedule, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None) -> Chunked:
        """The schedule with chunks for what nests hand on, where that is legal; and what was decided."""
        try:
            with budget(CHUNK_OPERATIONS):
                found = apply(in_chunks, tree, scop, dependences, self.machine, sizes)
                if found.tree is not None:
                    self._check(found.tree, scop, dependences)
                return found
        except (BudgetExceeded, IllegalSchedule) as problem:
            return Chunked(None, (f"no chunks of rows: {problem}",), True)

    def _check(self, tree: isl.Schedule, scop: Scop, dependences: Dependences) -> None:
        """Raise IllegalSchedule where the order of updates is not all that changes."""
        check_legal(tree, scop, dependences, self.reductions)
        check_parallel(tree, scop, dependences, self.reductions)

    def _affine(
        self, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None
    ) -> tuple[isl.Schedule, tuple[str, ...]]:
        """The loops of each component before tiling: the source's around pieces of index sets, isl's elsewhere."""
        if not self.pieces:
            return self._searched(scop, dependences, sizes)
        parts, notes = [], (f"index sets split into {', '.join(sorted(self.pieces))}",)
        for nest in components(scop.schedule):
            if self.pieces.isdisjoint(polyhedra.set_names(nest.get_domain())):
                nest, more = self._searched(*restricted(scop, dependences, nest.get_domain()), sizes)
                notes += more
            else:
                nest = in_source_order(nest, dependences)
            parts.append(nest)
        return in_sequence(parts), notes

    def _searched(
        self, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None
    ) -> tuple[isl.Schedule, tuple[str, ...]]:
        own = {name: r for name, r in self.reductions.items() if name in scop.statements}
        setting = FusionSetting(self.machine, own, self.parallel, self.tile)
        try:
            return affine_schedule(scop, dependences, self.fusion, setting, sizes)
        except BudgetExceeded as problem:
            return _one_by_one(scop, dependences, problem)

    def _is_divided(self, scop: Scop) -> bool:
        """Whether there are pieces of index sets, whose loops are known."""
        return not self.pieces.isdisjoint(scop.statements)

    def _mapped(
        self, affine: isl.Schedule, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None, slab: int = 0
    ) -> tuple[isl.Schedule, tuple[str, ...], bool]:
        """The schedule with contractions, tiles and threads; what was decided; and whether it has been proved. slab: as of
        `map_bands`.
        """

        def tiles(order: isl.Schedule) -> tuple[isl.Schedule, tuple[str, ...]]:
            return apply(map_bands, order, scop, self.machine, tile=self.tile, parallel=self.parallel, slab=slab)

        if not (self.tile and has_contraction(scop)):
            return *tiles(affine), False
        reductions = {name: r for name, r in self.reductions.items() if name in scop.statements}
        setting = LayoutSetting(scop, self.machine, sizes, reductions, self.parallel, grain=max(slab, 1))
        return apply(map_contractions, affine, dependences, setting, tiles)

    def _cut(self, part: _Component, scop: Scop, sizes: Mapping[str, int] | None) -> Slabs | TimeTiles | None:
        if has_contraction(scop):
            single = len(part.scop.statements) < 2  # which has tiles of its own
            return None if single else slabs_of(part.tree, part.scop, sizes, simple=not self._is_divided(part.scop))
        cores = self.machine.cores if self.parallel and not self.alone else 1
        found = time_tiles(part.tree, part.scop, part.dependences, self.machine, sizes, cores=cores)
        if found is None and self.reductions:
            found = solve(part.tree, part.scop, part.dependences, self.reductions)
        return found

    def _in_cuts(
        self,
        parts: Sequence[_Component],
        cuts: Sequence[Slabs | TimeTiles | None],
        scop: Scop,
        dependences: Dependences,
        sizes: Mapping[str, int] | None,
    ) -> tuple[isl.Schedule | None, tuple[str, ...]]:
        """The schedule with components in slabs or in tiles over time, None where that is not legal; and what was decided."""
        plans, notes = [], ()
        for part, cut in zip(parts, cuts):
            if isinstance(cut, Slabs):
                child, decided = self._in_slabs(cut, part.tree, part.scop, part.dependences, sizes)
            elif isinstance(cut, TimeTiles):
                child = time_tree(cut, part.tree, parallel=self.parallel)
                decided = (f"{', '.join(sorted(part.scop.statements))}: {cut}",)
            else:
                tree, decided, _ = self._mapped(part.tree, part.scop, part.dependences, sizes)
                child = parse_tree(str(tree)).get("child")
            plans.append({"filter": str(part.tree.get_domain()), **({} if child is None else {"child": child})})
            notes += decided
        whole = {"domain": str(scop.domain), "child": plans[0]["child"] if len(plans) == 1 else {"sequence": plans}}
        tree = isl.Schedule(print_tree(whole))
        try:
            self._check(tree, scop, dependences)
            return tree, notes
        except IllegalSchedule as problem:
            return None, (f"not cut into slabs or tiles over time: {problem.message}",)

    def _in_slabs(
        self, found: Slabs, component: isl.Schedule, scop: Scop, dependences: Dependences, sizes: Mapping[str, int] | None
    ) -> tuple[Tree, tuple[str, ...]]:
        """The loop over slabs around its parts, each with a schedule of its own; and what was decided."""
        notes, plans = (f"slabs of {found.width} of {', '.join(sorted(scop.statements))}:",), []
        if sizes is not None:  # pieces on both sides of the slab are as large as each other in the middle
            sizes = {**sizes, SLAB: middle(found, scop, sizes) if self._is_divided(scop) else 0}
        for instances in found.parts:
            part, within = restricted(scop, dependences, instances)
            loops = component.intersect_domain(instances)
            tree = map_short(loops, part, within, parallel=self.parallel)
            decided: tuple[str, ...] = ()
            if tree is None:
                keeps = self._is_divided(part) and instances is not found.parts[-1]
                affine = loops if keeps else affine_schedule(part, within, "no" if self.fusion == "no" else "smart")[0]
                tree, decided, _ = self._mapped(affine, part, within, sizes, found.width)
            plans.append(tree)
            notes += (f"  {', '.join(sorted(part.statements))}", *(f"    {note}" for note in decided))
        return in_slabs(found, plans), notes
