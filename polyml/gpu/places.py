"""Where in a thread something runs: in which threads, inside which loops, under which conditions; and a load or store there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import prod

from polyml.codegen.gpu.block_loops.merged_sums import Operand
from polyml.codegen.gpu.block_loops.pipelined_tiles import PipelinedTile
from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.shared_tiles import SharedTile
from polyml.codegen.gpu.teams import SharedLoop
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Compare, Condition, extremum, variable


@dataclass(frozen=True)
class Place:
    """A Place is where in a thread something runs: inside which loops, and under which conditions.

    dims: names of integers: the host's loops, for each axis the number of the block and that of the thread, and for each loop of the
        thread how many iterations of it were before.
    conditions: what holds of them.
    values: { name in the program -> its value, an expression of `dims` }.
    unrolled: { name in `dims` of an unrolled loop -> how many iterations it has }.
    bounds: { name in `dims` of a loop of the source, innermost last -> those of the conditions that bound it }.
    loops: the names of the thread's own loops, outermost first.
    renamed: { variable of a loop over a thread's items -> the name that the items along that axis have }.
    """

    dims: tuple[str, ...]
    conditions: tuple[Condition, ...]
    values: Mapping[str, Affine]
    unrolled: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    loops: tuple[str, ...] = ()
    renamed: Mapping[str, Affine] = field(default_factory=dict)

    def where(self, *conditions: Condition) -> Place:
        """Returns the place inside a test of conditions, given in names of the program."""
        return replace(self, conditions=(*self.conditions, *(each.substitute(self.values) for each in conditions)))

    def until(self, *ends: Affine) -> Place:
        """Returns the place inside the innermost loop where that ends before any of the expressions of names of the program is negative."""
        dim, more = self.dims[-1], tuple(Compare(">=", end.substitute(self.values)) for end in ends)
        return replace(self, conditions=(*self.conditions, *more), bounds={**self.bounds, dim: (*self.bounds[dim], *more)})

    def without(self, dims: Set[str]) -> Place:
        """Returns the place outside of loops that surely run, whose variables no condition relates to others."""
        conditions = tuple(each for each in self.conditions if not dims & each.names)
        return replace(self, dims=tuple(each for each in self.dims if each not in dims), conditions=conditions)

    def hoisted(self, names: Set[str]) -> tuple[Place, tuple[str, ...]]:
        """Returns the place outside of those innermost loops of which the subscripts, with these names, are independent, and the names of the
        loops for people. It is where the loop begins: it has to run once.
        """
        place, held = self, []
        for dim, bounds in reversed([*self.bounds.items()]):
            others = [each for each in place.conditions if each not in bounds and dim in each.names]
            if dim in names or others or place.dims[-1] != dim:
                break
            first = (each.substitute({dim: Affine()}) for each in bounds)
            kept = tuple(each for each in place.conditions if each not in bounds)
            known = {name: each for name, each in place.bounds.items() if name != dim}
            held.append(place.loops[-1])
            place = replace(place, dims=place.dims[:-1], conditions=(*kept, *first), bounds=known, loops=place.loops[:-1])
        return place, tuple(reversed(held))

    def inside(self, names: Sequence[str], first: Affine, step: int, count: int | None = None, label: str = "") -> Place:
        """Returns the place inside a loop without an end.

        names: of the loop's variable.
        first, step: the variable's first value, in names of the program, and what every iteration adds to it.
        count: how many iterations there are, if the loop is unrolled.
        label: the loop's name for people; "" for a loop that they do not see.
        """
        dim = f"n{len(self.dims)}'"
        value = first.substitute(self.values) + variable(dim) * step
        ends = (Compare(">=", variable(dim)), *([] if count is None else [Compare(">=", Affine(count - 1) - variable(dim))]))
        return Place(
            (*self.dims, dim),
            (*self.conditions, *ends),
            {**self.values, **dict.fromkeys(names, value)},
            self.unrolled if count is None else {**self.unrolled, dim: count},
            {**self.bounds, dim: ends} if label else self.bounds,
            (*self.loops, label) if label else self.loops,
            self.renamed,
        )

    def index(self, value: Affine) -> Affine:
        """Returns an expression of the program's names as one of `dims`."""
        return value.substitute(self.values)


@dataclass(frozen=True)
class Touch:
    """A Touch is a load or store in the text of a thread.

    text: the access, for people.
    array: the array.
    tile: the tile in shared memory that is accessed; None for global memory.
    subscripts: of the element, in the array or in the tile, expressions of the place's `dims`.
    held: the names of the loops over which registers hold the element.
    is_copy: whether it is part of a copy to shared memory.
    width: how many elements beside each other it is of.
    pattern: where all threads of a block always access the same bytes of shared memory, these, [request][lane]; the place is then that of
        the block, without numbers of threads; -1 where a lane takes no part.
    shared: the name of an array in shared memory that is no tile, of elements of the type of `array`.
    parts: the same of an array in global memory that is none of the SCoP's.
    may: whether data decide whether it happens.
    """

    text: str
    array: str
    is_write: bool
    tile: SharedTile | PipelinedTile | Operand | None
    place: Place
    subscripts: tuple[Affine, ...]
    held: tuple[str, ...] = ()
    is_copy: bool = False
    width: int = 1
    pattern: tuple[tuple[int, ...], ...] = ()
    shared: str = ""
    parts: str = ""
    may: bool = False

    @property
    def is_direct(self) -> bool:
        """Returns whether it accesses global memory for a statement, not for a copy to shared memory."""
        return not self.is_shared and not self.is_copy

    @property
    def is_shared(self) -> bool:
        """Returns whether it accesses shared memory."""
        return self.tile is not None or bool(self.shared)


def block_dim(axis: int) -> str:
    """Returns the name in `Place.dims` of a block's number along an axis. No name of a program has a prime."""
    return f"b{axis}'"


def thread_dim(axis: int) -> str:
    """Returns the name in `Place.dims` of a thread's number in its block, along an axis; a block of one thread has none."""
    return f"t{axis}'"


def place_of(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Place:
    """Returns the place of a thread's first line: any of the threads of any of the launches of one kernel.

    sizes: the values of the SCoP's parameters.
    """
    dims, conditions = list(launch.host), []
    values = {name: Affine(value) for name, value in sizes.items()} | {name: variable(name) for name in launch.host}
    values |= {name: Affine(prod(each.evaluate(sizes) for each in some)) for name, some in launch.counts.items()}
    named = {axis.start: axis for axis in launch.blocks}
    for number, axis in enumerate(launch.axes):
        block, extent = variable(block_dim(number)), axis.threads * axis.items
        dims.append(block_dim(number))
        first, count = axis.first.substitute(values), axis.blocks.substitute(values)
        conditions += [Compare(">=", block - first), Compare(">=", first + count - 1 - block)]
        thread = Affine()
        if axis.threads > 1:
            dims.append(thread_dim(number))
            thread = variable(thread_dim(number))
            conditions += [Compare(">=", thread), Compare(">=", Affine(axis.threads - 1) - thread)]
        found = {axis.start: block * extent + thread * axis.thread_step}
        if axis.start in named:
            found |= {named[axis.start].block: block * extent, named[axis.start].thread: thread}
        values |= found
    return Place(tuple(dims), tuple(conditions), values)


def looped(loop: Loop, place: Place) -> Place:
    """Returns the place inside a loop."""
    step = place.index(loop.stride).constant if isinstance(loop, SharedLoop) else loop.step
    inner = place.inside((loop.var,), extremum("max", loop.lower), step, label=loop.name or loop.var)
    return inner.until(*(upper - variable(loop.var) for upper in loop.upper))


def runs(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, Place]]:
    """Yields each instance in the text of a thread: the statement's name, the type as which a matrix instruction takes the operands if one runs it, else "",
    and where it runs.

    sizes: the values of the SCoP's parameters.
    """
    start = place_of(launch, scop, sizes)
    for version in launch.versions:
        matrices = {node.statement: each.instruction.number for each in version.fragments for node in instances((each.loop,))}
        yield from instances_in(version.tested, in_version(start, version), matrices)


def in_version(place: Place, version: Version) -> Place:
    """Returns the place where threads run a version, in terms of how many iterations a block has, where it may have fewer than others."""
    counts = {end.count: place.index(end.counted) for end in version.ends}
    return replace(place.where(version.condition), values={**place.values, **counts})


def instances_in(nodes: Sequence[Node], place: Place, matrices: Mapping[str, str]) -> Iterator[tuple[str, str, Place]]:
    """Yields each instance of the nodes, as `runs` does.

    matrices: { statement that matrix instructions run -> the type of their operands }.
    """
    for node in nodes:
        if isinstance(node, Instance):
            yield node.statement, matrices.get(node.statement, ""), place
        elif isinstance(node, Guard):
            yield from instances_in(node.body, place.where(node.condition), matrices)
        elif isinstance(node, Loop):
            yield from instances_in(node.body, looped(node, place), matrices)
        else:
            raise TypeError(f"not a node of a thread: {node!r}")
