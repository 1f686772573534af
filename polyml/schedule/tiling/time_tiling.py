"""Tiles over time: several steps of a sweep on a part of the arrays while that is in the cache.

    for t: for i: S(t, i)      ->      for w: parallel a: for t, i in tile (a, w - a): S(t, i)

A tile is where two hyperplanes h1 and h2 have been divided by its size: (a, b) = (floor(h1/W), floor(h2/W)). Neither decreases
along a dependence, so tiles may run one after another, each as a whole, and those of one wave w = a + b need nothing of each other.

    diamonds    h1 = s*t + x, h2 = s*t - x: every wave has all of its tiles at once (concurrent start: Bandishti, Pananilath and
                Bondhugula, "Tiling stencil computations to maximize parallelism", SC 2012)
    pipeline    h1 = t, h2 = s*t + x, where dependences go one way only (Gauss-Seidel): waves grow and shrink

x is where in its array a statement writes, in one dimension, and each statement has a shift of its own in h1 and h2. Of the other
dimensions those that are long are cut by a further hyperplane s*t + y, whose tiles a thread runs in order. Where dependences
go around (periodic boundaries), x is the distance from the nearer end: the space is folded, so that both ends are neighbours
(Bondhugula et al., "Tiling and optimizing time-iterated computations over periodic domains", PACT 2014).

Inside a tile instances keep the order that they had without tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.tree.bands import NODE, PARALLEL, POINT, TILE, Band, band_of, floor, together
from polyml.schedule.tree.text import Tree, parse_tree

SLOPES = range(5)  # places per step that a hyperplane may lean
SHARE = 75  # percent of the cache that a tile's data fill
ROW = 512  # elements of a row in a tile, where rows are longer than LONG_ROW
LONG_ROW = 768
WIDTHS = (768, 32, 8)  # places of a tile along the dimension of the waves, for arrays of one, two, three dimensions of unknown size
STEPS = (64, 8, 4)  # that widths are multiples of
LEAST = 4  # places of a tile along dimensions that are cut
STEPS_OF_PIPELINE = 32  # of time in a tile, at most
TILES = (1, 2, 2)  # in a wave for each core


@dataclass(frozen=True)
class Hyperplane:
    """slope*t + sign*x + shift of the statement. dim: x is the place along this dimension; None: the hyperplane is t."""

    member: isl.UnionPwAff
    dim: int | None
    slope: int


@dataclass(frozen=True)
class TimeTiles:
    """waves: the two whose tiles' numbers add up to the wave. inner: (hyperplane, size) of each tile loop inside a wave's tile.
    pays: whether there are threads to share the work, or more data than the second cache holds.
    """

    waves: tuple[Hyperplane, Hyperplane]
    sizes: tuple[int, int]
    inner: tuple[tuple[Hyperplane, int], ...]
    pays: bool

    def __str__(self) -> str:
        kind = "tiles by a pipeline" if self.waves[0].dim is None else "diamonds"
        cut = "".join(f", of {size} along dimension {plane.dim}" for plane, size in self.inner)
        return f"{kind} over time, {self.sizes[1]} wide along dimension {self.waves[1].dim}{cut}"


def time_tiles(
    component: isl.Schedule,
    scop: Scop,
    dependences: Dependences,
    machine: CpuMachine,
    sizes: Mapping[str, int] | None,
    *,
    cores: int,
) -> TimeTiles | None:
    """Tiles over the outermost loop of a component and the places it sweeps; None where it is no such component.

    scop, dependences: of the component's statements. sizes: of parameters, to choose tiles by. cores: that share a wave.
    """
    time = _time(component, scop)
    if time is None:
        return None
    places = _places(time, scop)
    if not places:
        return None
    planes = [_planes(time, place, dim, dependences.validity) for dim, place in enumerate(places)]
    waves = _waves(time, planes)
    if waves is None:
        return None
    extents = [_extent(place, sizes) for place in places]
    place_bytes = sum(a.element.size_bytes for a in scop.arrays.values() if len(a.shape) >= len(places))
    along = waves[1].dim
    sweep = _Sweep(tuple(extents), along, place_bytes, machine, cores)
    width, cuts = sweep.widths()
    inner = tuple((plane, cuts[d]) for d, found in enumerate(planes) for plane in found[:1] if d != along and d in cuts)
    steps = min(width, STEPS_OF_PIPELINE) if waves[0].dim is None else width  # or there are few tiles in a wave
    return TimeTiles(waves, (steps, width), inner, sweep.pays)


def tree(found: TimeTiles, component: isl.Schedule, *, parallel: bool) -> Tree:
    """The tiles' loops around the component's own."""
    first, second = (h.member for h in found.waves)
    tiles = floor(Band((first, second), (False, False), True), found.sizes).members
    inside: Tree = {"mark": POINT, "child": _whole(parse_tree(str(component))["child"])}
    for plane, size in reversed(found.inner):
        inside = {"mark": TILE, "child": _loop(floor(Band((plane.member,), (False,), True), (size,)).members[0], False, inside)}
    inside = {"mark": PARALLEL if parallel else TILE, "child": _loop(tiles[0], True, inside)}
    return {"mark": TILE, "child": _loop(tiles[0].add(tiles[1]), False, inside)}


def _loop(member: isl.UnionPwAff, coincident: bool, child: Tree) -> Tree:
    band = isl.MultiUnionPwAff.from_union_pw_aff(member)
    return {"schedule": str(band), "permutable": 1, "coincident": [int(coincident)], "options": "{ atomic[0] }", "child": child}


def _whole(node: Tree) -> Tree:
    """The tree with loops around several statements being one loop each: tests inside cost less than copies of the code."""
    made = {**node}
    if (
        "schedule" in node
        and "options" not in node
        and len(polyhedra.set_names(isl.MultiUnionPwAff(node["schedule"]).domain())) > 1
    ):
        made["options"] = "{ atomic[x] }"
    if "child" in node:
        made["child"] = _whole(node["child"])
    if "sequence" in node:
        made["sequence"] = [_whole(child) for child in node["sequence"]]
    return made


def _time(component: isl.Schedule, scop: Scop) -> isl.UnionPwAff | None:
    """The outermost loop, in the source's order if the component's own is skewed: it must not be parallel."""
    for schedule in (component, scop.schedule.intersect_domain(component.get_domain())):
        top = schedule.get_root().child(0)
        if top.get_type() != NODE.band:
            return None
        band = band_of(top)
        if any(band.coincident):
            return None
        member, names = band.members[0], polyhedra.set_names(schedule.get_domain())
        if all(len(iterators_of(member, name)) == 1 for name in names):
            return member
    return None


def _places(time: isl.UnionPwAff, scop: Scop) -> list[isl.UnionPwAff]:
    """Where statements write, dimension by dimension, but for those that time moves: { S[t, i] -> [(i)] }. As many for all."""
    found: list[list[isl.PwAff]] = []
    for statement in scop.statements.values():
        moving = set(iterators_of(time, statement.name))
        own = [p for p in statement.write.subscripts if not moving.intersection(polyhedra.used_iterators(p))]
        found.append([p.intersect_domain(statement.domain) for p in own])
    if len({len(own) for own in found}) != 1:
        return []
    return [_union(isl.UnionPwAff.from_pw_aff(p) for p in dim) for dim in zip(*found)]


def _union(parts: Iterable[isl.UnionPwAff]) -> isl.UnionPwAff:
    first, *others = parts
    for other in others:
        first = first.union_add(other)
    return first


@dataclass(frozen=True)
class _Step:
    """{ [dt, dx...] } of all dependences of one statement on another, whatever the sizes."""

    source: str
    sink: str
    distances: isl.Set


def _steps(members: Sequence[isl.UnionPwAff], validity: isl.UnionMap) -> list[_Step]:
    """How far dependences go in time and space; none where one goes as far in space as sizes let it."""
    relation = isl.UnionMap.from_multi_union_pw_aff(together(members))
    times = {polyhedra.domain_name(m): m for m in polyhedra.pieces(relation)}
    found = []
    for piece in polyhedra.pieces(validity):
        source, sink = polyhedra.domain_name(piece), polyhedra.range_name(piece)
        distances = polyhedra.without_sizes(piece.apply_domain(times[source]).apply_range(times[sink]).deltas()).coalesce()
        if any(polyhedra.minimum(distances, {1: sign}) is None for sign in (1, -1)):
            return []
        found.append(_Step(source, sink, distances))
    return found


def _planes(time: isl.UnionPwAff, place: isl.UnionPwAff, dim: int, validity: isl.UnionMap) -> list[Hyperplane]:
    """Those that lean to one side and to the other, as far as there are any; of a folded space if only that is bounded."""
    for change in (lambda x: x, _folded):
        x = change(place)
        steps = [] if x is None else _steps([time, x], validity)
        if steps:
            return [plane for sign in (1, -1) if (plane := _hyperplane(time, x, sign, steps, dim)) is not None]
    return []


def _folded(place: isl.UnionPwAff) -> isl.UnionPwAff | None:
    """The distance from the nearer end: { S[t, i] -> [min(i, N - 1 - i)] }; None where the ends are not two expressions."""
    ends = polyhedra.parametric_extremes(isl.UnionMap.from_union_pw_aff(place).range())
    return None if ends is None else _each(place, lambda p: polyhedra.distance_to_ends(p, *ends))


def _each(member: isl.UnionPwAff, change: Callable[[isl.PwAff], isl.PwAff]) -> isl.UnionPwAff:
    """The member with the expression of each statement changed."""
    listed = member.get_pw_aff_list()
    return _union(isl.UnionPwAff.from_pw_aff(change(listed.get_at(k))) for k in range(listed.n_pw_aff()))


def _name(value: isl.PwAff) -> str:
    return value.domain().get_tuple_name()


def _waves(time: isl.UnionPwAff, planes: Sequence[Sequence[Hyperplane]]) -> tuple[Hyperplane, Hyperplane] | None:
    """Diamonds along the first dimension that has both hyperplanes, else a pipeline along the first that has one."""
    for found in planes:
        if len(found) == 2 and found[0].slope + found[1].slope > 0:
            return found[0], found[1]
    for found in planes:
        if len(found) == 1:
            return Hyperplane(time, None, 1), found[0]
    return None


def _extent(place: isl.UnionPwAff, sizes: Mapping[str, int] | None) -> int | None:
    """How many places there are; None for unknown sizes."""
    if sizes is None:
        return None
    whole = polyhedra.pieces(isl.UnionMap.from_union_pw_aff(place).range())
    return max((polyhedra.length(polyhedra.fix(piece, sizes), 0) or 0 for piece in whole), default=0)


@dataclass(frozen=True)
class _Sweep:
    """What tiles are chosen by. extents: of places, None where unknown; along: the dimension of the waves; place_bytes: of all
    arrays; cores: that share a wave.
    """

    extents: tuple[int | None, ...]
    along: int
    place_bytes: int
    machine: CpuMachine
    cores: int

    @property
    def pays(self) -> bool:
        if None in self.extents:
            return self.cores > 1 or len(self.extents) > 1
        return self.cores > 1 or prod(self.extents) * self.place_bytes > self.machine.cache(2).size_bytes

    def widths(self) -> tuple[int, dict[int, int]]:
        """The places of a tile along the dimension of the waves, and along others that are cut: { dimension: places }."""
        kind = min(len(self.extents), len(WIDTHS)) - 1
        last = len(self.extents) - 1
        cut = {d for d, e in enumerate(self.extents) if d != self.along and (d != last or e is None or e > LONG_ROW)}
        width = WIDTHS[kind]
        if None not in self.extents:
            capacity = self.machine.cache(1 if kind == 0 else 2).size_bytes * SHARE // 100
            most = self.extents[self.along] // (TILES[kind] * self.cores)
            width = step = STEPS[kind]
            while width + step <= most and self._data(width + step, cut) <= capacity:
                width += step
        return width, {d: self._cut(d, width) for d in cut}

    def _cut(self, dim: int, width: int) -> int:
        return ROW if dim == len(self.extents) - 1 else max(width // 8, LEAST)

    def _data(self, width: int, cut: set[int]) -> int:
        """Bytes that a tile touches. In dimensions that are cut it leans as its steps go on, on average by half its width."""
        size = self.place_bytes * width
        for d, e in enumerate(self.extents):
            if d != self.along:
                size *= min(e, self._cut(d, width) + width // 2) if d in cut else e
        return size


def _hyperplane(time: isl.UnionPwAff, place: isl.UnionPwAff, sign: int, steps: Sequence[_Step], dim: int) -> Hyperplane | None:
    """slope*time + sign*place with the least slope for which shifts exist that let no dependence go backwards."""
    for slope in SLOPES:
        least = [(s.source, s.sink, polyhedra.minimum(s.distances, {0: slope, 1: sign})) for s in steps]
        if any(value is None for _, _, value in least):
            return None
        shifts = _shifts(least)
        if shifts is not None:
            leaning = time.scale_val(isl.Val(slope)).add(place.scale_val(isl.Val(sign)))
            return Hyperplane(_each(leaning, lambda p: p.add_constant_val(isl.Val(shifts.get(_name(p), 0)))), dim, slope)
    return None


def _shifts(least: Sequence[tuple[str, str, int]]) -> dict[str, int] | None:
    """A shift of each statement with shift[sink] - shift[source] + least >= 0, the smallest ones from 0 up; None if there are none.

    The longest way to each statement (Bellman and Ford), which ends unless a circle of dependences goes back.
    """
    shifts = {name: 0 for source, sink, _ in least for name in (source, sink)}
    for _ in range(len(shifts) + 1):
        changed = False
        for source, sink, value in least:
            if shifts[source] - value > shifts[sink]:
                shifts[sink], changed = shifts[source] - value, True
        if not changed:
            return shifts
    return None
