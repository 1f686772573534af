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
    """A program asks for lanes that its statements do not allow; the same program without them is right."""


@dataclass(frozen=True)
class Instance:
    """One instance of a statement: its iterators in order, as expressions of the loop variables."""

    statement: str
    point: tuple[Affine, ...]


@dataclass(frozen=True)
class Loop:
    """for var = max(lower); var <= min(upper); var += step (step > 0).

    parallel: iterations may run on different threads.
    role: "tile" for a loop over tiles, "point" for any other.
    private: local arrays that one iteration at a time uses: each thread needs one of its own, of their window's size.
    last: a name for where a thread's share of the iterations ends, "" where shares are not even: with it, a share may
    begin anywhere in lower ... upper, steps go on from there, and the body keeps below `last` itself.
    name, asked: what the schedule calls the loop and asks of it.
    partial: arrays that iterations of a parallel loop update by reductions alone, and that are one for all threads still:
    such a loop runs on one thread.
    resumes: the variable of the loop just before, where this one begins where that one ends, as `lower` says too; else "".
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


@dataclass(frozen=True)
class Guard:
    """rare: the body seldom runs, so its code is kept small."""

    condition: Condition
    body: tuple[Node, ...]
    rare: bool = False


@dataclass(frozen=True)
class Jam:
    """count * lanes iterations of an independent loop, run together: var = base ... base + count * lanes - 1.

    Every instance in the body runs for all of them before the next one does (unroll-and-jam); their order among each
    other does not matter. lanes > 1: consecutive iterations share a vector register. limit: iterations above it do not
    happen (a masked remainder), which may depend on the variables of jams around; one always does. Bounds of loops in the
    body do not depend on var. scans: each iteration needs what the one before passes on as a scan: it is as if the whole body
    ran for each in their order.
    """

    var: str
    base: Affine
    count: int
    lanes: int
    limit: Affine | None
    body: tuple[Node, ...]
    scans: bool = False


@dataclass(frozen=True)
class Unroll:
    """count iterations of a loop in their order, the whole body for each: var = base ... base + count - 1."""

    var: str
    base: Affine
    count: int
    body: tuple[Node, ...]


Node = Union[Loop, Guard, Instance, Jam, Unroll]


class SameNodes:
    """Nodes as a key of what is known of them: keys are equal where the nodes are the same objects, which the key keeps alive."""

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
    """The part of a local array that has memory, wherever the array is used: per dimension from which index on, and how
    many elements; None: all of them. ring: a dimension in which each index has the place of its remainder by that number.
    """

    low: tuple[Affine, ...]
    lengths: tuple[int | None, ...]
    ring: int | None = None


@dataclass(frozen=True)
class Program:
    """reductions: by statement, the updates whose order is free, so that lanes and threads may share them. scans: by statement,
    those of what another element holds.

    windows: of the local arrays that need memory for a part only. phases: names of integers, each with its array: how many
    elements behind the start of a cache line the array's memory begins. What the program means does not depend on either.
    ahead: of statements, the reads that also fetch to the cache the element that they read when an iterator is so much greater,
    which need not exist. thread, threads: names of two integers, "" where there are none: the number of the thread that runs a
    parallel loop's iteration, and a number that all of these are below.
    before: what runs before the checks at entry are done, for those that ask for elements. notes: what was decided and why.
    """

    scop: Scop
    body: tuple[Node, ...]
    reductions: dict[str, Reduction] = field(default_factory=dict)
    scans: dict[str, Reduction] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    thread: str = ""
    threads: str = ""
    before: tuple[Node, ...] = ()
    notes: tuple[str, ...] = ()


def instances(nodes: tuple[Node, ...]) -> Iterator[Instance]:
    """Every Instance below, in textual order."""
    return (node for node in every(nodes) if isinstance(node, Instance))


def every(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node below, outer before inner."""
    for node in nodes:
        yield node
        if not isinstance(node, Instance):
            yield from every(node.body)


def loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    """Every Loop below, outer before inner."""
    return (node for node in every(nodes) if isinstance(node, Loop))


def with_paths(nodes: tuple[Node, ...], path: tuple[Node, ...] = ()) -> Iterator[tuple[Instance, tuple[Node, ...]]]:
    """Every Instance below with the nodes around it, outermost first, behind those of `path`."""
    for node in nodes:
        if isinstance(node, Instance):
            yield node, path
        else:
            yield from with_paths(node.body, (*path, node))


Holder = TypeVar("Holder", bound=Union[Loop, Guard, Jam, Unroll])  # a node with a body


def with_body(node: Holder, body: tuple[Node, ...]) -> Holder:
    """The node around another body."""
    return replace(node, body=body)


def substitute(node: Node, values: Mapping[str, Affine]) -> Node:
    """The node with loop variables replaced in every expression."""
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
