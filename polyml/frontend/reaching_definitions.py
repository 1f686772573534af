"""Reaching definitions over structured statements: which assignments a read may see.

The effect of a statement on a name is (what it may assign, whether it always does), so a loop needs no iteration:
inside it, a name is what it was before or what the body may assign; after it the same, or only the latter
where the loop is known to run. (Aho, Lam, Sethi, Ullman, "Compilers", 9.2.4.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyml.frontend import syntax
from polyml.frontend.constant_folding import constant
from polyml.frontend.syntax import Stmt


@dataclass(frozen=True, eq=False)
class Unset:
    """An Unset is the definition of a name that has no value yet."""


@dataclass(frozen=True, eq=False)
class Argument:
    """An Argument is the definition that a parameter has at the start: the value that the caller passed."""

    param: syntax.Param


@dataclass(frozen=True, eq=False)
class Assigned:
    """An Assigned is the definition that an Assign to a Name makes, or an Alloc."""

    stmt: syntax.Assign | syntax.Alloc


@dataclass(frozen=True, eq=False)
class LoopVariable:
    """A LoopVariable is the definition that a loop makes of its variable.

    over: whether the loop is over; Python then still has the last value, and the language has none
    """

    loop: syntax.For
    over: bool


Definition = Unset | Argument | Assigned | LoopVariable
Reaching = Mapping[str, frozenset[Definition]]
_Effect = dict[str, tuple[frozenset[Definition], bool]]

UNSET = Unset()
_NOTHING = frozenset((UNSET,))


def reaching(state: Reaching, name: str) -> frozenset[Definition]:
    """Returns the definitions of `name` that a read may see; where none reaches it, one alone that says so, an Unset.

    state: the definitions that reach the place of the read, by name
    """
    return state.get(name, _NOTHING)


def runs(loop: syntax.For) -> bool:
    """Returns whether the loop is known to run at least once, since its bounds are constants."""
    start, stop = constant(loop.start), constant(loop.stop)
    return type(start) is int and type(stop) is int and bool(range(start, stop, loop.step))


class ReachingDefinitions:
    """A ReachingDefinitions analyses which definitions reach each place of a kernel; it has one object for each definition.

    start: the definitions at the start of the kernel's body
    loops_run: whether the analysis supposes that every loop runs at least once
    twin: an analysis of the same kernel with the other `loops_run`, whose objects for definitions this one uses too
    """

    def __init__(self, params: Sequence[syntax.Param], *, loops_run: bool = False, twin: ReachingDefinitions | None = None):
        self._loops_run = loops_run
        fresh = {param.name: frozenset((Argument(param),)) for param in params}
        self.start: Reaching = twin.start if twin else fresh
        self._assigned: dict[int, Assigned] = twin._assigned if twin else {}
        self._loop_variables: dict[tuple[int, bool], LoopVariable] = twin._loop_variables if twin else {}
        self._effects: dict[int, tuple[Stmt, _Effect]] = {}

    def after(self, stmt: Stmt, state: Reaching) -> Reaching:
        """Returns the definitions that reach the place behind `stmt`.

        state: the definitions that reach the place before it
        """
        return _apply(self._effect(stmt), state)

    def inside(self, loop: syntax.For, state: Reaching) -> Reaching:
        """Returns the definitions that reach the start of a loop's body, in any of its iterations.

        state: the definitions that reach the place before the loop
        """
        maybe = {name: (definitions, False) for name, (definitions, _) in self._body(loop.body).items()}
        return {**_apply(maybe, state), loop.var: frozenset((self.loop_variable(loop, over=False),))}

    def assigned(self, stmt: syntax.Assign | syntax.Alloc) -> Assigned:
        """Returns the definition that the statement makes of its target, always the same object for a statement."""
        return self._assigned.setdefault(id(stmt), Assigned(stmt))

    def loop_variable(self, loop: syntax.For, *, over: bool) -> LoopVariable:
        """Returns the definition that a loop makes of its variable.

        over: whether it is the definition that reaches the place behind the loop; else that inside the loop
        """
        return self._loop_variables.setdefault((id(loop), over), LoopVariable(loop, over))

    def _effect(self, stmt: Stmt) -> _Effect:
        if id(stmt) not in self._effects:
            self._effects[id(stmt)] = (stmt, self._compute(stmt))  # keeps `stmt`, and so its id, alive
        return self._effects[id(stmt)][1]

    def _compute(self, stmt: Stmt) -> _Effect:
        match stmt:
            case syntax.Assign(target=syntax.Name(name=name)) | syntax.Alloc(name=name):
                return {name: (frozenset((self.assigned(stmt),)), True)}
            case syntax.If():
                then, orelse = self._body(stmt.then), self._body(stmt.orelse)
                return {name: _either(then.get(name), orelse.get(name)) for name in {**then, **orelse}}
            case syntax.For():
                body, always = self._body(stmt.body), self._loops_run or runs(stmt)
                effect = {name: (definitions, must and always) for name, (definitions, must) in body.items()}
                return {**effect, stmt.var: (frozenset((self.loop_variable(stmt, over=True),)), always)}
        return {}

    def _body(self, body: Sequence[Stmt]) -> _Effect:
        total: _Effect = {}
        for stmt in body:
            for name, (definitions, must) in self._effect(stmt).items():
                before = total.get(name)
                if must or before is None:
                    total[name] = (definitions, must)
                else:
                    total[name] = (before[0] | definitions, before[1])
        return total


def _either(one, other):
    if one is None or other is None:
        definitions, _ = one or other
        return definitions, False
    return one[0] | other[0], one[1] and other[1]


def _apply(effect: _Effect, state: Reaching) -> Reaching:
    result = dict(state)
    for name, (definitions, must) in effect.items():
        result[name] = definitions if must else definitions | reaching(state, name)
    return result
