"""The code of one LLVM function: a program's nodes in order."""

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
UNOPTIMIZED_EFFORT = 0.4  # the effort of unoptimised code, relative to optimised code


class InstanceEmitter(Protocol):
    """An InstanceEmitter says what a function does with the instances of its program. Most functions compute them; simulators
    count them or their accesses.
    """

    def instance(self, node: Instance) -> None:
        """Emits an instance, for all iterations that the jams around it run together (unroll-and-jam)."""

    def enter(self, jam: Jam) -> None:
        """Emits what has to come before the nodes in a Jam, whose iterations run together; it is called right before they are
        emitted.
        """


class Body(ElementAccess):
    """A Body emits the nodes of one LLVM function: of the kernel itself, or of the iterations of a parallel loop.

    statements: what emits the instances.
    repeats: whether an instance runs in a loop of this function, so that optimising it pays.
    """

    def __init__(self, module: Module, name: str, signature: str):
        """Starts the function of this name. signature: its LLVM signature, with {} for the name."""
        super().__init__(module, name, signature)
        self._emitter = StatementEmitter(self)
        self.statements: InstanceEmitter = self._emitter  # simulators, which compute no values, replace it
        self.repeats = False

    def finish(self) -> None:
        """Adds the function, whose text is now complete, to the module's functions, and calls `Module.finished` with it."""
        text = self.fn.text()
        effort = len(text) * (UNOPTIMIZED_EFFORT if self.fn.attributes == UNOPTIMIZED else 1.0)
        runs = {block.label: frozenset(block.runs) for block in self.fn.blocks if block.runs}
        self.module.units.append(Unit(self.name, text, self.declared, effort, runs, self.rough))
        self.module.finished(self.module.units[-1])

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        """Emits the nodes one after the other. A loop may hand its partial results of reductions in registers over to a loop right
        after it.
        """
        handed = NOTHING
        for node, following in zip_longest(nodes, nodes[1:]):
            if isinstance(node, Instance):
                self.fn.current.runs.add((node.statement, tuple(n.name for n in self.path if isinstance(n, Loop))))
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
        """Emits the body of a Jam node, in which each instance stands for all iterations that the node runs together."""
        around, self.jams = self.jams, self.jams.inside(node)
        self.statements.enter(node)
        self.nodes(node.body)
        self.jams = around

    def _unrolled(self, node: Unroll) -> None:
        """Emits the body of an unrolled loop once for each iteration, or words of them at once."""
        if node.word and self.statements is self._emitter and self._emitter.words(node):
            return
        for i in range(node.count):
            self.nodes(tuple(substitute(n, {node.var: node.base + i}) for n in node.body))

    def guard(self, node: Guard) -> None:
        """Emits a guard: its body behind a branch on its condition."""
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
        """Emits a loop within this function, and returns what it hands over to the loop that runs next.

        following: the loop that runs next, or None. It may go on with this loop's partial results, and may begin with the iteration
            after this loop's last one (`Loop.resumes`).
        handed: what the loop before hands over to this one.
        """
        lower, upper = loop_bounds.ends(self, node)
        if node.last:
            self.names[node.last] = (upper, loop_bounds.depth(self, node))
        left = self.counted(CountedLoop(node, handed.begin or lower, upper, following, handed))
        self.names.pop(node.last, None)
        return left

    def counted(self, loop: CountedLoop) -> HandOver:
        """Emits a loop whose first and last iteration are given as SSA names. Returns what it hands over to the loop that runs
        next.
        """
        return counted_loop.emit(self, self._emitter, loop, lambda: self.nodes(loop.node.body))

    def fork(self, node: Loop) -> bool:
        """Emits a parallel loop so that it runs on several threads, and returns whether it did; here it returns False, and the
        loop is then emitted as any other.
        """
        return False
