"""A program run on terms at given sizes: what each instance reads and writes, and what of it breaks the program's own rules.

Parallel loops and jams run in the source's order, and are watched for accesses of different iterations that meet: where none do,
every order gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType

from polyml.checks.conflicts import Conflicts, Region
from polyml.checks.effects import Event, effects
from polyml.checks.finding import Finding, Violation
from polyml.checks.memory import Cell, Index, Instance, Memory, Place
from polyml.checks.terms import Terms
from polyml.codegen.interpreter.order import Env, evaluate, integer_code, tuple_code
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Condition
from polyml.codegen.ir.program import Guard, Jam, Loop, Node, Program, Unroll
from polyml.codegen.ir.program import Instance as InstanceNode
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop

Execute = Callable[[list[Env]], None]
THREADS = 3  # that run the iterations of a parallel loop, a share each
PHASE = 5  # elements from the start of a cache line to where arrays of numbers begin


class TooManyInstances(Exception):
    """A run is longer than it may be."""


@dataclass(frozen=True)
class Run:
    """What came of a run.

    events: the instances in the order they ran, up to the finding.
    visible: what the caller sees afterwards, and numbers.
    finding: what broke a rule of the program's own; None: nothing.
    """

    events: Sequence[Event]
    visible: Mapping[Place, Cell]
    finding: Finding | None


def run_in_order(
    scop: Scop, order: Sequence[Instance], sizes: Mapping[str, int], terms: Terms, reductions: Mapping[str, Reduction]
) -> Run:
    """Returns what comes of instances that run one after the other."""
    table = AccessTable(scop.context)
    memory = Memory(scop, {}, dict(sizes), table, terms)
    made, nobody, events = effects(scop, table, terms, reductions), Conflicts(), []
    try:
        for name, point in order:
            events.append(made[name].run(point, {}, dict(sizes), memory, nobody))
    except Violation as violation:
        return Run(events, memory.visible(), violation.finding)
    return Run(events, memory.visible(), None)


def run_program(
    program: Program, sizes: Mapping[str, int], terms: Terms, most: int, free: Mapping[str, Reduction] | None = None
) -> Run:
    """Returns what comes of a program. Raises TooManyInstances where more than `most` instances would run.

    free: the updates that are compared in any order, None: those that the program may reorder.
    """
    walk = _Walk(program, dict(sizes), terms, most, program.reductions if free is None else free)
    try:
        walk.run()
    except Violation as violation:
        return Run(walk.events, walk.memory.visible(), violation.finding)
    return Run(walk.events, walk.memory.visible(), None)


class _Walk:
    """Turns nodes into functions of a list of environments, which differ in the variables of the jams around the node."""

    def __init__(self, program: Program, sizes: Env, terms: Terms, most: int, free: Mapping[str, Reduction]):
        self._program, self._most = program, most
        team = {program.threads: THREADS, program.thread: 0} if program.threads else {}
        self._sizes = {**sizes, **dict.fromkeys(program.phases, PHASE), **team}
        table = AccessTable(program.scop.context)
        self.memory = Memory(program.scop, program.windows, self._sizes, table, terms)
        self._effects = effects(program.scop, table, terms, free, program.reductions)
        self._conflicts, self.events = Conflicts(), list[Event]()
        self._owned = rows_of_threads(program)

    def run(self) -> None:
        """Runs the whole program."""
        for nodes in (self._program.before, self._program.body):
            self._block(nodes, lanes=False)([dict(self._sizes)])

    def _block(self, nodes: tuple[Node, ...], lanes: bool) -> Execute:
        parts = [self._node(node, lanes) for node in nodes]

        def execute(envs: list[Env]) -> None:
            for part in parts:
                part(envs)

        return execute

    def _node(self, node: Node, lanes: bool) -> Execute:
        """lanes: whether iterations of something around run together."""
        if isinstance(node, InstanceNode):
            return self._instance(node, lanes)
        if isinstance(node, Loop):
            return self._loop(node, lanes)
        if isinstance(node, Guard):
            return self._guard(node, lanes)
        return self._jam(node) if isinstance(node, Jam) else self._unroll(node, lanes)

    def _instance(self, node: InstanceNode, lanes: bool) -> Execute:
        point, effect = tuple_code(node.point), self._effects[node.statement]

        def one(env: Env) -> None:
            if len(self.events) >= self._most:
                raise TooManyInstances
            self.events.append(effect.run(evaluate(point, env), env, env, self.memory, self._conflicts))

        def together(envs: list[Env]) -> None:
            with self._conflicts.inside(Region("a loop that run together", partial=None)) as region:
                for region.iteration, env in enumerate(envs):
                    one(env)

        def in_turn(envs: list[Env]) -> None:
            for env in envs:
                one(env)

        return together if lanes else in_turn

    def _loop(self, node: Loop, lanes: bool) -> Execute:
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
                    self.memory.forget(node.private)
                    here = {node.var: value} | ({node.last: end} if node.last else {})
                    here |= {self._program.thread: region.thread} if self._program.thread else {}
                    body([{**env, **here} for env in envs])
                    region.iteration += 1
            self.memory.forget(node.private)

        return execute

    def _guard(self, node: Guard, lanes: bool) -> Execute:
        condition, body = _condition_code(node.condition), self._block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            inside = [env for env in envs if evaluate(condition, env)]
            if inside:
                body(inside)

        return execute

    def _jam(self, node: Jam) -> Execute:
        base, body = integer_code(node.base), self._block(node.body, lanes=not node.scans)
        limit = None if node.limit is None else integer_code(node.limit)

        def execute(envs: list[Env]) -> None:
            inner = []
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

    def _unroll(self, node: Unroll, lanes: bool) -> Execute:
        base, body = integer_code(node.base), self._block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            first = _common(node, (evaluate(base, env) for env in envs))
            for value in range(first, first + node.count):
                body([{**env, node.var: value} for env in envs])

        return execute


def rows_of_threads(program: Program) -> frozenset[str]:
    """Returns the arrays with a row for each thread."""
    statements = program.scop.statements.values() if program.thread else ()
    return frozenset(s.write.array for s in statements if program.thread in s.iterators)


def _shares(node: Loop, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yields the iterations of a parallel loop: thread, value and where the thread's share ends.

    A loop with a name for that may be cut anywhere, so it is cut into parts of different lengths that are no multiples of its step.
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
    """Returns the value that all environments agree on. Raises Violation where they do not."""
    distinct = set(values)
    if len(distinct) != 1:
        raise Violation(Finding(f"the bounds of loop {node.var} differ between iterations that run together: {sorted(distinct)}"))
    return distinct.pop()


def _condition_code(condition: Condition) -> CodeType:
    return compile(str(condition), "<condition>", "eval")


__all__ = ["Index", "Run", "TooManyInstances", "rows_of_threads", "run_in_order", "run_program"]
