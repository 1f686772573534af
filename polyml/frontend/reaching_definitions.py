"""Reaching definitions over structured statements: which assignments a read may see.

The effect of a statement on a name is (what it may assign, whether it always does), so a loop needs no iteration:
inside it, a name is what it was before or what the body may assign; after it the same, or only the latter
where the loop is known to run. (Aho, Lam, Sethi, Ullman, "Compilers", 9.2.4.) A statement has one effect where control
reaches its end, and one for each Block that it may leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class _Outcome:
    """An _Outcome is what statements do on each way out of them.

    falls: the effect where control reaches their end; None where it never does
    leaves: the effect where control leaves the Block of a label, by the label
    """

    falls: _Effect | None
    leaves: Mapping[str, _Effect] = field(default_factory=dict)


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
        self._outcomes: dict[int, tuple[Stmt, _Outcome]] = {}

    def after(self, stmt: Stmt, state: Reaching) -> Reaching:
        """Returns the definitions that reach the place behind `stmt`; where that is never reached, those before it.

        state: the definitions that reach the place before it
        """
        return _apply(self._outcome(stmt).falls or {}, state)

    def inside(self, stmt: Stmt, state: Reaching) -> Reaching:
        """Returns the definitions that reach the start of a block inside a statement: of a loop's body in any of its iterations.

        state: the definitions that reach the place before the statement
        """
        if not isinstance(stmt, (syntax.For, syntax.While)):
            return state
        result = _apply(_maybe(self._body(stmt.body).falls), state)
        if isinstance(stmt, syntax.For):
            result = {**result, stmt.var: frozenset((self.loop_variable(stmt, over=False),))}
        return result

    def assigned(self, stmt: syntax.Assign | syntax.Alloc) -> Assigned:
        """Returns the definition that the statement makes of its target, always the same object for a statement."""
        return self._assigned.setdefault(id(stmt), Assigned(stmt))

    def loop_variable(self, loop: syntax.For, *, over: bool) -> LoopVariable:
        """Returns the definition that a loop makes of its variable.

        over: whether it is the definition that reaches the place behind the loop; else that inside the loop
        """
        return self._loop_variables.setdefault((id(loop), over), LoopVariable(loop, over))

    def _outcome(self, stmt: Stmt) -> _Outcome:
        if id(stmt) not in self._outcomes:
            self._outcomes[id(stmt)] = (stmt, self._compute(stmt))  # keeps `stmt`, and so its id, alive
        return self._outcomes[id(stmt)][1]

    def _compute(self, stmt: Stmt) -> _Outcome:
        match stmt:
            case syntax.Assign(target=syntax.Name(name=name)) | syntax.Alloc(name=name):
                return _Outcome({name: (frozenset((self.assigned(stmt),)), True)})
            case syntax.If():
                then, orelse = self._body(stmt.then), self._body(stmt.orelse)
                labels = dict.fromkeys((*then.leaves, *orelse.leaves))
                leaves = {label: _joined(then.leaves.get(label), orelse.leaves.get(label)) or {} for label in labels}
                return _Outcome(_joined(then.falls, orelse.falls), leaves)
            case syntax.For():
                return self._loop(self._body(stmt.body), runs(stmt), {stmt.var: self.loop_variable(stmt, over=True)})
            case syntax.While():
                endless = bool(constant(stmt.condition) is True)
                made = self._loop(self._body(stmt.body), endless, {})
                return _Outcome(None, made.leaves) if endless else made
            case syntax.Block():
                body = self._body(stmt.body)
                others = {label: effect for label, effect in body.leaves.items() if label != stmt.label}
                return _Outcome(_joined(body.falls, body.leaves.get(stmt.label)), others)
            case syntax.Leave():
                return _Outcome(None, {stmt.label: {}})
            case syntax.Raise():
                return _Outcome(None)
        return _Outcome({})

    def _loop(self, body: _Outcome, runs: bool, variable: Mapping[str, Definition]) -> _Outcome:
        """Returns what a loop does, given what its body does.

        runs: whether it is known to run at least once
        variable: its variable, where it has one, as it is after the loop
        """
        always, over = self._loops_run or runs, {name: frozenset((d,)) for name, d in variable.items()}
        through = {name: (definitions, must and always) for name, (definitions, must) in (body.falls or {}).items()}
        left = {name: (definitions, True) for name, definitions in over.items()}
        leaves = {label: {**_then(_maybe(body.falls), effect), **left} for label, effect in body.leaves.items()}
        falls = {**through, **{name: (definitions, always) for name, definitions in over.items()}}
        return _Outcome(None if body.falls is None and runs else falls, leaves)

    def _body(self, body: Sequence[Stmt]) -> _Outcome:
        total: _Effect = {}
        leaves: dict[str, _Effect] = {}
        for stmt in body:
            outcome = self._outcome(stmt)
            for label, effect in outcome.leaves.items():
                leaves[label] = _joined(leaves.get(label), _then(total, effect)) or {}
            if outcome.falls is None:
                return _Outcome(None, leaves)
            total = _then(total, outcome.falls)
        return _Outcome(total, leaves)


def _maybe(effect: _Effect | None) -> _Effect:
    """Returns the effect of statements that run any number of times, perhaps never."""
    return {name: (definitions, False) for name, (definitions, _) in (effect or {}).items()}


def _then(first: _Effect, second: _Effect) -> _Effect:
    """Returns the effect of one thing after another."""
    total = dict(first)
    for name, (definitions, must) in second.items():
        before = first.get(name)
        total[name] = (definitions, must) if must or before is None else (before[0] | definitions, before[1])
    return total


def _joined(one: _Effect | None, other: _Effect | None) -> _Effect | None:
    """Returns the effect where either of two happens; None stands for one that never does."""
    if one is None or other is None:
        return other if one is None else one
    return {name: _either(one.get(name), other.get(name)) for name in {**one, **other}}


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
