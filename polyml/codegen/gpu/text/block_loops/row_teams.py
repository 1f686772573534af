"""The text of what a team runs that has a row of several launches: elements in registers, phases in turns, results in every thread.

x[i, j] for all j   ->   float x_held[16];
                         #pragma unroll
                         for (int turn = 0; turn < 16; turn++)
                             if (256*turn + rank < n)
                                 x_held[turn] = x[i*n + 256*turn + rank];
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from polyml.codegen.gpu.program import Launch
from polyml.codegen.gpu.residency import blocks_of, resident_blocks, words_of_positions
from polyml.codegen.gpu.rows.row_teams import Move, RowCode, RowPhase
from polyml.codegen.gpu.teams import Barrier, Partial, SharedLoop, TeamCode, TeamPhase
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.teams import WARP, TeamText, ThreadWriter, braced
from polyml.codegen.gpu.text.values import Values
from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE, Affine, Condition, conjunction, extremum, zero

_STEP = "    "
MOST_THREADS = 1024  # of a block
_TOGETHER = 4  # iterations of a loop without registers whose loads are issued together


def team_lines(launch: Launch, scop: Scop, dialect: Dialect, values: Values, writer: ThreadWriter) -> Iterator[str]:
    """Yields the C lines of what the threads of a team run together."""
    kind = RowText if isinstance(launch.team, RowCode) else TeamText
    yield from kind(launch, scop, dialect, values, writer).lines()


def unrolling(loop: Loop, items: Set[str], team: TeamCode | None) -> Iterator[str]:
    """Yields the line before a loop that says how it is unrolled. items: the names of loops over all of a thread's items."""
    if loop.name in items or isinstance(team, RowCode) and loop.name == team.turn:
        yield "#pragma unroll"
    elif isinstance(team, RowCode) and isinstance(loop, SharedLoop):
        yield f"#pragma unroll {_TOGETHER}"


def loop_type(loop: Loop, team: TeamCode | None, dialect: Dialect) -> str:
    """Returns the type of a loop's variable: the number of a turn has 32 bits."""
    return "int" if isinstance(team, RowCode) and loop.name == team.turn else dialect.index


def bounds_of(launch: Launch, scop: Scop, shared_bytes: int, dialect: Dialect) -> str:
    """Returns what says how many threads a block of the launch has, and how many blocks a multiprocessor is to have: one at least, so that
    the compiler does not keep elements of rows in memory to have two of the largest blocks.

    shared_bytes: of shared memory that a block has.
    """
    x, y, z = ([axis.threads for axis in launch.axes[:3]] + [1] * 3)[:3]
    held = [each for version in launch.versions for each in version.registers]
    resident, team = resident_blocks(held, x * y * z, shared_bytes, scop), launch.team
    for version in launch.versions:
        if version.merged is not None:
            resident = blocks_of(words_of_positions(version.merged, scop), x * y * z)
    if isinstance(team, RowCode) and team.turns:
        resident = 1 if team.size >= MOST_THREADS else blocks_of(team.registers or team.turns, x * y * z)
    return dialect.launch_bounds.format(x=x, y=y, z=z, threads=x * y * z, blocks=f", {resident}" if resident else "")


class RowText(TeamText):
    """A RowText writes what the threads of a team run that have a row."""

    _code: RowCode

    def lines(self) -> Iterator[str]:
        """Yields the C lines of the launch."""
        for array, turns in self._code.held.items():
            kind = self._dialect.memory_type(self._scop.arrays[array].element)
            yield f"{kind} {held_name(array)}{f'[{turns}]' if turns else ''};"
        most = Affine(self._code.size * self._code.turns)
        for name, value in self._code.limits.items():
            self._writer.begin_names({}, {}, {})
            clamped = extremum("min", (extremum("max", (value, Affine())), most))
            yield f"const int {named(name)} = {self._values.index(clamped)};"
        yield from super().lines()

    def _node(self, node: Node | Barrier) -> Iterator[str]:
        if isinstance(node, Barrier) and self._is_warp and self._dialect.warp_barrier:
            yield f"{self._dialect.warp_barrier}  // what follows needs what threads did above"
        else:
            yield from super()._node(node)

    @property
    def _is_warp(self) -> bool:
        return self._code.size == WARP

    def _phase(self, node: Node, where: Condition) -> Iterator[str]:
        assert isinstance(node, Instance)
        phase = self._code.phases[node.statement]
        assert isinstance(phase, RowPhase)
        if phase.move is None:
            self._hold(phase, {})
            yield from super()._phase(node, where)
            return
        test = (
            self._test(conjunction(zero(self._code.lane), where) if phase.alone else where) if where != TRUE or phase.alone else ""
        )
        self._begin(replace(phase, body=phase.move.body), node)
        self._hold(phase, {node.statement: phase.move})
        yield from braced(test, list(self._writer.lines_of(phase.move.body, {})))

    def _hold(self, phase: RowPhase, moves: Mapping[str, Move]) -> None:
        """Has the lines that follow use registers: in loops that are divided, those of rows too."""
        if moves:
            self._writer.hold({}, {name: self._line(move) for name, move in moves.items()})
            return
        held = self._code.held
        self._writer.hold({name: self._held(name) for name in held if phase.is_divided or not held[name]}, {})

    def _held(self, array: str) -> str:
        """Returns the C text of an array's element in a register."""
        return f"{held_name(array)}[{self._code.turn}]" if self._code.held[array] else held_name(array)

    def _line(self, move: Move) -> Callable[[Sequence[Affine]], str]:
        """Returns what makes the C line that moves the element of an instance."""

        def line(point: Sequence[Affine]) -> str:
            memory = self._values.element(move.array, [self._values.index(each) for each in move.at(point)])
            return f"{self._held(move.array)} = {memory};" if move.is_fill else f"{memory} = {self._held(move.array)};"

        return line

    def _ends(self, phase: TeamPhase, here: str, first: str) -> Iterator[tuple[str, Sequence[Partial]]]:
        held = self._code.held
        yield here, [partial for partial in phase.partial if partial.array in held]
        yield first, [partial for partial in phase.partial if partial.array not in held]

    @property
    def _is_in_register(self) -> bool:
        return True

    def _combined(self, partial: Partial) -> Iterator[str]:
        """Yields the C lines that combine the partial results of a team's threads, the result for all of them."""
        register = self._register(partial)
        if self._is_shuffled:
            yield from self._shuffled(partial)
            yield f"{register} = {self._dialect.broadcast.format(value=register)};"
            return
        shared = f"{named(partial.name)}_shared"
        yield from super()._combined(partial)
        yield f"{self._dialect.barrier}  // {shared}: written by the first thread before all read"
        yield f"{register} = {shared}[thread - {self._values.index(self._code.lane)}];"

    def _of_warps(self, partial: Partial, shared: str, warps: int) -> Iterator[str]:
        """Yields the lines by which all warps combine the results of warps."""
        register = self._register(partial)
        yield f"{self._dialect.barrier}  // {shared}: written by all warps before any reads"
        own = f"{shared}[thread % {WARP}]"
        yield (
            f"{register} = {own};"
            if warps == WARP
            else f"{register} = thread % {WARP} < {warps} ? {own} : {self._nothing(partial)};"
        )
        yield from self._tree(partial, warps)


def held_name(array: str) -> str:
    """Returns the C name of an array's elements in registers."""
    return f"{named(array)}_held"
