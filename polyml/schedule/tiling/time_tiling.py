"""Tiles over time: several steps of a sweep on a part of the arrays while that is in the cache.

    for t: for i: S(t, i)      ->      for w: parallel a: for t, i in tile (a, w - a): S(t, i)

A tile is where two hyperplanes h1 and h2 have been divided by its size: (a, b) = (floor(h1/W), floor(h2/W)). Neither decreases
along a dependence, so tiles may run one after another, each as a whole, and those of one wave w = a + b need nothing of each other.

    diamonds    h1 = s*t + x, h2 = s*t - x: every wave has all of its tiles at once (concurrent start: Bandishti, Pananilath and
                Bondhugula, "Tiling stencil computations to maximize parallelism", SC 2012)
    pipeline    h1 = t, h2 = s*t + x, where dependences go one way only (Gauss-Seidel): waves grow and shrink

x is the subscript of the element that a statement writes, in one dimension, and each statement has a shift of its own in h1 and
h2. Other dimensions that are long are tiled by a further hyperplane s*t + y, whose tiles a thread runs in order. Where dependences
wrap around (periodic boundaries), x is the distance from the nearer end: the space is folded, so that both ends are neighbours
(Bondhugula et al., "Tiling and optimizing time-iterated computations over periodic domains", PACT 2014).

Inside a tile instances keep the order that they had without tiles. Others call this time skewing (Wonnacott, 2000) and diamond
tiling (Pluto).
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
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, PARALLEL, POINT, TILE, Band, band_of, floor, together
from polyml.schedule.tree.text import Tree

SLOPES = range(5)  # elements per time step by which a hyperplane may be skewed
SHARE = 75  # percent of the cache that a tile's data fill
ROW = 512  # elements of a row in a tile, where rows are longer than LONG_ROW
LONG_ROW = 768
WIDTHS = (
    768,
    32,
    8,
)  # elements of a tile along the dimension of the waves, for arrays of one, two, three dimensions of unknown size
STEPS = (64, 8, 4)  # that widths are multiples of
LEAST = 4  # elements of a tile along the other dimensions that are tiled
STEPS_OF_PIPELINE = 32  # of time in a tile, at most
TILES = (1, 2, 2)  # in a wave for each core


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane by which time and space are tiled is { S[t, i] -> [(slope*t + x + shift of S)] }, or the same with -x.

    member: this expression.
    dim: the dimension of the written array of which x is the subscript; None: the expression is t itself.
    slope: elements that a tile's border moves per time step.
    """

    member: isl.UnionPwAff
    dim: int | None
    slope: int


@dataclass(frozen=True)
class TimeTiles:
    """Tiles over time and space, given by hyperplanes and the sizes by which these are divided.

    waves: the two hyperplanes whose tile numbers add up to the number of the wavefront.
    sizes: the tiles' size along each of the two.
    inner: (hyperplane, size) of each loop over tiles inside one tile of a wavefront.
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
    """Returns tiles over a component's outermost loop and the array dimensions that it sweeps; None where there are none.

    scop, dependences: of the component's statements alone.
    sizes: values of parameters to choose tile sizes by.
    cores: how many share the tiles of a wavefront.
    """
    time = _time(component, scop)
    if time is None:
        return None
    subscripts = _written_subscripts(time, scop)
    if not subscripts:
        return None
    planes = [_planes(time, subscript, dim, dependences.validity) for dim, subscript in enumerate(subscripts)]
    waves = _waves(time, planes)
    if waves is None:
        return None
    along = waves[1].dim
    assert along is not None, "the second hyperplane of waves has a slope along a dimension"
    extents = None if sizes is None else tuple(_extent(subscript, sizes) for subscript in subscripts)
    element_bytes = sum(a.element.size_bytes for a in scop.arrays.values() if len(a.shape) >= len(subscripts))
    sweep = _Sweep(len(subscripts), extents, along, element_bytes, machine, cores)
    width, cuts = sweep.widths()
    inner = tuple((plane, cuts[d]) for d, found in enumerate(planes) for plane in found[:1] if d != along and d in cuts)
    steps = min(width, STEPS_OF_PIPELINE) if waves[0].dim is None else width  # or there are few tiles in a wave
    return TimeTiles(waves, (steps, width), inner, sweep.pays)


def tile_time(component: isl.Schedule, found: TimeTiles, *, parallel: bool) -> tuple[isl.Schedule, tuple[str, ...]]:
    """Returns the component with loops over time tiles around its own loops, and a note; that it is legal is left to be proved.

    found: the tiles.
    parallel: whether the tiles of a wavefront go to threads.
    """
    first, second = (h.member for h in found.waves)
    tiles = floor(Band((first, second), (False, False), True), found.sizes).members
    inside: Tree = {"mark": POINT, "child": _whole(nodes.tree_of(component)["child"])}
    for plane, size in reversed(found.inner):
        inside = {"mark": TILE, "child": _loop(floor(Band((plane.member,), (False,), True), (size,)).members[0], False, inside)}
    inside = {"mark": PARALLEL if parallel else TILE, "child": _loop(tiles[0], True, inside)}
    waves = {"mark": TILE, "child": _loop(tiles[0].add(tiles[1]), False, inside)}
    domain = component.get_domain()
    made = nodes.schedule({"domain": nodes.text_of(domain), "child": waves})
    return made, (f"{', '.join(sorted(polyhedra.set_names(domain)))}: {found}",)


def _loop(member: isl.UnionPwAff, coincident: bool, child: Tree) -> Tree:
    """Returns a band of the loop `member` around `child`, with the option by which isl writes it as one loop, not as several."""
    band = isl.MultiUnionPwAff.from_union_pw_aff(member)
    return {
        "schedule": nodes.text_of(band),
        "permutable": 1,
        "coincident": [int(coincident)],
        "options": "{ atomic[0] }",
        "child": child,
    }


def _whole(node: Tree) -> Tree:
    """Returns the tree with options by which isl makes a single loop of each band that is around several statements.

    Tests inside the loop cost less than copies of its code for each set of statements.
    """
    made = {**node}
    if "schedule" in node and "options" not in node and len(polyhedra.set_names(nodes.values(node["schedule"]).domain())) > 1:
        made["options"] = "{ atomic[x] }"
    if "child" in node:
        made["child"] = _whole(node["child"])
    if "sequence" in node:
        made["sequence"] = [_whole(child) for child in node["sequence"]]
    return made


def _time(component: isl.Schedule, scop: Scop) -> isl.UnionPwAff | None:
    """Returns a component's loop over time { S[t, i] -> [(t)] }: its outermost loop, which must be sequential.

    Where that loop does not follow a single iterator, as after skewing, the source's outermost loop is returned instead; None where
    it does not either, or where a loop of the outermost band is parallel.
    """
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


def _written_subscripts(time: isl.UnionPwAff, scop: Scop) -> list[isl.UnionPwAff]:
    """Returns the subscript { S[t, i] -> [(i)] } of each dimension of the written arrays in which it does not depend on time.

    The list is empty where statements have different numbers of such dimensions.
    """
    found: list[list[isl.PwAff]] = []
    for statement in scop.statements.values():
        moving = set(iterators_of(time, statement.name))
        own = [p for p in statement.write.subscripts if not moving.intersection(polyhedra.used_iterators(p))]
        found.append([p.intersect_domain(statement.domain) for p in own])
    if len({len(own) for own in found}) != 1:
        return []
    return [_union(isl.UnionPwAff.from_pw_aff(p) for p in dim) for dim in zip(*found)]


def _union(parts: Iterable[isl.UnionPwAff]) -> isl.UnionPwAff:
    """Returns the expressions of all parts as one { S[i] -> [(e)]; T[j] -> [(f)] }; there is at least one part."""
    first, *others = parts
    for other in others:
        first = first.union_add(other)
    return first


@dataclass(frozen=True)
class _Distances:
    """The distances { [dt, dx] } in time and space of all dependences of the statement `sink` on the statement `source`."""

    source: str
    sink: str
    distances: isl.Set


def _distances(members: Sequence[isl.UnionPwAff], validity: isl.UnionMap) -> list[_Distances]:
    """Returns the distances of all dependences along the members (time and space), by pair of statements.

    The list is empty where a distance in space is not bounded by a constant.
    """
    relation = isl.UnionMap.from_multi_union_pw_aff(together(members))
    times = {polyhedra.domain_name(m): m for m in polyhedra.pieces(relation)}
    found = []
    for piece in polyhedra.pieces(validity):
        source, sink = polyhedra.domain_name(piece), polyhedra.range_name(piece)
        distances = polyhedra.without_sizes(piece.apply_domain(times[source]).apply_range(times[sink]).deltas()).coalesce()
        if any(polyhedra.minimum(distances, {1: sign}) is None for sign in (1, -1)):
            return []
        found.append(_Distances(source, sink, distances))
    return found


def _planes(time: isl.UnionPwAff, subscript: isl.UnionPwAff, dim: int, validity: isl.UnionMap) -> list[Hyperplane]:
    """Returns the hyperplanes slope*time + x and slope*time - x along which no dependence goes back, as far as they exist.

    Where distances grow with the sizes (periodic boundaries), x is the distance from the nearer end of the space.

    subscript: x, the subscript of dimension `dim` of the array that is written.
    validity: { S[i] -> T[j] }, the dependences.
    """
    x: isl.UnionPwAff | None = subscript
    distances = _distances([time, subscript], validity)
    if not distances:
        x = _folded(subscript)
        distances = [] if x is None else _distances([time, x], validity)
    if x is None or not distances:
        return []
    return [plane for sign in (1, -1) if (plane := _hyperplane(time, x, sign, distances, dim)) is not None]


def _folded(subscript: isl.UnionPwAff) -> isl.UnionPwAff | None:
    """Returns { S[t, i] -> [(min(i, N - 1 - i))] } for a subscript i from 0 to N - 1: how far it is from the nearer of these two
    ends.

    None where an end is unbounded or not known as an expression of parameters.
    """
    ends = polyhedra.parametric_extremes(isl.UnionMap.from_union_pw_aff(subscript).range())
    return None if ends is None else _each(subscript, lambda p: polyhedra.distance_to_ends(p, *ends))


def _each(member: isl.UnionPwAff, change: Callable[[isl.PwAff], isl.PwAff]) -> isl.UnionPwAff:
    """Returns the member with `change` applied to the expression of each statement."""
    listed = member.get_pw_aff_list()
    return _union(isl.UnionPwAff.from_pw_aff(change(listed.get_at(k))) for k in range(listed.n_pw_aff()))


def _name(value: isl.PwAff) -> str:
    return value.domain().get_tuple_name()


def _waves(time: isl.UnionPwAff, planes: Sequence[Sequence[Hyperplane]]) -> tuple[Hyperplane, Hyperplane] | None:
    """Returns the two hyperplanes whose tile numbers add up to a wavefront's; None where no dimension has any hyperplane.

    They are the two of the first dimension with two (diamond tiles), else time and the one of the first dimension with one (tiles
    that start one after the other, as in a pipeline).

    planes: for each dimension its hyperplanes.
    """
    for found in planes:
        if len(found) == 2 and found[0].slope + found[1].slope > 0:
            return found[0], found[1]
    for found in planes:
        if len(found) == 1:
            return Hyperplane(time, None, 1), found[0]
    return None


def _extent(subscript: isl.UnionPwAff, sizes: Mapping[str, int]) -> int:
    """Returns how many values the subscript takes at the given sizes."""
    whole = polyhedra.pieces(isl.UnionMap.from_union_pw_aff(subscript).range())
    return max((polyhedra.length(polyhedra.fix(piece, sizes), 0) or 0 for piece in whole), default=0)


@dataclass(frozen=True)
class _Sweep:
    """What one time step goes over (all elements of some arrays), and the machine: tile sizes are chosen by these.

    rank: how many dimensions the arrays have.
    extents: elements along each dimension; None where sizes are unknown.
    along: the dimension along which tiles are in wavefronts.
    element_bytes: the bytes of one element of each array, added up.
    cores: how many share the tiles of a wavefront.
    """

    rank: int
    extents: tuple[int, ...] | None
    along: int
    element_bytes: int
    machine: CpuMachine
    cores: int

    @property
    def pays(self) -> bool:
        """Returns whether there are threads to share the work, or more data than the second cache holds."""
        if self.extents is None:
            return self.cores > 1 or self.rank > 1
        return self.cores > 1 or prod(self.extents) * self.element_bytes > self.machine.cache(2).size_bytes

    def widths(self) -> tuple[int, dict[int, int]]:
        """Returns a tile's elements along the wavefronts' dimension, and by dimension those along the others that are tiled."""
        kind, last = min(self.rank, len(WIDTHS)) - 1, self.rank - 1
        is_long = self.extents is None or self.extents[last] > LONG_ROW
        tiled = {d for d in range(self.rank) if d != self.along and (d != last or is_long)}
        width = WIDTHS[kind]
        if self.extents is not None:
            capacity = self.machine.cache(1 if kind == 0 else 2).size_bytes * SHARE // 100
            most = self.extents[self.along] // (TILES[kind] * self.cores)
            width = step = STEPS[kind]
            while width + step <= most and self._data(self.extents, width + step, tiled) <= capacity:
                width += step
        return width, {d: self._tile(d, width) for d in tiled}

    def _tile(self, dim: int, width: int) -> int:
        """Returns a tile's elements along a dimension other than that of the wavefronts.

        width: its elements along that of the wavefronts.
        """
        return ROW if dim == self.rank - 1 else max(width // 8, LEAST)

    def _data(self, extents: tuple[int, ...], width: int, tiled: set[int]) -> int:
        """Returns the bytes that a tile accesses in all its time steps.

        A tile moves as time goes on, so along each dimension of `tiled` half of `width` is added to its elements.

        width: a tile's elements along the dimension of the wavefronts.
        tiled: the other dimensions that are tiled.
        """
        size = self.element_bytes * width
        for d, extent in enumerate(extents):
            if d != self.along:
                size *= min(extent, self._tile(d, width) + width // 2) if d in tiled else extent
        return size


def _hyperplane(time: isl.UnionPwAff, x: isl.UnionPwAff, sign: int, distances: Sequence[_Distances], dim: int) -> Hyperplane | None:
    """Returns slope*time + sign*x with the least slope for which no dependence goes back, once each statement has a constant added.

    None where there is no such slope.

    time, x: { S[t, i] -> [(e)] }, the loop over time and a subscript, that of dimension `dim`.
    sign: 1 or -1.
    distances: of all dependences, in time and x.
    """
    for slope in SLOPES:
        least: list[tuple[str, str, int]] = []
        for each in distances:
            value = polyhedra.minimum(each.distances, {0: slope, 1: sign})
            if value is None:
                return None
            least.append((each.source, each.sink, value))
        shifts = _shifts(least)
        if shifts is not None:
            return Hyperplane(_shifted(time.scale_val(isl.Val(slope)).add(x.scale_val(isl.Val(sign))), shifts), dim, slope)
    return None


def _shifted(member: isl.UnionPwAff, shifts: Mapping[str, int]) -> isl.UnionPwAff:
    """Returns the member with the shift of each statement added to its expression."""
    return _each(member, lambda p: p.add_constant_val(isl.Val(shifts.get(_name(p), 0))))


def _shifts(least: Sequence[tuple[str, str, int]]) -> dict[str, int] | None:
    """Returns by statement the least shift >= 0 such that, for every entry (source, sink, d), shift[sink] + d >= shift[source].

    None where there are no such shifts. They are longest paths in the graph of the dependences (Bellman and Ford), which are
    finite unless a cycle goes back.

    least: (source, sink, d) for each pair of statements, d being the least distance of dependences from source to sink.
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
