"""Programs and SCoPs run on terms (values as the operations that made them) at given sizes.

A run tells what each instance reads and writes, and which rules of its own the program breaks. Parallel loops and jams run in the
source's order, and are watched for conflicts between iterations: where there are none, every order gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType

from polyml.checks.symbolic.conflicts import Conflicts, Region
from polyml.checks.symbolic.effects import InstanceEvent, effects
from polyml.checks.symbolic.finding import Finding, Violation
from polyml.checks.symbolic.memory import Cell, Index, Instance, Memory, Place
from polyml.checks.symbolic.terms import Terms
from polyml.codegen.interpreter.order import Env, evaluate, integer_code, tuple_code
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Jam, Loop, Node, Program, Unroll
from polyml.codegen.ir.program import Instance as InstanceNode
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Condition

Execute = Callable[[list[Env]], None]
THREADS = 3  # that run the iterations of a parallel loop, a share each
PHASE = 5  # elements from the start of a cache line to where arrays of numbers begin


class TooManyInstances(Exception):
    """A TooManyInstances is raised where a run has more instances than its caller allows."""


@dataclass(frozen=True)
class Run:
    """A Run is what came of running a program on symbolic values.

    events: the instances that ran, in their order, up to the finding.
    visible: {memory location: content} of the elements that changed and that the caller sees afterwards, and of scalars.
    finding: what the program did that is wrong by itself, such as a conflict of iterations that run at the same time; None if
        nothing.
    """

    events: Sequence[InstanceEvent]
    visible: Mapping[Place, Cell]
    finding: Finding | None


class InOrder:
    """An InOrder is a SCoP compiled once, for all sizes, to run its instances one after the other on symbolic values."""

    def __init__(self, scop: Scop, terms: Terms, free: Mapping[str, Reduction]):
        """Compiles the statements of a SCoP.

        terms: the table that numbers the symbolic values; runs can be compared where they share one.
        free: {statement's name: its reduction}, for the statements whose updates of an element may come in any order.
        """
        self._scop, self._terms, self._table = scop, terms, AccessTable(scop.context)
        self._effects = effects(scop, self._table, terms, free)

    def run(self, order: Sequence[Instance], sizes: Mapping[str, int]) -> Run:
        """Runs instances in the given order and returns what came of it. sizes: the values of the parameters."""
        memory = Memory(self._scop, dict(sizes), self._table, self._terms)
        nobody, events = Conflicts(), list[InstanceEvent]()
        try:
            for name, point in order:
                events.append(self._effects[name].run(point, {}, dict(sizes), memory, nobody))
        except Violation as violation:
            return Run(events, memory.visible(), violation.finding)
        return Run(events, memory.visible(), None)


class Executable:
    """An Executable is a program compiled once, for all sizes, to run on symbolic values.

    Each node becomes a function of a list of environments {variable: value}, one for each of the iterations of jams (loops whose
    iterations run together) around the node.
    """

    def __init__(self, program: Program, terms: Terms, free: Mapping[str, Reduction] | None = None):
        """Compiles the statements and the loops of a program.

        terms: the table that numbers the symbolic values; runs can be compared where they share one.
        free: {statement's name: its reduction}, for the statements whose updates of an element may come in any order; None for the
            `reductions` of the program.
        """
        self._program, self._terms, self._table = program, terms, AccessTable(program.scop.context)
        free = program.reductions if free is None else free
        self._effects = effects(program.scop, self._table, terms, free, program.reductions)
        self._owned = rows_of_threads(program)
        self._most, self._memory = 0, self._memory_at({})
        self._conflicts, self._events = Conflicts(), list[InstanceEvent]()
        self._parts = [self._block(nodes, None) for nodes in (program.before, program.body)]

    def run(self, sizes: Mapping[str, int], most: int) -> Run:
        """Runs the program at given sizes and returns what came of it. Raises TooManyInstances where it has more than `most`
        instances.
        """
        program = self._program
        team = {program.threads: THREADS, program.thread: 0} if program.threads else {}
        known = {**sizes, **dict.fromkeys(program.phases, PHASE), **team}
        self._most, self._memory = most, self._memory_at(known)
        self._conflicts, self._events = Conflicts(), list[InstanceEvent]()
        try:
            for part in self._parts:
                part([dict(known)])
        except Violation as violation:
            return Run(self._events, self._memory.visible(), violation.finding)
        return Run(self._events, self._memory.visible(), None)

    def _memory_at(self, sizes: Env) -> Memory:
        return Memory(self._program, sizes, self._table, self._terms)

    def _block(self, nodes: tuple[Node, ...], lanes: Jam | None) -> Execute:
        parts = [self._node(node, lanes) for node in nodes]

        def execute(envs: list[Env]) -> None:
            for part in parts:
                part(envs)

        return execute

    def _node(self, node: Node, lanes: Jam | None) -> Execute:
        """Returns a function that runs a node of the program.

        lanes: the innermost jam around it, a loop whose iterations run together and must not conflict; None where there is none.
        """
        if isinstance(node, InstanceNode):
            return self._instance(node, lanes)
        if isinstance(node, Loop):
            return self._loop(node, lanes)
        if isinstance(node, Guard):
            return self._guard(node, lanes)
        return self._jam(node) if isinstance(node, Jam) else self._unroll(node, lanes)

    def _instance(self, node: InstanceNode, lanes: Jam | None) -> Execute:
        point, effect = tuple_code(node.point), self._effects[node.statement]

        def one(env: Env) -> None:
            if len(self._events) >= self._most:
                raise TooManyInstances
            self._events.append(effect.run(evaluate(point, env), env, env, self._memory, self._conflicts))

        def together(envs: list[Env]) -> None:
            in_order = lanes is not None and lanes.in_order
            size = lanes.lanes if lanes is not None and in_order else len(envs)
            for first in range(0, len(envs), size):
                with self._conflicts.inside(Region("a loop that run together", partial=None, in_order=in_order)) as region:
                    for region.iteration, env in enumerate(envs[first : first + size]):
                        one(env)

        def in_turn(envs: list[Env]) -> None:
            for env in envs:
                one(env)

        return in_turn if lanes is None else together

    def _loop(self, node: Loop, lanes: Jam | None) -> Execute:
        lower, upper, body = tuple_code(node.lower), tuple_code(node.upper), self._block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            first = _common(node, (max(evaluate(lower, env)) for env in envs))
            last = _common(node, (min(evaluate(upper, env)) for env in envs))
            if not node.parallel:
                for value in range(first, last + 1, node.step):
                    body([{**env, node.var: value} for env in envs])
                return
            region = Region(f"parallel loop {node.var}", frozenset(node.private), frozenset(node.partial), self._owned)
            with self._conflicts.inside(region):
                for region.thread, value, end in _shares(node, first, last):
                    self._memory.forget(node.private)
                    here = {node.var: value} | ({node.last: end} if node.last else {})
                    here |= {self._program.thread: region.thread} if self._program.thread else {}
                    body([{**env, **here} for env in envs])
                    region.iteration += 1
            self._memory.forget(node.private)

        return execute

    def _guard(self, node: Guard, lanes: Jam | None) -> Execute:
        condition, body = _condition_code(node.condition), self._block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            inside = [env for env in envs if evaluate(condition, env)]
            if inside:
                body(inside)

        return execute

    def _jam(self, node: Jam) -> Execute:
        base, body = integer_code(node.base), self._block(node.body, None if node.scans else node)
        limit = None if node.limit is None else integer_code(node.limit)

        def execute(envs: list[Env]) -> None:
            inner = []
            if node.in_order and len(envs) != 1:
                raise Violation(
                    Finding(f"the iterations of {node.var} that keep their order run inside of others that run together")
                )
            for env in envs:
                first = evaluate(base, env)
                last = first + node.count * node.lanes - 1
                last = last if limit is None else min(last, evaluate(limit, env))
                inner += [{**env, node.var: value} for value in range(first, last + 1)]
            if node.scans:
                for env in inner:
                    body([env])
            elif inner:
                body(inner)

        return execute

    def _unroll(self, node: Unroll, lanes: Jam | None) -> Execute:
        base, body = integer_code(node.base), self._block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            first = _common(node, (evaluate(base, env) for env in envs))
            for number in range(node.count):
                self._memory.in_word = number if node.word else None
                body([{**env, node.var: first + number} for env in envs])
            self._memory.in_word = None

        return execute


def rows_of_threads(program: Program) -> frozenset[str]:
    """Returns the names of the arrays that have a row for each thread: those that are written by statements with the thread's
    number as an iterator.
    """
    statements = program.scop.statements.values() if program.thread else ()
    return frozenset(s.write.array for s in statements if program.thread in s.iterators)


def _shares(node: Loop, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yields (thread, iterator, end) for each iteration of a parallel loop from `first` to `last`, as it is divided among the
    threads; `end` is the last iterator of the thread's chunk.

    A loop whose body uses `end` must be right wherever it is divided, so its chunks get different lengths, which are no multiples
    of its step. In other loops `end` is not used and is always `last`.
    """
    if not node.last:
        values = range(first, last + 1, node.step)
        for number, value in enumerate(values):
            yield number * THREADS // len(values), value, last
        return
    length = last - first + 1
    if length <= 0:
        return
    cuts = sorted({first, first + (length + 2) // THREADS, first + max(0, 2 * length // THREADS - 1), last + 1})
    for thread, (begin, end) in enumerate(pairwise(cuts)):
        for value in range(begin, end, node.step):
            yield thread, value, end - 1


def _common(node: Loop | Unroll, values: Iterator[int]) -> int:
    """Returns the only value that a loop's bound has in all iterations that run together. Raises Violation where they differ."""
    distinct = set(values)
    if len(distinct) != 1:
        raise Violation(Finding(f"the bounds of loop {node.var} differ between iterations that run together: {sorted(distinct)}"))
    return distinct.pop()


def _condition_code(condition: Condition) -> CodeType:
    return compile(str(condition), "<condition>", "eval")


__all__ = ["Executable", "InOrder", "Index", "Run", "TooManyInstances", "rows_of_threads"]
