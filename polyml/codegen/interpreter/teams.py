"""Runs the blocks of a launch of teams on NumPy arrays: threads in any order from barrier to barrier, and partial results in places of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any  # a NumPy scalar

import numpy as np

from polyml.codegen.gpu.teams import Barrier, Partial, TeamCode, TeamPhase, for_thread
from polyml.codegen.interpreter.order import Env, Visit, walk
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program
from polyml.model.core.reductions import identity
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE, Condition

JOINED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "minimum": np.minimum,
    "maximum": np.maximum, "fmin": np.fmin, "fmax": np.fmax, "min": lambda m, x: x if x < m else m, "max": lambda m, x: x if x > m else m,
}  # fmt: skip


class BarrierDivergence(Exception):
    """Raised where some threads of a block wait at a barrier that others do not reach."""


@dataclass(frozen=True)
class TeamMemory:
    """The memory of a call.

    arrays: by name.
    visit: runs an instance of a statement on these.
    redirected: { array -> (an array of the same shape, what runs an instance of a statement that updates it there in place of the array) }.
    stored: partial results of blocks, by (launch without teams, name of the partial result, part, team).
    """

    scop: Scop
    arrays: Mapping[str, np.ndarray]
    visit: Visit
    redirected: Mapping[str, tuple[np.ndarray, Visit]]
    stored: dict[tuple[object, ...], Any] = field(default_factory=dict)


def run_block(block: TeamRun, name: str, threads: Sequence[Env]) -> None:
    """Runs the threads of a block in this order, from barrier to barrier. Raises BarrierDivergence where not all reach one.

    name: that of the launch.
    threads: the names and values that each thread has.
    """
    running = [block.nodes(block.code.order, env) for env in threads]
    while running:
        waiting = [next(thread, None) for thread in running]
        if len(set(waiting)) > 1:
            raise BarrierDivergence(f"{name}: {waiting}")
        running = running if waiting[0] is not None else []


@dataclass(frozen=True)
class TeamRun:
    """One block while it runs.

    stem: the name under which partial results of blocks are stored.
    shared: the partial results that its threads have put down, by name, team and thread.
    """

    code: TeamCode
    stem: str
    memory: TeamMemory
    shared: dict[tuple[object, ...], Any]

    def nodes(self, nodes: Sequence[Node | Barrier], env: Env) -> Iterator[str]:
        """Runs the nodes as one thread, and yields a name of each barrier that it reaches."""
        for node in nodes:
            if isinstance(node, Barrier):
                yield f"before {node.before}"
            elif isinstance(node, Loop):
                first = max(each.evaluate(env) for each in node.lower)
                last = min(each.evaluate(env) for each in node.upper)
                for value in range(first, last + 1, node.step):
                    yield from self.nodes(node.body, {**env, node.var: value})
            elif isinstance(node, Guard) and isinstance(node.body[0], Loop):
                if node.condition.evaluate(env):
                    yield from self.nodes(node.body, env)
            elif isinstance(node, Guard):
                yield from self._phase(node.body[0], node.condition, env)
            else:
                yield from self._phase(node, TRUE, env)

    def _phase(self, node: Node, condition: Condition, env: Env) -> Iterator[str]:
        assert isinstance(node, Instance)
        phase = self.code.phases[node.statement]
        here, lane = condition.evaluate(env), self.code.lane.evaluate(env)
        inside = {**env, **dict(zip(phase.around, (each.evaluate(env) for each in node.point)))}
        if phase.alone:
            if here and lane == 0:
                walk(Program(self.memory.scop, phase.body), inside, self.memory.visit)
            return
        values = self._own(phase, inside) if here else {}
        if not phase.partial:
            return
        team = tuple(env[start] for start, _, _ in self.code.numbering)
        self.shared.update({(partial.name, team, lane): values[partial.name] for partial in phase.partial if here})
        yield f"in {node.statement}"
        for partial in phase.partial:
            if here and lane == 0:
                self._combine(partial, inside, team)

    def _own(self, phase: TeamPhase, env: Env) -> dict[str, Any]:
        """Runs the phase as one thread, and returns its partial results by name."""
        values, scop = {}, self.memory.scop
        for partial in phase.partial:
            scratch, _ = self.memory.redirected[partial.array]
            scratch.fill(identity(partial.operator, scop.arrays[partial.array].element))
        updates = {name: partial for partial in phase.partial for name in partial.statements}

        def visit(name: str, point: tuple[int, ...]) -> None:
            partial = updates.get(name)
            (self.memory.visit if partial is None else self.memory.redirected[partial.array][1])(name, point)

        walk(Program(scop, for_thread(phase.body, env)), env, visit)
        for partial in phase.partial:
            at = tuple(each.evaluate(env) for each in partial.subscripts)
            value = self.memory.redirected[partial.array][0][at].copy()
            values[partial.name] = self._of_parts(partial, value, env) if phase.stored else value
        return values

    def _of_parts(self, partial: Partial, value: Any, env: Env) -> Any:
        """Returns the partial results that blocks have stored, those of the thread's parts combined."""
        team = tuple(env[start] for start, _, _ in self.code.numbering)
        for part in range(self.code.lane.evaluate(env), env[self.code.parts], self.code.size):
            value = JOINED[partial.operator](value, self.memory.stored[self.stem, partial.name, part, team])
        return value

    def _combine(self, partial: Partial, env: Env, team: tuple[int, ...]) -> None:
        """Combines the partial results of the team's threads, with the element or to one that is stored."""
        element = self.memory.arrays[partial.array]
        at, join = tuple(each.evaluate(env) for each in partial.subscripts), JOINED[partial.operator]
        whole = self.shared[partial.name, team, 0]
        for lane in range(1, self.code.size):
            whole = join(whole, self.shared[partial.name, team, lane])
        if self.code.part:
            self.memory.stored[self.stem, partial.name, env[self.code.part], team] = whole
        else:
            element[at] = join(element[at], whole)
