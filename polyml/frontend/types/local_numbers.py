"""The types of local numbers: those of the assignments that reach a read, where every loop is taken to run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from polyml.dtypes import PYINT
from polyml.errors import PolymlError, PolymlTypeError
from polyml.frontend import reaching_definitions, syntax, traversal
from polyml.frontend.name_resolution import loops_around
from polyml.frontend.reaching_definitions import Assigned, Definition, LoopVariable, Reaching, ReachingDefinitions
from polyml.frontend.syntax import ArgType, Stmt
from polyml.frontend.types.type_sets import TypeSet, held_in, spelled, stands_for, union
from polyml.source import Loc


class ReachingState(NamedTuple):
    """A ReachingState holds the definitions that reach one place in the kernel, by name.

    usual: the definitions that reach it if every loop runs at least once
    any: these, and those that reach it only if some loop does not run
    """

    usual: Reaching
    any: Reaching


@dataclass(frozen=True)
class NumberRead:
    """A NumberRead is what is known of a read of a local number.

    types: the types that the number may have
    definitions: the assignments that the read may see if every loop runs
    needs_loops: whether the number would have yet another type if some loop before the read did not run at all
    may_overflow: whether the read may see a Python int that does not fit 64 bits
    """

    types: TypeSet
    definitions: frozenset[Definition]
    needs_loops: bool
    may_overflow: bool


class LocalNumbers:
    """A LocalNumbers holds the types that assignments give a kernel's local numbers; each pass of inference may add types.

    required: condition -> the Require for it; the condition says that a loop runs at least once, since a number would otherwise
        keep a value of another type
    """

    def __init__(self, kernel: syntax.Kernel, params: Mapping[str, ArgType]):
        self._params = params
        self._flow = ReachingDefinitions(kernel.params, loops_run=True)
        self._any_flow = ReachingDefinitions(kernel.params, twin=self._flow)
        self._types: dict[Definition, TypeSet] = {}  # grows from pass to pass
        self._assignments: dict[str, list[Assigned]] = {}
        self._loops_around = dict(loops_around(kernel.body, ()))
        self.required: dict[syntax.Expr, syntax.Require] = {}

    @property
    def start(self) -> ReachingState:
        """Returns the definitions at the start of the kernel's body."""
        return ReachingState(self._flow.start, self._any_flow.start)

    def after(self, stmt: Stmt, state: ReachingState) -> ReachingState:
        """Returns the definitions that reach the place behind a statement.

        state: the definitions that reach the place before it
        """
        return ReachingState(self._flow.after(stmt, state.usual), self._any_flow.after(stmt, state.any))

    def inside(self, loop: syntax.For | syntax.While, state: ReachingState) -> ReachingState:
        """Returns the definitions that reach the start of a loop's body.

        state: the definitions that reach the place before the loop
        """
        return ReachingState(self._flow.inside(loop, state.usual), self._any_flow.inside(loop, state.any))

    def snapshot(self) -> Mapping[Definition, TypeSet]:
        """Returns a copy of the types that all assignments have given so far."""
        return dict(self._types)

    @property
    def names(self) -> Sequence[str]:
        """Returns the local numbers that are assigned, in the order of their first assignments."""
        return tuple(self._assignments)

    def types_of(self, name: str) -> TypeSet:
        """Returns the set of types that a local number has over all its assignments."""
        return union(self._types[a] for a in self._assignments[name])

    def assign(self, stmt: syntax.Assign, name: str, types: TypeSet) -> None:
        """Records that a statement assigns a value of these types to a local number."""
        assigned, assignments = self._flow.assigned(stmt), self._assignments.setdefault(name, [])
        if assigned not in assignments:
            assignments.append(assigned)
        self._types[assigned] = union((self._types.get(assigned, {}), types))

    def read(self, name: str, state: ReachingState) -> NumberRead | None:
        """Returns what is known of a read of a local number, or None for a loop variable.

        state: the definitions that reach the read
        """
        definitions = reaching_definitions.reaching(state.usual, name)
        if any(isinstance(d, LoopVariable) for d in definitions):
            return None
        others = reaching_definitions.reaching(state.any, name) - definitions
        types = self._without_loops(union(self._types.get(d, {}) for d in definitions), others)
        needs_loops = not union(self._types.get(d, {}) for d in others).keys() <= types.keys()
        may_overflow = any(self._types.get(d, {}).get(PYINT, ()) is None for d in others)
        return NumberRead(types, definitions, needs_loops, may_overflow)

    def _without_loops(self, types: TypeSet, others: frozenset[Definition]) -> TypeSet:
        """Returns the types that a read of a number may see whether or not loops run: `types`, and those that `others` give.

        A type that `others` give is left out where the type that holds all of `types` can hold its values too (see
        `type_sets.stands_for`).

        types: the types where every loop runs
        others: the definitions that reach the read only where a loop does not run
        """
        dtype = held_in(types) if types else None
        for definition in others:
            more = self._types.get(definition, {})
            lost = {k: known for k, known in more.items() if dtype is None or not stands_for(dtype, k, known)}
            types = union((types, lost)) if lost else types
        return types

    def require_loops(self, definitions: frozenset[Definition], around: Collection[syntax.For]) -> None:
        """Adds to `required` that loops run at least once: those that make the assignments `definitions`, which are read behind
        them.

        Calls in which such a loop does not run, so that the number has another type, run as plain Python. Nothing is added for a
        loop whose bounds are not known at the kernel's entry: it is supposed to run.

        definitions: the assignments that the read may see
        around: the loops around the read, for which nothing is added either
        """
        for definition in definitions:
            loops = self._loops_around.get(id(definition.stmt), ()) if isinstance(definition, Assigned) else ()
            for loop in (each for each in loops if isinstance(each, syntax.For)):
                known = all(self._at_entry(n) for bound in (loop.start, loop.stop) for n in traversal.nodes(bound))
                if known and loop not in around:
                    runs = syntax.Compare("<" if loop.step > 0 else ">", loop.start, loop.stop, loc=loop.loc)
                    what = "a loop that does not run and so leaves a number of another type"
                    self.required.setdefault(runs, syntax.Require(runs, what, loc=loop.loc))

    def _at_entry(self, node: syntax.Expr) -> bool:
        if isinstance(node, syntax.Shape):
            return node.array in self._params
        number = isinstance(node, syntax.Name) and node.name in self._params
        return number or isinstance(node, (syntax.Const, syntax.Binary, syntax.Unary))

    def no_common_type(self, name: str, loc: Loc | None) -> PolymlError:
        """Returns the error for a local number that no one type holds, with the types of its assignments."""
        called = f"`{source_name(name)}`"
        assignments = [a for a in self._assignments[name] if a.stmt.loc is not None]
        places = [f"{called} is {spelled(self._types[a])} by {a.stmt.loc}" for a in assignments]
        return PolymlTypeError(
            f"{called} has no one type that holds {spelled(self.types_of(name))}",
            loc=loc,
            notes=[*places, "accepted: a name for each type, or a conversion such as np.float64(x)"],
        )


def source_name(name: str) -> str:
    """Returns the name that a renamed local has in the kernel's text: x for x.1."""
    return name.partition(".")[0]
