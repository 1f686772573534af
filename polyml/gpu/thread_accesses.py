"""The loads and stores of a thread as functions of where it is: { T[host, blocks, threads, loops] -> byte }, at given sizes.

C[i, j] = ... in a block of 32 x 8 threads    ->    { T[b0, t0, b1, t1] -> 4*(m*(8*b1 + t1) + 32*b0 + t0) : 8*b1 + t1 < n }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.gpu.rows.row_teams import RowCode
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.gpu.places import Place, Touch, looped
from polyml.gpu.teams.row_code import RowWalk
from polyml.gpu.teams.team_code import TeamWalk
from polyml.gpu.thread_code import runs_of, touches
from polyml.gpu.warps.points_parts import Piece
from polyml.model.core.scop import Scop
from polyml.polyhedra import Frame, LinearRow
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.to_isl import to_pw_aff, to_set
from polyml.values import cached_property


@dataclass(frozen=True)
class ThreadAccess:
    """A ThreadAccess is one load or store in the text of a thread.

    touch: the access in the text.
    version: the number of the version of what a thread runs.
    points: { T[t] }, the values t of `touch.place.dims` at which it is made.
    address: pieces (points, linear expression, divisor): at these points its byte address, in its array or in shared memory, is the
        expression / divisor.
    element_bytes: the size of what it accesses: an element, or several beside each other.
    """

    touch: Touch
    version: int
    points: isl.Set
    address: tuple[Piece, ...]
    element_bytes: int

    @property
    def key(self) -> tuple[object, ...]:
        """Returns a value that is equal for accesses that are one in the text: those of whole chunks and of the last one."""
        touch = self.touch
        return (
            self.version,
            touch.text,
            touch.array,
            touch.is_write,
            touch.tile,
            touch.held,
            touch.shared,
            touch.parts,
            bool(touch.pattern),
        )

    def step(self, dim: str) -> int | None:
        """Returns by how many bytes the access moves from one value of `dim` to the next; None where that varies."""
        position = self.touch.place.dims.index(dim)
        steps = {_step(row, position) if divisor == 1 else None for _, row, divisor in self.address}
        return steps.pop() if len(steps) == 1 else None

    @property
    def elements(self) -> isl.Map:
        """Returns { T[t] -> A[e] }, the element of an array in global memory that is accessed at each point."""
        frame = Frame((), self.touch.place.dims)
        subscripts = [to_pw_aff(each, frame) for each in self.touch.subscripts]
        found = polyhedra.relation(frame.space, self.touch.array, subscripts).intersect_domain(self.points)
        return found if self.touch.width == 1 else found.apply_range(self._vector)

    @property
    def _vector(self) -> isl.Map:
        """Returns { A[e] -> A[e'] }, all elements that are accessed at once, for the first of them."""
        names = [f"e{k}" for k in range(len(self.touch.subscripts))]
        before, last = ", ".join(names[:-1]), names[-1]
        others = f"{before}, " if before else ""
        array, width = self.touch.array, self.touch.width
        return isl.Map(f"{{ {array}[{others}{last}] -> {array}[{others}v] : {last} <= v < {last} + {width} }}")


@dataclass(frozen=True)
class LaunchPoints:
    """A LaunchPoints is a launch's kernel at given sizes, with all places in it as sets of integers.

    launch: the launch.
    sizes: the values of the SCoP's parameters.
    launches: { [h] }, the values of the host's loops for which there is a launch.
    has_shuffles: whether threads of a warp read registers of one another.
    """

    launch: Launch
    scop: Scop
    sizes: Mapping[str, int]
    launches: isl.Set
    has_shuffles: bool = True
    _known: dict[tuple[object, ...], isl.Set] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(program: GpuProgram, launch: Launch, sizes: Mapping[str, int]) -> LaunchPoints:
        """Returns the launch of a program for given sizes."""
        return LaunchPoints(launch, program.scop, sizes, _launched(program, launch, sizes))

    @cached_property
    def team(self) -> TeamWalk | None:
        """Returns the walk over what the threads of a block run together, if they do."""
        code = self.launch.team
        if isinstance(code, RowCode):
            return RowWalk(self.launch, code, self.scop, self.sizes, self.has_shuffles)
        return None if code is None else TeamWalk(self.launch, code, self.scop, self.sizes, self.has_shuffles)

    @cached_property
    def launches_count(self) -> int:
        """Returns how many launches of the kernel there are."""
        return polyhedra.count_tiles(self.launches, {}) if self.launch.host else int(not self.launches.is_empty())

    def accesses(self) -> Iterator[ThreadAccess]:
        """Yields the loads and stores of a thread."""
        made = touches(self.launch, self.scop, self.sizes) if self.team is None else ((0, each) for each in self.team.touches())
        for version, touch in made:
            points = self.points(touch.place)
            if not points.is_empty():
                yield ThreadAccess(touch, version, points, tuple(self._address(touch)), self._element_bytes(touch))

    def runs(self) -> Iterator[tuple[str, str, Place, isl.Set]]:
        """Yields each instance in the text of a thread, as `thread_code.runs` does, with { T[t] }, the points at which it runs."""
        made = runs_of(self.launch, self.scop, self.sizes) if self.team is None else self.team.runs()
        for name, kind, place in made:
            yield name, kind, place, self.points(place)

    def points(self, place: Place) -> isl.Set:
        """Returns { T[t] }, the values of a place's `dims`."""
        key = place.dims, place.conditions
        if key not in self._known:
            frame = Frame((), place.dims)
            found = reduce(isl.Set.intersect, (to_set(each, frame) for each in place.conditions), frame.universe())
            host = reduce(polyhedra.extend, place.dims[len(self.launch.host) :], self.launches)
            self._known[key] = found.intersect(polyhedra.with_iterators(host, place.dims)).coalesce()
        return self._known[key]

    def _element_bytes(self, touch: Touch) -> int:
        return self.scop.arrays[touch.array].element.size_bytes * touch.width

    def _address(self, touch: Touch) -> list[Piece]:
        """Returns the byte address of a load or store, in pieces of linear expressions."""
        shape = self.scop.arrays[touch.array].shape
        lengths: Sequence[int] = [polyhedra.value_at(extent, self.sizes) for extent in shape]
        if touch.tile is not None:
            lengths = touch.tile.lengths
        elif touch.shared or touch.parts:
            lengths = (1,)
        if touch.pattern:
            return []
        size = self.scop.arrays[touch.array].element.size_bytes
        value = Affine()
        for position, each in enumerate(touch.subscripts):
            value = value + each * (size * prod(lengths[position + 1 :]))
        return polyhedra.rows_by_piece(to_pw_aff(value, Frame((), touch.place.dims)))


def chosen(program: GpuProgram, plain: Launch, sizes: Mapping[str, int]) -> Iterator[tuple[Launch, Mapping[str, int], isl.Set]]:
    """Yields the launches that the host runs in place of one without teams, each with the values of its parameters, and with { [h] },
    the values of the host's loops for which it does.
    """
    launched = _launched(program, plain, sizes)
    if plain.name not in program.choices and plain.name not in program.rows:
        yield plain, sizes, launched
        return
    found: dict[tuple[str, tuple[tuple[str, int], ...]], isl.Set] = {}
    for point in polyhedra.points(launched.set_tuple_name("h")):
        at = dict(zip(plain.host, point[1]))
        here = isl.Set(f"{{ [{', '.join(map(str, point[1]))}] }}")
        for launch, values in program.runs(plain.name, {**sizes, **at}):
            own = tuple(sorted((name, value) for name, value in values.items() if name not in at))
            key = launch.name, own
            found[key] = found[key].union(here) if key in found else here
    for (name, own), points in found.items():
        yield program.launches[name], dict(own), polyhedra.with_iterators(points.coalesce(), plain.host)


def _launched(program: GpuProgram, launch: Launch, sizes: Mapping[str, int]) -> isl.Set:
    """Returns { [h] }, the values of the host's loops for which a launch runs."""
    start = Place((), (), {name: Affine(value) for name, value in sizes.items()})
    found = isl.Set.empty(Frame((), launch.host).space)
    for place, point in _orders(program.order, launch.name, start):
        frame = Frame((), place.dims)
        where = reduce(isl.Set.intersect, (to_set(each, frame) for each in place.conditions), frame.universe())
        values = [to_pw_aff(each, frame) for each in point]
        image = polyhedra.relation(frame.space, launch.name, values).intersect_domain(where).range()
        found = found.union(polyhedra.with_iterators(image.reset_tuple_id(), launch.host))
    return found.coalesce()


def _orders(nodes: Sequence[Node], name: str, place: Place) -> Iterator[tuple[Place, tuple[Affine, ...]]]:
    """Yields where in the host's loops a launch stands, and the values of its loops there."""
    for node in nodes:
        if isinstance(node, Instance):
            if node.statement == name:
                yield place, tuple(map(place.index, node.point))
        elif isinstance(node, Guard):
            yield from _orders(node.body, name, place.where(node.condition))
        elif isinstance(node, Loop):
            yield from _orders(node.body, name, looped(node, place))
        else:
            raise TypeError(f"not a node of the host: {node!r}")


def _step(row: LinearRow, dim: int) -> int | None:
    """Returns by how much a linear expression grows with a dimension; None where that varies."""
    if any(name != dim and polyhedra.is_in(name, dim) for name in row[0]):
        return None
    return row[0].get(dim, 0)
