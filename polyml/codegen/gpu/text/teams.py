"""The text of what the threads of a block run together: phases, barriers, and how partial results are combined.

for k: y[i] += A[i, k]   ->   float y_partial = -0.0f;
                              for (long k = rank; k < n; k += 32) y_partial = y_partial + A[i*n + k];
                              (a tree in shared memory, or shuffles in CUDA)
                              if (rank == 0) y[i] = y[i] + y_shared[thread];
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Protocol

from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.rows.row_teams import RowCode
from polyml.codegen.gpu.teams import Barrier, Partial, TeamCode, TeamPhase
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.names import loop_names, named, outer_names
from polyml.codegen.gpu.text.values import Text, Values
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances
from polyml.dtypes import F32, HALVES, DType
from polyml.frontend import syntax
from polyml.model.core.reductions import identity
from polyml.model.core.scop import Load, Scop, Value
from polyml.quasi_affine.affine import TRUE, Affine, Condition, conjunction, zero

_STEP = "    "
WARP = 32  # threads of which each reads registers of others


class ThreadWriter(Protocol):
    """A ThreadWriter is the text of a kernel, as far as its phases need it."""

    def begin_names(self, names: Mapping[str, str], loops: Mapping[int, str], values: Mapping[str, Affine]) -> None:
        """From now on, variables of loops around have these names, loops by identity these, and other names these values."""
        ...

    def lines_of(self, body: Sequence[Node], updates: Mapping[str, tuple[str, str]]) -> Iterator[str]:
        """Yields the C lines of nodes. updates: { statement -> (array, the register that it updates in place of an element) }."""
        ...

    def loop_head(self, node: Loop) -> str:
        """Returns what stands before the body of a loop."""
        ...

    def hold(self, elements: Mapping[str, str], moves: Mapping[str, Callable[[Sequence[Affine]], str]]) -> None:
        """From now on, elements of these arrays have these names, and instances of these names are lines, made of their points."""
        ...

    def declare(self, name: str, kind: str, length: int) -> None:
        """Declares an array in shared memory."""
        ...


def written(launch: Launch, scop: Scop) -> Iterator[str]:
    """Yields the arrays that a launch writes, each perhaps several times."""
    team = launch.team
    updates = {name for each in team.partial for name in each.statements} if team else set()
    held = team.held if isinstance(team, RowCode) else {}
    for node in instances(launch.body):
        if node.statement not in updates and scop.statements[node.statement].write.array not in held:
            yield scop.statements[node.statement].write.array
    if team and not team.part:
        yield from (each.array for each in team.partial if each.array not in held)
    if isinstance(team, RowCode):
        yield from team.stored


def stored_parts(launch: Launch, scop: Scop) -> tuple[tuple[str, DType], ...]:
    """Returns the names and types of the partial results that blocks of one launch store for another."""
    found = launch.team.partial if launch.team and launch.team.parts else ()
    return tuple((parts_name(each), scop.arrays[each.array].element) for each in found)


class TeamText:
    """A TeamText writes what the threads of a block run together in one launch."""

    def __init__(self, launch: Launch, scop: Scop, dialect: Dialect, values: Values, writer: ThreadWriter):
        assert launch.team is not None
        self._code: TeamCode = launch.team
        self._launch, self._scop, self._dialect, self._values, self._writer = launch, scop, dialect, values, writer
        before = [axis.threads for axis in launch.axes[: [axis.is_lane for axis in launch.axes].index(True)]]
        self._step = prod(before)  # between the numbers in the block of neighbouring threads of a team
        self._outer = outer_names(launch, scop)
        self._loops = loop_names(Version(TRUE, self._code.order), launch, self._outer, scop)  # type: ignore[arg-type]  # barriers are among nodes
        self._around: dict[str, str] = {}  # variables of the loops around the lines that follow, with their names

    def lines(self) -> Iterator[str]:
        """Yields the C lines of the launch."""
        for node in self._code.order:
            yield from self._node(node)

    def _node(self, node: Node | Barrier) -> Iterator[str]:
        if isinstance(node, Barrier):
            yield f"{self._dialect.team_barrier}  // {'the next iteration' if not node.before else 'what follows'} needs what threads did above"
        elif isinstance(node, Loop):
            self._around[node.var] = self._loops[id(node)]
            self._writer.begin_names(self._around, {}, {})
            yield f"{self._writer.loop_head(node)} {{"
            for inner in node.body:
                yield from (_STEP + line for line in self._node(inner))
            yield "}"
        elif isinstance(node, Guard) and isinstance(node.body[0], Loop):
            yield f"if ({self._test(node.condition)}) {{"
            yield from (_STEP + line for line in self._node(node.body[0]))
            yield "}"
        elif isinstance(node, Guard):
            yield from self._phase(node.body[0], node.condition)
        else:
            yield from self._phase(node, TRUE)

    def _phase(self, node: Node, where: Condition) -> Iterator[str]:
        """Yields the C lines of a phase, which runs where the condition holds; what its threads do together is outside of that."""
        assert isinstance(node, Instance)
        phase = self._code.phases[node.statement]
        here, first = self._test(where) if where != TRUE else "", self._test(conjunction(zero(self._code.lane), where))
        self._begin(phase, node)
        if not phase.partial:
            yield from braced(first if phase.alone else here, list(self._writer.lines_of(phase.body, {})))
            return
        yield "{"
        for partial in phase.partial:
            yield f"{_STEP}{self._kind(partial)} {self._register(partial)} = {self._nothing(partial)};"
        updates = {name: (each.array, self._register(each)) for each in phase.partial for name in each.statements}
        own = list(self._stored(phase)) if phase.stored else list(self._writer.lines_of(phase.body, updates))
        yield from (_STEP + line for line in braced(here, own))
        for partial in phase.partial:
            yield from (_STEP + line for line in self._combined(partial))
        for test, some in self._ends(phase, here, first):
            yield from (_STEP + line for line in braced(test, [self._final(partial) for partial in some]))
        yield "}"

    def _ends(self, phase: TeamPhase, here: str, first: str) -> Iterator[tuple[str, Sequence[Partial]]]:
        """Yields partial results of a phase with the test under which threads combine these with their elements.

        here, first: the tests of whether a thread runs the phase, and of whether it does and is the first of its team.
        """
        yield first, phase.partial

    @property
    def _is_shuffled(self) -> bool:
        """Whether threads read registers of one another."""
        return bool(self._dialect.shuffle) and self._code.beside and self._code.size % WARP == 0

    @property
    def _is_in_register(self) -> bool:
        """Whether the first thread of a team has what was combined in its register."""
        return self._is_shuffled

    def _test(self, where: Condition) -> str:
        """Returns the C text of a condition outside of phases."""
        self._writer.begin_names(self._around, {}, {})
        return self._values.test(where)

    def _begin(self, phase: TeamPhase, run: Instance) -> None:
        """Prepares for the loops of a phase: the names for values of the loops around it stand for those that it runs with."""
        renaming = {name: _variable(new) for name, new in {**self._outer, **self._around}.items() if new != name}
        values = dict(zip(phase.around, (each.substitute(renaming) for each in run.point)))
        outside = {**self._outer, **{new: new for new in self._around.values()}}
        found = loop_names(Version(TRUE, phase.body), self._launch, outside, self._scop)
        self._writer.begin_names({}, found, values)

    # -- partial results -------------------------------------------------------------------------------------------

    def _combined(self, partial: Partial) -> Iterator[str]:
        """Yields the C lines that combine the partial results of a team's threads, the result for its first thread."""
        if self._is_shuffled:
            yield from self._shuffled(partial)
            return
        shared, code, step = f"{named(partial.name)}_shared", self._code, self._step
        self._writer.declare(shared, self._kind(partial), self._threads)
        lane = self._values.index(code.lane)
        yield f"{shared}[thread] = {self._register(partial)};"
        yield f"for (int apart = {code.size // 2}; apart > 0; apart /= 2) {{"
        yield f"{_STEP}{self._dialect.barrier}  // {shared}: written by all threads before any reads another's"
        yield f"{_STEP}if ({lane if lane.isidentifier() else f'({lane})'} < apart)"
        other = f"{shared}[thread + apart{f'*{step}' if step > 1 else ''}]"
        yield f"{_STEP * 2}{_set(f'{shared}[thread]', self._joined(partial, f'{shared}[thread]', other))}"
        yield "}"

    def _shuffled(self, partial: Partial) -> Iterator[str]:
        """Yields the same by shuffles: of each warp, and, where a team has several warps, of their results, which are in shared memory."""
        register, warps = self._register(partial), self._code.size // WARP
        yield from self._tree(partial, WARP)
        if warps == 1:
            return
        shared = f"{named(partial.name)}_shared"
        self._writer.declare(shared, self._kind(partial), warps)
        yield f"if (thread % {WARP} == 0)"
        yield f"{_STEP}{shared}[thread / {WARP}] = {register};"
        yield from self._of_warps(partial, shared, warps)

    def _of_warps(self, partial: Partial, shared: str, warps: int) -> Iterator[str]:
        """Yields the lines that combine the results of warps, which are in shared memory."""
        register = self._register(partial)
        yield f"{self._dialect.barrier}  // {shared}: written by all warps before the first one reads"
        yield f"if (thread < {WARP}) {{"
        yield f"{_STEP}{register} = thread < {warps} ? {shared}[thread] : {self._nothing(partial)};"
        yield from (_STEP + line for line in self._tree(partial, warps))
        yield "}"

    def _tree(self, partial: Partial, count: int) -> Iterator[str]:
        register = self._register(partial)
        other = self._dialect.shuffle.format(value=register, distance="apart")
        yield f"for (int apart = {count // 2}; apart > 0; apart /= 2)"
        yield f"{_STEP}{_set(register, self._joined(partial, register, other))}"

    def _final(self, partial: Partial) -> str:
        """Returns the line by which a team's first thread combines the result with the element, or stores it for another launch."""
        values, element = self._values, self._scop.arrays[partial.array].element
        whole = self._register(partial) if self._is_in_register else f"{named(partial.name)}_shared[thread]"
        if self._code.part:
            return f"{self._place(partial, self._code.part)} = {values.stored(Text(whole), element)};"
        memory = values.element(partial.array, [values.index(each) for each in partial.subscripts])
        joined = self._joined(partial, values.loaded(memory, element).text, whole)
        return _set(memory, values.stored(Text(joined), element))

    def _stored(self, phase: TeamPhase) -> Iterator[str]:
        """Yields the C lines by which a thread combines those partial results, stored by another launch, that are its."""
        lane = self._values.index(self._code.lane)
        parts = self._values.index(_variable(self._code.parts))
        yield f"for ({self._dialect.index} {self._block} = {lane}; {self._block} < {parts}; {self._block} += {self._code.size}) {{"
        for partial in phase.partial:
            element = self._scop.arrays[partial.array].element
            other = self._values.loaded(self._place(partial, self._block), element).text
            yield f"{_STEP}{_set(self._register(partial), self._joined(partial, self._register(partial), other))}"
        yield "}"

    _block = "e0"  # a name that the text calls its own

    def _place(self, partial: Partial, part: str) -> str:
        """Returns the C text of the place of a partial result in global memory. part: the text of the number of the part."""
        index, teams = self._values.index, ""
        number = ""
        for start, first, count in self._code.numbering:
            own, many = index(_variable(start) - first), _factor(index(count))
            number = f"{_factor(number)}*{many} + {own}" if number else own
            teams = f"{teams}*{many}"
        part = index(_variable(part)) if part != self._block else part
        return f"{parts_name(partial)}[{part}{teams}{f' + {number}' if number else ''}]"

    @property
    def _threads(self) -> int:
        return prod(axis.threads for axis in self._launch.axes[:3])

    def _kind(self, partial: Partial) -> str:
        return self._dialect.register_type(self._scop.arrays[partial.array].element)

    def _register(self, partial: Partial) -> str:
        return f"{named(partial.name)}_partial"

    def _nothing(self, partial: Partial) -> str:
        """Returns the C text of the value that changes nothing where it is combined with another."""
        element = self._scop.arrays[partial.array].element
        return self._values.of_texts(syntax.Const(identity(partial.operator, element), dtype=element), ())

    def _joined(self, partial: Partial, left: str, right: str) -> str:
        """Returns the C text of the two values combined."""
        return self._values.of_texts(joined(partial.operator, self._scop.arrays[partial.array].element), (left, right))


def parts_name(partial: Partial) -> str:
    """Returns the name of a kernel's pointer to the partial results that blocks store."""
    return f"{named(partial.name)}_parts"


def joined(operator: str, element: DType) -> Value:
    """Returns the value that combines, by the operator, operand 0 with operand 1; halves are combined as float32 and rounded."""
    within = F32 if element in HALVES else element
    both: tuple[Value, ...] = tuple(Load(k, dtype=element) for k in range(2))
    if within is not element:
        both = tuple(syntax.Cast(each, within, dtype=within) for each in both)
    if operator in ("minimum", "maximum", "fmin", "fmax"):
        made: Value = syntax.Call(operator, both, "numpy", dtype=within)
    else:
        made = syntax.Binary(operator, *both, dtype=within)
    return made if within is element else syntax.Cast(made, element, dtype=element)


def _set(target: str, value: str) -> str:
    """Returns the C statement that sets a target to a value; of a sum that begins with the target, the one that adds to it."""
    return f"{target} += {value[len(target) + 3 :]};" if value.startswith(f"{target} + ") else f"{target} = {value};"


def _factor(text: str) -> str:
    """Returns a C expression as a factor, in parentheses where it is more than a name or a number."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _variable(name: str) -> Affine:
    return Affine(0, ((name, 1),))


def braced(test: str, lines: Sequence[str]) -> Iterator[str]:
    """Yields the lines, inside a test where there is one."""
    if not lines:
        return
    if not test:
        yield from lines
        return
    one = len(lines) == 1
    yield f"if ({test})" if one else f"if ({test}) {{"
    yield from (_STEP + line for line in lines)
    if not one:
        yield "}"
