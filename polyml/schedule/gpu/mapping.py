"""Loops that go to the blocks and threads of a GPU, by exact dependences.

    for t:                            host: each iteration is a launch
        parallel for i:               block i // 8, thread i % 8        axis y
            parallel for j:           block j // 32, thread j % 32      axis x
                for k: S              a thread's own loop

Loops directly inside one another that carry no dependence within a launch are the launch's grid (Verdoolaege et al., "Polyhedral
parallel code generation for CUDA", TACO 2013, sec. 4). Loops around them are the host's; what is inside runs in order in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from types import MappingProxyType

import islpy as isl

from polyml.errors import ConfigError, IllegalSchedule
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.schedule.gpu.host_marks import check_not_in_grid, is_host
from polyml.schedule.gpu.libraries.products import MatrixProduct
from polyml.schedule.gpu.loop_roles import GridAxis, RowTeam, SurroundingLoop, Team
from polyml.schedule.legality.check import reason
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Block, BlockPart, Leaf, Loop, Node
from polyml.values import cached_property

AXES = 3  # of a block
_NO_LOOP = "there is no loop"


@dataclass(frozen=True)
class ThreadStatement:
    """A statement that a thread runs.

    instances: { S[i] }, of all threads.
    inside: the thread's own loops around the statement, outermost first.
    """

    statement: str
    instances: isl.Set
    inside: tuple[SurroundingLoop, ...]


@dataclass(frozen=True)
class LaunchNest:
    """The loops and instances of one launch.

    host: loops of which each iteration is a launch, outermost first.
    grid: loops that carry no dependence within one launch, outermost first.
    body: what a thread runs.
    instances: { S[i] }.
    serial: why there is no grid; "" where there is one.
    """

    host: tuple[SurroundingLoop, ...]
    grid: tuple[SurroundingLoop, ...]
    body: Node
    instances: isl.UnionSet
    serial: str = ""

    @property
    def statements(self) -> tuple[str, ...]:
        return loop_tree.statements(self.body)

    def runs(self) -> tuple[ThreadStatement, ...]:
        """Returns the launch's statements in the order of the text, each with its instances and the thread's loops around it."""
        return tuple(_runs(self.body, self.instances, ()))

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Returns a value that is equal for nests that run the same instances in the same loops."""
        numbers: dict[int, int] = {}  # of the loops in a thread, which statements may share

        def inside(run: ThreadStatement) -> Iterator[tuple[int, str, str]]:
            for loop in run.inside:
                yield numbers.setdefault(id(loop.values), len(numbers)), loop.name, str(loop.values)

        around = ((loop.name, str(loop.values)) for loop in (*self.host, *self.grid))
        runs = ((run.statement, str(run.instances), *inside(run)) for run in self.runs())
        return len(self.host), self.serial, *around, *runs


@dataclass(frozen=True)
class BlockCopies:
    """Arrays of which the threads of a block copy parts to shared memory, for several iterations of a thread's loop at a time, or once.

    loop: the loop's name; "": they copy once, before the threads run their iterations, what these read.
    arrays: the names of the arrays.
    chunk: for how many iterations the block copies at a time; 0: as many as the code generator takes.
    """

    loop: str
    arrays: tuple[str, ...]
    chunk: int = 0


@dataclass(frozen=True)
class Mapped:
    """A launch whose loops are divided among the blocks and threads of a GPU.

    axes: the parallel loops, that of axis x first; those after the third one are divided among blocks alone.
    copies: the copies to shared memory that marks of the schedule tree ask for; None: those that save loads.
    team: another way to run the launch, in which threads share loops inside the parallel ones; None if there is none.
    rows: another way to run it together with some that follow it; None if there is none.
    smaller: the axes of a form of the launch with smaller blocks, which the host chooses where there are few; () if there is none.
    product: what a library may compute in place of a part of the launch; None: nothing.
    rest: what runs then in place of the other part of the launch; None: there is none.
    by_library: a line on that for people, without the launch's name: what a library may compute, or why it does not; "": there is no product.
    """

    nest: LaunchNest
    axes: tuple[GridAxis, ...]
    copies: tuple[BlockCopies, ...] | None = None
    team: Team | None = None
    rows: RowTeam | None = None
    smaller: tuple[GridAxis, ...] = ()
    product: MatrixProduct | None = None
    rest: Mapped | None = None
    by_library: str = ""

    @property
    def with_smaller_blocks(self) -> Mapped:
        """The launch in the form that has smaller blocks."""
        return replace(self, axes=self.smaller, smaller=(), product=None, rest=None)


def as_mapped(rows: RowTeam) -> Mapped:
    """Returns launches that a team runs together as one launch, with a row in each block."""
    nest = LaunchNest(rows.host, rows.grid, rows.body, rows.instances)
    return Mapped(nest, tuple(GridAxis(loop, 1) for loop in reversed(rows.grid)))


def every_nest(
    tree: Node, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> tuple[LaunchNest, ...]:
    """Returns the launches that run a tree, in order; each has parallel loops for threads, or else the reason why there are none, with two
    iterations that depend on each other.

    reductions: updates whose order is free; messages tell where only they keep a loop from threads.
    """
    return tuple(_with_serial_joined(_LaunchFinder(scop, dependences, reductions).nests(tree, (), scop.domain)))


def _with_serial_joined(nests: Iterable[LaunchNest]) -> Iterator[LaunchNest]:
    """Yields the launches in order, those of one thread that follow one another as one launch."""
    last: LaunchNest | None = None
    for nest in nests:
        if last is not None and last.serial and nest.serial and last.host == nest.host:
            parts = [BlockPart(each.instances, each.body) for each in (last, nest)]
            body, both = loop_tree.block(parts), last.instances.union(nest.instances)
            last = LaunchNest(nest.host, (), body, both, min(last.serial, nest.serial, key=lambda why: why == _NO_LOOP))
            continue
        if last is not None:
            yield last
        last = nest
    if last is not None:
        yield last


def mapped(
    nest: LaunchNest,
    order: Sequence[int],
    sizes: Sequence[int],
    items: Sequence[int] = (),
    adjacent: bool = False,
    rolled: bool = False,
) -> Mapped:
    """Returns the launch with its parallel loops divided among blocks and threads.

    order: positions in `nest.grid` of the loops for axes x, y, z and so on.
    sizes: threads of a block along each axis; along further axes a block has one iteration.
    items: iterations of a thread along each axis; 1 where none is given.
    adjacent: whether the iterations of a thread follow one another, in place of those of neighbouring threads.
    rolled: whether a thread runs its iterations in loops, in place of unrolled ones.
    """
    along = zip(order, zip_longest(sizes, items, fillvalue=1))
    axes = (GridAxis(nest.grid[k], size, count, adjacent and count > 1, rolled) for k, (size, count) in along)
    rest = (GridAxis(nest.grid[k], 1) for k in order[max(len(sizes), len(items)) :])
    return Mapped(nest, (*axes, *rest))


def with_block(found: Mapped, sizes: Sequence[int]) -> Mapped:
    """Returns the launch with blocks of so many threads along x, y and z, each of which has one iteration along each axis."""
    loops = [loop for axis in found.axes for loop in reversed(axis.loops)]
    padded = (*sizes, *[1] * len(loops))
    return Mapped(found.nest, tuple(GridAxis(loop, size) for loop, size in zip(loops, padded)))


def check_block(sizes: Sequence[int], most: int) -> None:
    """Raises ConfigError unless a block has one, two or three sizes, each of them at least 1, and no more than `most` threads.

    sizes: threads along each axis.
    most: threads of a block at most.
    """
    threads = 1
    for size in sizes:
        threads *= size
    if not 1 <= len(sizes) <= AXES or min(sizes) < 1:
        raise ConfigError(f"a block has one to {AXES} sizes of at least 1, not {', '.join(map(str, sizes)) or 'none'}")
    if threads > most:
        told = " x ".join(map(str, sizes))
        raise ConfigError(f"a block of {told} has {threads:,} threads", notes=[f"at most {most:,} are in one"])


@dataclass(frozen=True)
class _LaunchFinder:
    """The search for the launches of a tree."""

    scop: Scop
    dependences: Dependences
    reductions: Mapping[str, Reduction]

    def nests(self, node: Node, host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> Iterator[LaunchNest]:
        """Yields the launches of a subtree, in order.

        host: the loops around the subtree, of which each iteration launches again.
        instances: { S[i] }, those that run in the subtree.
        """
        if isinstance(node, Block):
            for part in node.parts:
                yield from self.nests(part.body, host, instances.intersect(part.instances))
            return
        own = those_of(instances, node)
        names = loop_tree.statements(node)
        inside = dependences_in_launch(self.dependences.among(names, names), host, own)
        chain = chain_of(node)
        if isinstance(node, Loop) and is_host(node):
            check_not_in_grid([node], "has the host's loops or a grid inside it")
            yield from self.nests(node.body, (*host, as_surrounding(node)), instances)
            return
        free = [loop for loop in chain if loop.directives.grid]
        if free:
            check_not_in_grid((loop for _, loop in loop_tree.loops(chain[-1].body)), "is inside what a thread runs")
        for loop in free:
            self._check_asked(loop, carried_by(inside, loop))
        free = free or [loop for loop in chain if carried_by(inside, loop).is_empty()]
        if free:
            yield LaunchNest(host, tuple(map(as_surrounding, free)), _without(node, free), own)
            return
        if isinstance(node, Loop):
            found = tuple(self.nests(node.body, (*host, as_surrounding(node)), instances))
            if not all(nest.serial for nest in found):
                yield from found
                return
        yield LaunchNest(host, (), node, own, self._serial(chain, host, own) if chain else _NO_LOOP)

    def _check_asked(self, loop: Loop, carried: isl.UnionMap) -> None:
        """Raises IllegalSchedule, with two instances, where a loop that a mark puts in the grid carries a dependence in one launch.

        carried: { S[i] -> T[j] }, the dependences that it carries.
        """
        if not carried.is_empty():
            source, sink, why = reason(carried, self.scop, self.dependences)
            raise IllegalSchedule(f"{sink} depends on {source}, so loop `{loop.name}` cannot go to a GPU's grid", notes=[why])

    def _serial(self, chain: Sequence[Loop], host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> str:
        """Returns the message that says why none of the loops `chain` goes to threads.

        It names two dependent instances in different iterations of the outermost of these loops.

        chain: the loops, directly inside one another.
        host: the loops around them.
        instances: { S[i] }, those inside the loops.
        """
        carried = carried_by(dependences_in_launch(self.dependences.validity, host, instances), chain[0])
        source, sink, why = reason(carried, self.scop, self.dependences)
        relaxed = dependences_in_launch(relaxed_validity(self.dependences, self.scop, self.reductions), host, instances)
        free = any(carried_by(relaxed, loop).is_empty() for loop in chain)
        sums = ", an update that may come in any order, which threads share only by partial results" if free else ""
        return f"loop `{chain[0].name}`: {sink} depends on {source} ({why}){sums}"


def those_of(instances: isl.UnionSet, node: Node) -> isl.UnionSet:
    """Returns those of the instances { S[i] } whose statements run in the subtree `node`."""
    names = set(loop_tree.statements(node))
    sets = instances.get_set_list()
    found = isl.UnionSet.empty(instances.get_space())
    for k in range(sets.n_set()):
        if sets.get_at(k).get_tuple_name() in names:
            found = found.union(isl.UnionSet.from_set(sets.get_at(k)))
    return found


def dependences_in_launch(validity: isl.UnionMap, host: Sequence[SurroundingLoop], instances: isl.UnionSet) -> isl.UnionMap:
    """Returns the dependences among the instances of one launch.

    host: the loops of which each iteration is a launch.
    instances: { S[i] }, of all launches.
    """
    found = validity.intersect_domain(instances).intersect_range(instances)
    for around in host:
        found = found.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(around.values))
    return found


def carried_by(inside: isl.UnionMap, loop: Loop) -> isl.UnionMap:
    """Returns the dependences whose source and sink are in different iterations of the loop.

    inside: { S[i] -> T[j] }, the dependences in question.
    """
    return inside.subtract(inside.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(loop.member)))


def parallel_loops(node: Node, host: Sequence[SurroundingLoop], instances: isl.UnionSet, dependences: Dependences) -> list[Loop]:
    """Returns which of the loops directly inside one another at the top of a tree carry no dependence within a launch, outermost first.

    host: the loops around the tree, of which each iteration is a launch.
    instances: { S[i] }, of all launches.
    """
    names = loop_tree.statements(node)
    inside = dependences_in_launch(dependences.among(names, names), host, those_of(instances, node))
    return [loop for loop in chain_of(node) if carried_by(inside, loop).is_empty()]


def chain_of(node: Node) -> list[Loop]:
    """Returns the loops directly inside one another at the top of a tree, outermost first."""
    return [node, *chain_of(node.body)] if isinstance(node, Loop) else []


def as_surrounding(loop: Loop) -> SurroundingLoop:
    return SurroundingLoop(loop.name, loop.member, loop.directives.grid, loop.directives.shared)


def _without(node: Node, free: Sequence[Loop]) -> Node:
    """Returns the tree without the loops `free`, which are among those directly inside one another at its top."""
    if not isinstance(node, Loop):
        return node
    body = _without(node.body, free)
    return body if any(node is loop for loop in free) else Loop(node.name, node.member, body, node.directives, node.cut)


def _runs(node: Node, instances: isl.UnionSet, inside: tuple[SurroundingLoop, ...]) -> Iterator[ThreadStatement]:
    if isinstance(node, Loop):
        yield from _runs(node.body, instances, (*inside, as_surrounding(node)))
    elif isinstance(node, Block):
        for part in node.parts:
            yield from _runs(part.body, instances.intersect(part.instances), inside)
    elif isinstance(node, Leaf):
        sets = those_of(instances, node).get_set_list()
        found = {sets.get_at(k).get_tuple_name(): sets.get_at(k) for k in range(sets.n_set())}
        yield from (ThreadStatement(name, found[name], inside) for name in node.statements if name in found)
