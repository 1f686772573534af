"""Loops that go to the blocks and threads of a GPU, by exact dependences.

    for t:                            host: each iteration is a launch
        parallel for i:               block i // 8, thread i % 8        axis y
            parallel for j:           block j // 32, thread j % 32      axis x
                for k: S              a thread's own loop

Loops right inside one another of which no dependence within a launch leads from one iteration to another are a launch's grid
(Verdoolaege et al., "Polyhedral parallel code generation for CUDA", TACO 2013, sec. 4). A loop around them is the host's; what is
inside runs in order in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType

import islpy as isl

from polyml.errors import ConfigError, IllegalSchedule
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.schedule.legality.check import reason
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Block, Leaf, Loop, Node

AXES = 3  # of a block


@dataclass(frozen=True)
class Around:
    """A loop. values: { S[i] -> [(e)] }."""

    name: str
    values: isl.UnionPwAff


@dataclass(frozen=True)
class Run:
    """A statement where it runs. instances: { S[i] }; inside: the loops around it in a thread, outermost first."""

    statement: str
    instances: isl.Set
    inside: tuple[Around, ...]


@dataclass(frozen=True)
class Nest:
    """What a launch runs. host: loops of which each iteration is a launch; grid: loops without dependences between iterations
    of one launch; both outermost first. body: what a thread runs. serial: why there is no grid, "" where there is one.
    """

    host: tuple[Around, ...]
    grid: tuple[Around, ...]
    body: Node
    instances: isl.UnionSet
    serial: str = ""

    @property
    def statements(self) -> tuple[str, ...]:
        return loop_tree.statements(self.body)

    def runs(self) -> tuple[Run, ...]:
        """Statement by statement, in the order of the text."""
        return tuple(_runs(self.body, self.instances, ()))

    @cached_property
    def key(self) -> tuple:
        """Equal for nests that run the same instances in the same loops."""
        numbers: dict[int, int] = {}  # of the loops in a thread, which statements may share

        def inside(run: Run) -> Iterator[tuple]:
            for loop in run.inside:
                yield numbers.setdefault(id(loop.values), len(numbers)), loop.name, str(loop.values)

        around = ((loop.name, str(loop.values)) for loop in (*self.host, *self.grid))
        runs = ((run.statement, str(run.instances), *inside(run)) for run in self.runs())
        return len(self.host), self.serial, *around, *runs


@dataclass(frozen=True)
class Axis:
    """Iteration v of the loop is thread v % size of block v // (size * items): warps begin at multiples, whatever the first
    iteration is. items: iterations of a thread, `size` apart, which run together (register tile; Volkov and Demmel, SC 2008).
    """

    loop: Around
    size: int
    items: int = 1

    @property
    def extent(self) -> int:
        """Iterations of a block."""
        return self.size * self.items


@dataclass(frozen=True)
class Mapped:
    """A nest on blocks of threads. axes: x first, those behind the third one of blocks alone."""

    nest: Nest
    axes: tuple[Axis, ...]


def nests(
    tree: Node, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({})
) -> tuple[Nest, ...]:
    """The launches of a tree, in order. reductions: updates whose order is free, which are told where they alone stand in the
    way. Raises IllegalSchedule, with two iterations, where there is no loop for threads.
    """
    found = tuple(_Reader(scop, dependences, reductions).nests(tree, (), scop.domain))
    if all(nest.serial for nest in found):
        notes = [nest.serial for nest in found] + ["a GPU runs loops whose iterations do not depend on each other"]
        raise IllegalSchedule(f"no loop of {scop.name} may go to the threads of a GPU", notes=notes)
    return found


def mapped(nest: Nest, order: Sequence[int], sizes: Sequence[int], items: Sequence[int] = ()) -> Mapped:
    """order: of the grid's loops, x first. sizes: of a block along these; loops behind the sizes have one iteration per block.
    items: of a thread along these, else 1.
    """
    axes = (Axis(nest.grid[k], *pair) for k, pair in zip(order, zip_longest(sizes, items, fillvalue=1)))
    rest = (Axis(nest.grid[k], 1) for k in order[max(len(sizes), len(items)) :])
    return Mapped(nest, (*axes, *rest))


def check_block(sizes: Sequence[int], most: int) -> None:
    """Raise ConfigError for sizes that no block has. most: threads of one."""
    threads = 1
    for size in sizes:
        threads *= size
    if not 1 <= len(sizes) <= AXES or min(sizes) < 1:
        raise ConfigError(f"a block has one to {AXES} sizes of at least 1, not {', '.join(map(str, sizes)) or 'none'}")
    if threads > most:
        told = " x ".join(map(str, sizes))
        raise ConfigError(f"a block of {told} has {threads:,} threads", notes=[f"at most {most:,} are in one"])


@dataclass(frozen=True)
class _Reader:
    scop: Scop
    dependences: Dependences
    reductions: Mapping[str, Reduction]

    def nests(self, node: Node, host: tuple[Around, ...], instances: isl.UnionSet) -> Iterator[Nest]:
        if isinstance(node, Block):
            for part in node.parts:
                yield from self.nests(part.body, host, instances.intersect(part.instances))
            return
        own = _of(instances, node)
        inside = _within(self.dependences.validity, host, own)
        chain = _chain(node)
        free = [loop for loop in chain if _carried(inside, loop).is_empty()]
        if free:
            yield Nest(host, tuple(map(_around, free)), _without(node, free), own)
            return
        if isinstance(node, Loop):
            found = tuple(self.nests(node.body, (*host, _around(node)), instances))
            if not all(nest.serial for nest in found):
                yield from found
                return
        yield Nest(host, (), node, own, self._serial(chain, host, own) if chain else "there is no loop")

    def _serial(self, chain: Sequence[Loop], host: tuple[Around, ...], instances: isl.UnionSet) -> str:
        """Why no loop of a chain goes to threads, with two iterations of the outermost one."""
        carried = _carried(_within(self.dependences.validity, host, instances), chain[0])
        source, sink, why = reason(carried, self.scop, self.dependences)
        relaxed = _within(relaxed_validity(self.dependences, self.scop, self.reductions), host, instances)
        free = any(_carried(relaxed, loop).is_empty() for loop in chain)
        sums = ", an update that may come in any order, but threads have no partial results here" if free else ""
        return f"loop `{chain[0].name}`: {sink} depends on {source} ({why}){sums}"


def _of(instances: isl.UnionSet, node: Node) -> isl.UnionSet:
    """Those of the statements that run in there."""
    names = set(loop_tree.statements(node))
    sets = instances.get_set_list()
    found = isl.UnionSet.empty(instances.get_space())
    for k in range(sets.n_set()):
        if sets.get_at(k).get_tuple_name() in names:
            found = found.union(isl.UnionSet.from_set(sets.get_at(k)))
    return found


def _within(validity: isl.UnionMap, host: Sequence[Around], instances: isl.UnionSet) -> isl.UnionMap:
    """The dependences within a launch."""
    found = validity.intersect_domain(instances).intersect_range(instances)
    for around in host:
        found = found.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(around.values))
    return found


def _carried(inside: isl.UnionMap, loop: Loop) -> isl.UnionMap:
    """Those between two iterations of a loop, whatever the other loops are at."""
    return inside.subtract(inside.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(loop.member)))


def _chain(node: Node) -> list[Loop]:
    """Loops right inside one another, from the top on."""
    return [node, *_chain(node.body)] if isinstance(node, Loop) else []


def _around(loop: Loop) -> Around:
    return Around(loop.name, loop.member)


def _without(node: Node, free: Sequence[Loop]) -> Node:
    """The tree without some of the loops right inside one another at its top."""
    if not isinstance(node, Loop):
        return node
    body = _without(node.body, free)
    return body if any(node is loop for loop in free) else Loop(node.name, node.member, body, node.directives, node.cut)


def _runs(node: Node, instances: isl.UnionSet, inside: tuple[Around, ...]) -> Iterator[Run]:
    if isinstance(node, Loop):
        yield from _runs(node.body, instances, (*inside, _around(node)))
    elif isinstance(node, Block):
        for part in node.parts:
            yield from _runs(part.body, instances.intersect(part.instances), inside)
    elif isinstance(node, Leaf):
        sets = _of(instances, node).get_set_list()
        found = {sets.get_at(k).get_tuple_name(): sets.get_at(k) for k in range(sets.n_set())}
        yield from (Run(name, found[name], inside) for name in node.statements if name in found)
