"""How the iterations of a row are divided among the threads of a team: by their values, so that equal values are one thread's.

for j = 1 .. n - 1: S[j]   ->   for turn < 16: if ((rank > 0 || turn > 0) && 256*turn < n - rank) S[256*turn + rank]
                                for j = ... step 1024, of those values that are rank modulo 1024: S[j]    (rows of any length)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.teams import SharedLoop
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, substitute, with_body
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import (
    TRUE,
    Affine,
    Compare,
    Condition,
    conjunction,
    disjunction,
    extremum,
    floor_div,
    modulo,
    negate,
    variable,
    zero,
)
from polyml.schedule.gpu.loop_roles import Phase


@dataclass(frozen=True)
class Division:
    """How the iterations of a row are divided among the threads of a team: iteration `base + threads*turn + rank` is thread `rank`'s.

    limit: what the names of limits begin with. limits: { how many iterations a thread's first one is before an end of a loop -> its name },
        of those that conditions in turns are on.
    """

    base: Affine
    rank: str
    threads: int
    turn: str
    turns: int
    limit: str
    limits: dict[Affine, str]
    table: AccessTable

    @property
    def names(self) -> dict[str, Affine]:
        """The limits by their names."""
        return {name: value for value, name in self.limits.items()}

    @property
    def own(self) -> Affine:
        """The thread's iteration in a turn."""
        return self.base + variable(self.rank) + variable(self.turn) * self.threads

    def divided(self, nodes: Sequence[Node], phase: Phase, scop: Scop) -> Iterator[Node]:
        """Yields the nodes of a phase as one thread runs them."""

        def value(run: Instance) -> Affine:
            statement, values = scop.statements[run.statement], phase.shared[0].values
            pieces = values.get_pw_aff_list()
            found = next(p for p in map(pieces.get_at, range(pieces.n_pw_aff())) if p.domain().get_tuple_name() == run.statement)
            return self.table.affine(found).substitute(dict(zip(statement.iterators, run.point)))

        for node in nodes:
            if isinstance(node, Instance):
                yield self._once(node, value(node))
            elif isinstance(node, Loop) and node.name == phase.shared[0].name:
                yield self._loop(node)
            else:
                yield with_body(node, tuple(self.divided(node.body, phase, scop)))

    def of_row(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Yields the nodes of a move, whose instances have one iteration as their point, as one thread runs them."""
        for node in nodes:
            if isinstance(node, Instance):
                yield self._once(node, node.point[0])
            elif isinstance(node, Loop):
                yield self._loop(node)
            else:
                yield with_body(node, tuple(self.of_row(node.body)))

    def _until(self, last: Affine) -> Condition:
        """Returns the condition that the thread's iteration is not behind the last one."""
        name = self.limits.setdefault(last - self.base + 1 - variable(self.rank), f"{self.limit}_{len(self.limits) + 1}")
        return Compare(">=", variable(name) - variable(self.turn) * self.threads - 1)

    def _from(self, first: Affine) -> Condition:
        """Returns the condition that the thread's iteration is not before the first one."""
        before = first - self.base
        if before.is_constant and before.constant <= self.threads:
            rank, turn = variable(self.rank), variable(self.turn)
            return disjunction(Compare(">=", rank - before), Compare(">=", turn - 1)) if before.constant > 0 else TRUE
        return negate(self._until(first - 1))

    def _in_turns(self, condition: Condition, body: tuple[Node, ...]) -> Loop:
        return Loop(self.turn, (Affine(),), (Affine(self.turns - 1),), 1, (Guard(condition, body),), name=self.turn)

    def _once(self, node: Instance, value: Affine) -> Node:
        """Returns an instance outside of the shared loop, whose iteration has the given value, as one of the thread that has it."""
        if self.turns:
            return self._in_turns(zero(self.own - value), (node,))
        return Guard(zero(modulo(value - self.base - variable(self.rank), self.threads)), (node,))

    def _loop(self, node: Loop) -> Node:
        """Returns the shared loop as one over a thread's iterations."""
        first = extremum("max", node.lower)
        if self.turns:
            conditions = [*(self._from(each) for each in node.lower), *(self._until(each) for each in node.upper)]
            if node.step > 1:
                conditions.append(zero(modulo(self.own - first, node.step)))
            return self._in_turns(conjunction(*conditions), tuple(substitute(each, {node.var: self.own}) for each in node.body))
        start = self.base + variable(self.rank)
        if first != self.base:
            start = start + floor_div(first - start + self.threads - 1, self.threads) * self.threads
        made = {name: getattr(node, name) for name in Loop.__dataclass_fields__} | {"lower": (start,), "step": 1}
        if node.step > 1:
            made["body"] = (Guard(zero(modulo(variable(node.var) - first, node.step)), node.body),)
        return SharedLoop(**made, stride=Affine(self.threads))
