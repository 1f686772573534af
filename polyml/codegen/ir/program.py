"""The program: loops over instances of statements, in the order a schedule gives them.

node = Loop | Guard | Instance        what a schedule gives
     | Jam | Unroll                   what vectorisation adds: several iterations run together
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar, Union

from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Condition
from polyml.schedule.tree.directives import NO_DIRECTIVES, Directives


class CannotRunTogether(Exception):
    """Raised where a program has lanes that its statements do not allow; the same program without lanes is right."""


@dataclass(frozen=True)
class Instance:
    """An instance is one run of a statement.

    point: the values of its iterators in order, as expressions of the loops' variables.
    """

    statement: str
    point: tuple[Affine, ...]


@dataclass(frozen=True)
class Loop:
    """A loop runs its body for var = max(lower); var <= min(upper); var += step (step > 0).

    parallel: whether iterations may run on different threads.
    role: "tile" for a loop over tiles, "point" for any other.
    private: local arrays that one iteration uses at a time: each thread needs a copy, of the size of the array's window.
    last: the name that the body has for the last value of a thread's chunk, if the values lower ... upper are divided into equal
        chunks; else "". A chunk may begin at any of these values, its steps are counted from there, and the body's own loops end at
        `last`.
    name, directives: the loop's name in the schedule, and the directives that it has there.
    partial: arrays that iterations of a parallel loop update by reductions alone, while threads have no copies of them yet: such a
        loop runs on one thread.
    resumes: the variable of the loop just before, if this loop begins where that one ends, as `lower` says too; else "".
    apart: whether it is known that no iteration depends on another one; False: that was not looked for.
    """

    var: str
    lower: tuple[Affine, ...]
    upper: tuple[Affine, ...]
    step: int
    body: tuple[Node, ...]
    parallel: bool = False
    role: str = "point"
    private: tuple[str, ...] = ()
    last: str = ""
    name: str = ""
    directives: Directives = NO_DIRECTIVES
    partial: tuple[str, ...] = ()
    resumes: str = ""
    apart: bool = False


@dataclass(frozen=True)
class Guard:
    """A guard runs its body where its condition holds.

    rare: the body seldom runs, so its code is kept small.
    """

    condition: Condition
    body: tuple[Node, ...]
    rare: bool = False


@dataclass(frozen=True)
class Jam:
    """A jam is count * lanes iterations of an independent loop that run together: var = base ... base + count * lanes - 1.

    Every instance in the body runs for all of them before the next one does (unroll-and-jam); unless `in_order` says otherwise,
    their order among each other does not matter. Bounds of loops in the body do not depend on var.

    lanes: how many consecutive iterations share a vector register; 1: none do.
    limit: iterations above it do not happen (a masked remainder), but one always does; it may depend on the variables of jams
        around.
    scans: whether each iteration needs what the one before passes on as a scan; the result is then that of running the whole body
        for each iteration in order.
    in_order: whether iterations may depend on each other. An instance then runs for one vector after the other, and reads for all
        lanes of a vector before it writes for any. No other jam is around such a one.
    """

    var: str
    base: Affine
    count: int
    lanes: int
    limit: Affine | None
    body: tuple[Node, ...]
    scans: bool = False
    in_order: bool = False


@dataclass(frozen=True)
class Unroll:
    """An unrolled loop runs its whole body for each of var = base ... base + count - 1, in this order.

    word: what the code may make of all iterations at once, "" for nothing: the name of an instruction that adds up products of
        small numbers (`small_numbers.dot_instructions`), or COPY for the store of a word in place of its elements.
    """

    var: str
    base: Affine
    count: int
    body: tuple[Node, ...]
    word: str = ""


Node = Union[Loop, Guard, Instance, Jam, Unroll]
COPY = "copy"  # `Unroll.word` of a loop that copies the elements of words


class SameNodes:
    """A dictionary key for a sequence of nodes: keys are equal where the nodes are the same objects, which the key keeps alive."""

    __slots__ = ("_hash", "_nodes")

    def __init__(self, nodes: Iterable[Node]):
        self._nodes = tuple(nodes)
        self._hash = hash(tuple(map(id, self._nodes)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SameNodes) or len(self._nodes) != len(other._nodes):
            return False
        return all(a is b for a, b in zip(self._nodes, other._nodes))


@dataclass(frozen=True)
class Window:
    """A window is the part of a local array that has memory; it may move with the loops around.

    low: by dimension, the first index in it.
    lengths: by dimension, how many elements it has, None: all.
    folded: a dimension that is a circular buffer, in which an index has the memory of its remainder by the length; else None.
    word: how many consecutive indices of the last dimension but one lie side by side in memory, as one word, for each index of the
        last dimension. The window begins with a word, and both dimensions have whole words.
    """

    low: tuple[Affine, ...]
    lengths: tuple[int | None, ...]
    folded: int | None = None
    word: int = 1


@dataclass(frozen=True)
class Program:
    """A Program is the statements of a SCoP and the loops that run them.

    reductions: by statement, the updates whose order is free, so that lanes and threads may share them.
    scans: by statement, the updates that continue a prefix sum from the value of another element.
    windows: by local array that has memory for a part of it only, that part.
    shared: { local array -> the one whose memory it has too }, of arrays that are never in use at the same time.
    phases: { name -> array }: the names of integers, each of which is the number of elements from the start of a cache line to the
        array's first one.
    prefetches: by statement, { number of a read -> (iterator, distance) }: with the read goes a prefetch of the element that it
        would read with the iterator increased by the distance; that element need not exist.
    thread, threads: names of two integers, "" where there are none: the number of the thread that runs a parallel loop's iteration,
        and a bound that all these numbers are below.
    before: nodes that run first, to compute the elements that some of the checks at entry ask for.
    notes: sentences that say what passes decided and why.

    What a Program means does not depend on windows, shared memory, phases and prefetches.
    """

    scop: Scop
    body: tuple[Node, ...]
    reductions: dict[str, Reduction] = field(default_factory=dict)
    scans: dict[str, Reduction] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    prefetches: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    thread: str = ""
    threads: str = ""
    before: tuple[Node, ...] = ()
    notes: tuple[str, ...] = ()
    shared: dict[str, str] = field(default_factory=dict)


def instances(nodes: tuple[Node, ...]) -> Iterator[Instance]:
    """Yields every Instance among and below the nodes, in textual order."""
    return (node for node in every(nodes) if isinstance(node, Instance))


def every(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yields every node among and below the nodes, outer before inner."""
    for node in nodes:
        yield node
        if not isinstance(node, Instance):
            yield from every(node.body)


def loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    """Yields every Loop among and below the nodes, outer before inner."""
    return (node for node in every(nodes) if isinstance(node, Loop))


def with_paths(nodes: tuple[Node, ...], path: tuple[Node, ...] = ()) -> Iterator[tuple[Instance, tuple[Node, ...]]]:
    """Yields every Instance among and below the nodes, with the nodes around it, outermost first.

    path: nodes around the given ones, which go before those.
    """
    for node in nodes:
        if isinstance(node, Instance):
            yield node, path
        else:
            yield from with_paths(node.body, (*path, node))


Holder = TypeVar("Holder", bound=Union[Loop, Guard, Jam, Unroll])  # a node with a body


def with_body(node: Holder, body: tuple[Node, ...]) -> Holder:
    """Returns the node with another body in place of its own."""
    return replace(node, body=body)


def substitute(node: Node, values: Mapping[str, Affine]) -> Node:
    """Returns the node with loop variables replaced by the given expressions, in it and all nodes below."""
    if isinstance(node, Instance):
        return Instance(node.statement, tuple(e.substitute(values) for e in node.point))
    body = tuple(substitute(n, values) for n in node.body)
    if isinstance(node, Guard):
        return replace(node, condition=node.condition.substitute(values), body=body)
    if isinstance(node, Loop):
        lower = tuple(e.substitute(values) for e in node.lower)
        upper = tuple(e.substitute(values) for e in node.upper)
        return replace(node, lower=lower, upper=upper, body=body)
    if isinstance(node, Unroll):
        return replace(node, base=node.base.substitute(values), body=body)
    limit = None if node.limit is None else node.limit.substitute(values)
    return replace(node, base=node.base.substitute(values), limit=limit, body=body)
