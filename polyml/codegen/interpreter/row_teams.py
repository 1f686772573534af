"""Runs the blocks of a launch whose teams run rows on NumPy arrays: each thread with arrays of its own for what it has in registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyml.codegen.gpu.rows.row_teams import Move, RowCode, RowPhase
from polyml.codegen.gpu.teams import for_thread
from polyml.codegen.interpreter.order import Env, Visit, walk
from polyml.codegen.interpreter.teams import JOINED, TeamRun
from polyml.codegen.ir.program import Instance, Node, Program
from polyml.model.core.reductions import identity
from polyml.quasi_affine.affine import Affine, Condition
from polyml.values import cached_property

Effects = Callable[[Mapping[str, np.ndarray]], Visit]  # what runs instances of statements on other arrays


@dataclass(frozen=True)
class _Registers:
    """What a thread has in registers: whole arrays, for simplicity, of which it uses its elements; the others are not numbers, or 99."""

    arrays: Mapping[str, np.ndarray]
    visit: Visit


@dataclass(frozen=True)
class RowRun(TeamRun):
    """One block of teams that run rows while it runs. effects: what runs instances on other arrays."""

    code: RowCode
    effects: Effects = field(kw_only=True)

    @cached_property
    def _threads(self) -> dict[tuple[object, ...], tuple[_Registers, _Registers]]:
        return {}

    def _phase(self, node: Node, condition: Condition, env: Env) -> Iterator[str]:
        assert isinstance(node, Instance)
        phase = self.code.phases[node.statement]
        assert isinstance(phase, RowPhase)
        env = {**env, **{name: self._clamped(value.evaluate(env)) for name, value in self.code.limits.items()}}
        here, lane = condition.evaluate(env), self.code.lane.evaluate(env)
        team = tuple(env[start] for start, _, _ in self.code.numbering)
        own = self._of_thread((*team, lane), phase)
        if here and not (phase.alone and lane):
            if phase.move is not None:
                walk(Program(self.memory.scop, phase.move.body), env, self._mover(phase.move, own, env))
            elif not phase.partial:
                walk(Program(self.memory.scop, for_thread(phase.body, env)), env, own.visit)
        if not phase.partial:
            return
        values = self._partials(phase, env, own) if here else {}
        self.shared.update({(name, team, lane): value for name, value in values.items()})
        yield f"in {node.statement}"
        for partial in phase.partial:
            is_held = partial.array in self.code.held
            if here and (is_held or lane == 0):
                at, join = tuple(each.evaluate(env) for each in partial.subscripts), JOINED[partial.operator]
                whole = self.shared[partial.name, team, 0]
                for other in range(1, self.code.size):
                    whole = join(whole, self.shared[partial.name, team, other])
                element = (own.arrays if is_held else self.memory.arrays)[partial.array]
                element[at] = join(element[at], whole)

    def _clamped(self, value: int) -> int:
        return min(max(value, 0), self.code.size * self.code.turns)

    def _of_thread(self, thread: tuple[object, ...], phase: RowPhase) -> _Registers:
        """Returns what a thread has in registers, as a phase uses it: rows only where its iterations are divided."""
        if thread not in self._threads:
            arrays = {}
            for name in self.code.held:
                arrays[name] = np.empty_like(self.memory.arrays[name])
                arrays[name].fill(np.nan if arrays[name].dtype.kind == "f" else 99)
            single = {name: arrays[name] for name, turns in self.code.held.items() if not turns}
            alone, divided = (_Registers(arrays, self.effects({**self.memory.arrays, **some})) for some in (single, arrays))
            self._threads[thread] = alone, divided
        return self._threads[thread][phase.is_divided]

    def _mover(self, move: Move, own: _Registers, env: Env) -> Visit:
        """Returns what moves the element of an instance of a move."""
        memory, registers = self.memory.arrays[move.array], own.arrays[move.array]

        def visit(_: str, point: Sequence[int]) -> None:
            at = tuple(each.evaluate(env) for each in move.at([Affine(value) for value in point]))
            (source, target) = (memory, registers) if move.is_fill else (registers, memory)
            target[at] = source[at]

        return visit

    def _partials(self, phase: RowPhase, env: Env, own: _Registers) -> dict[str, object]:
        """Runs the phase as one thread, and returns its partial results by name."""
        scop = self.memory.scop
        scratch = {each.array: np.empty_like(self.memory.arrays[each.array]) for each in phase.partial}
        for each in phase.partial:
            scratch[each.array].fill(identity(each.operator, scop.arrays[each.array].element))
        redirected = self.effects({**self.memory.arrays, **own.arrays, **scratch})
        updates = {name for each in phase.partial for name in each.statements}

        def visit(name: str, point: tuple[int, ...]) -> None:
            (redirected if name in updates else own.visit)(name, point)

        walk(Program(scop, for_thread(phase.body, env)), env, visit)
        return {each.name: scratch[each.array][tuple(s.evaluate(env) for s in each.subscripts)] for each in phase.partial}
