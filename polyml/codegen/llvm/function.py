"""The code of one LLVM function: the nodes of a program in order, each loop around what stays in registers.

Values are computed where the loop runs that they depend on; elements that a loop updates in place stay in registers around it.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Protocol

from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Unroll, substitute
from polyml.codegen.llvm.addresses import Module
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.loops import counted_loop, loop_bounds
from polyml.codegen.llvm.loops.counted_loop import CountedLoop
from polyml.codegen.llvm.loops.partial_results import NOTHING, HandOver
from polyml.codegen.llvm.statements.instances import StatementEmitter

UNOPTIMIZED = "nounwind noinline optnone"
UNOPTIMIZED_EFFORT = 0.4  # of what such code takes to be made, in that of optimised code


class InstanceEmitter(Protocol):
    """What a function does with the instances of its program."""

    def instance(self, node: Instance) -> None: ...

    def enter(self, jam: Jam) -> None:
        """Called before the nodes in a jam."""


class Body(ElementAccess):
    """The code of one LLVM function: the kernel itself, or the iterations of a parallel loop."""

    def __init__(self, module: Module, name: str, signature: str):
        """signature: a format that puts the name in."""
        super().__init__(module, name, signature)
        self._emitter = StatementEmitter(self)
        self.statements: InstanceEmitter = self._emitter  # what makes no code of values puts another one in its place
        self.repeats = False  # whether instances run in loops of this function

    def finish(self) -> None:
        """The function is whole."""
        text = self.fn.text()
        effort = len(text) * (UNOPTIMIZED_EFFORT if self.fn.attributes == UNOPTIMIZED else 1.0)
        self.module.units.append(Unit(self.name, text, self.declared, effort))
        self.module.finished(self.module.units[-1])

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        """Emit the nodes one after the other."""
        handed = NOTHING
        for node, following in zip_longest(nodes, nodes[1:]):
            if isinstance(node, Instance):
                self.statements.instance(node)
                self.repeats |= any(isinstance(n, Loop) for n in self.path)
            elif isinstance(node, Loop):
                self.flush()
                if not (node.parallel and not node.partial and self.fork(node)):
                    then = following if isinstance(following, Loop) and not following.parallel else None
                    handed = self.loop(node, then, handed)
            elif isinstance(node, Guard):
                self.guard(node)
            elif isinstance(node, Jam):
                self._jam(node)
            else:
                self._unrolled(node)

    def _jam(self, node: Jam) -> None:
        around, self.jams = self.jams, self.jams.inside(node)
        self.statements.enter(node)
        self.nodes(node.body)
        self.jams = around

    def _unrolled(self, node: Unroll) -> None:
        for i in range(node.count):
            self.nodes(tuple(substitute(n, {node.var: node.base + i}) for n in node.body))

    def guard(self, node: Guard) -> None:
        """Emit the body behind a branch on the condition."""
        self.flush()
        test = self.condition(node.condition)
        then, after = self.fn.block("then"), self.fn.block("after")
        self.fn.branch(test, then, after)
        self.fn.current = then
        self.path.append(node)
        self.nodes(node.body)
        self.path.pop()
        self.flush()
        self.fn.jump(after)
        self.fn.current = after

    def loop(self, node: Loop, following: Loop | None = None, handed: HandOver = NOTHING) -> HandOver:
        """Emit a loop of this function. following: the loop that runs next, which may go on with this one's partial results, and
        begin where this one ends. handed: what the loop before leaves to this one.
        """
        lower, upper = loop_bounds.ends(self, node)
        if node.last:
            self.names[node.last] = (upper, loop_bounds.depth(self, node))
        left = self.counted(CountedLoop(node, handed.begin or lower, upper, following, handed))
        self.names.pop(node.last, None)
        return left

    def counted(self, loop: CountedLoop) -> HandOver:
        """Emit a loop from one integer to another. Returns what it leaves to the one behind it."""
        return counted_loop.emit(self, self._emitter, loop, lambda: self.nodes(loop.node.body))

    def fork(self, node: Loop) -> bool:
        """Run the iterations of a parallel loop on several threads: whether this function does so."""
        return False
