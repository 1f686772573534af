"""How often each loop of a program starts and iterates, and how often each condition holds, found by running empty loops."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyml.caches.simulator.state_layout import counter
from polyml.codegen.ir.array_layout import Placed
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll, substitute
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.constant_sizes import CallConstants, ConstantBody
from polyml.codegen.llvm.loops.loop_bounds import bounds
from polyml.codegen.llvm.loops.partial_results import NOTHING, HandOver
from polyml.machines import cpu
from polyml.runtime.loading.assemble import assemble_together
from polyml.runtime.loading.load import load

ENTRY = "polyml_executions"


@dataclass(frozen=True)
class Site:
    """A Site is straight code: the instances of a loop, a condition or the program that are in no other loop or condition in it.

    node: that loop or condition; None for the program.
    instances: each with all jams (iterations that run together) and unrolled loops around it, the outermost first, those around
        the node included.
    is_shared: whether a loop around it, or the node itself, is parallel.
    starts: how often the node is reached, on one thread.
    iterations: how often the code runs, on one thread.
    """

    node: Loop | Guard | None
    instances: tuple[tuple[Instance, tuple[Jam | Unroll, ...]], ...]
    is_shared: bool
    starts: int
    iterations: int


def executions(program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed]) -> tuple[Site, ...]:
    """Returns the stretches of straight code of a program, with how often each runs on one thread.

    It compiles the program's loops without statements and runs them.

    places: the addresses of the program's arrays.
    """
    sites, nodes = [], [*_holders(program.body)]
    counts = _counted(program, [node for node, _ in nodes], sizes, places)
    held = [(None, (), program.body, (1, 1)), *((node, path, node.body, row) for (node, path), row in zip(nodes, counts))]
    for node, path, body, row in held:
        around = tuple(other for other in path if isinstance(other, (Jam, Unroll)))
        is_shared = any(isinstance(other, Loop) and other.parallel and not other.partial for other in (*path, node))
        sites.append(Site(node, tuple(_straight(body, around)), is_shared, *map(int, row)))
    return tuple(site for site in sites if site.instances)


def _holders(nodes: tuple[Node, ...], path: tuple[Node, ...] = ()) -> Iterator[tuple[Loop | Guard, tuple[Node, ...]]]:
    """Yields each loop and condition among nodes and in them, with all nodes around it, outer before inner."""
    for node in nodes:
        if isinstance(node, (Loop, Guard)):
            yield node, path
        if not isinstance(node, Instance):
            yield from _holders(node.body, (*path, node))


def _straight(nodes: tuple[Node, ...], around: tuple[Jam | Unroll, ...]) -> Iterator[tuple[Instance, tuple[Jam | Unroll, ...]]]:
    """Yields the instances that the nodes hold outside all loops and conditions, each with the jams and unrolled loops around it.

    Jams (iterations that run together) and unrolled loops are looked into, since their code neither branches nor repeats.

    around: the jams and unrolled loops that are around all the nodes, the outermost first.
    """
    for node in nodes:
        if isinstance(node, Instance):
            yield node, around
        elif isinstance(node, (Jam, Unroll)):
            yield from _straight(node.body, (*around, node))


def _counted(program: Program, nodes: Sequence[Loop | Guard], sizes: Mapping[str, int], places: Mapping[str, Placed]) -> np.ndarray:
    """Returns an array (n, 2): for each given loop or condition, how often it is reached and how often its body runs."""
    counts = np.zeros((len(nodes), 2), np.int64)
    body = _Counting(program, sizes, places, {id(node): number for number, node in enumerate(nodes)})
    text = builder.text(body.define(program.body))
    host = cpu.host()
    code = load(assemble_together([text], cpu=host.cpu_name, features=host.features), ENTRY)
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address(ENTRY))(counts.ctypes.data)
    return counts


class _Counting(ConstantBody):
    """A _Counting emits code that runs a program's loops and conditions without their statements, to count how often each one runs.

    numbers: by `id` of a loop or condition, its number among the counters.
    """

    def __init__(self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], numbers: Mapping[int, int]):
        super().__init__(program, CallConstants(sizes, places), ENTRY, "i64 @{}(ptr %counters)")
        self._numbers = dict(numbers)
        self._copies: list[tuple[Node, ...]] = []
        self.statements = _Nothing()

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        """Emits nodes of the program. All copies of an unrolled loop's body are counted as the one body."""
        for node in nodes:
            if not isinstance(node, Unroll):
                super().nodes((node,))
                continue
            for place in range(node.count):
                copy = tuple(substitute(inside, {node.var: node.base + place}) for inside in node.body)
                self._copies.append(copy)  # which keeps its identity
                pairs = zip(_holders(node.body), _holders(copy))
                self._numbers |= {id(made): self._numbers[id(origin)] for (origin, _), (made, _) in pairs}
                self.nodes(copy)

    def loop(self, node: Loop, following: Loop | None = None, handed: HandOver = NOTHING) -> HandOver:
        """Emits a loop that counts its starts and iterations. Where no loop or condition is inside it, the iterations are computed,
        not run.

        following, handed: of the overridden method; not used. The result says that nothing is handed to the next loop.
        """
        number = self._numbers[id(node)]
        counter(self.fn, "%counters", 2 * number)
        if any(True for _ in _holders(node.body)):
            super().loop(node)
        else:
            counter(self.fn, "%counters", 2 * number + 1, self.iterations(node, *bounds(self, node)))
        return NOTHING

    def guard(self, node: Guard) -> None:
        """Emits a condition that counts how often it is reached and how often it holds.

        In a jam (iterations that run together) the condition of the first iteration decides for all.
        """
        number, condition = self._numbers[id(node)], node.condition
        for jam in reversed(self.jams.jams):
            condition = condition.substitute({jam.var: jam.base})
        counter(self.fn, "%counters", 2 * number)
        holds = self.fn.emit(f"zext i1 {self.condition(condition)} to i64")
        counter(self.fn, "%counters", 2 * number + 1, holds)
        if any(True for _ in _holders(node.body)):
            super().guard(replace(node, condition=condition))


class _Nothing:
    """A _Nothing has the methods by which code of statement instances is emitted, but they do nothing: no statement is to run."""

    def instance(self, node: Instance) -> None:
        """Does nothing in place of emitting the code of an instance."""

    def enter(self, jam: Jam) -> None:
        """Does nothing in place of preparing for a jam (iterations that run together)."""
