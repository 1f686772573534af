"""Exact questions about which iterations touch the same element, asked of the loops themselves.

The answers come from the loop bounds and subscripts of the program, so they hold for whatever schedule made it. Small systems of
integers answer most questions, isl the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Compare, Condition, Extremum, FloorDiv, Lin, var
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, SameNodes, Unroll
from polyml.codegen.presburger.loop_facts import FIRST, SECOND, SHARED, Fact, NotAffine, Sides, Systems, fact_text
from polyml.codegen.presburger.omega_test import Row, Shadow, System, at_least, bounds, equal, is_empty, shadow
from polyml.model.core.scop import Access, Scop
from polyml.polyhedra import BudgetExceeded, budget

QUESTION_OPERATIONS = 200_000  # isl operations for one pair of accesses: three times what PolyBench needs

Touch = tuple[Access, Instance]


def _simple(e: Lin) -> bool:
    """Whether no minimum or maximum hides inside a sum, as in where a remainder starts."""
    return all(isinstance(a, str) or (isinstance(a, FloorDiv) and _simple(a.operand)) for a, _ in e.terms) or (
        len(e.terms) == 1 and isinstance(e.terms[0][0], Extremum) and all(map(_simple, e.terms[0][0].operands))
    )


@dataclass(frozen=True)
class Range:
    """low <= var <= high for every bound. Bounds that isl would take long over are left out, which only assumes less."""

    var: str
    low: tuple[Lin, ...]
    high: tuple[Lin, ...]

    def facts(self, side: int = SHARED) -> list[Fact]:
        mine = (var(self.var), side)
        low = [Fact(">=", mine, (e, side)) for e in self.low if _simple(e)]
        return low + [Fact(">=", (e, side), mine) for e in self.high if _simple(e)]


def loop_range(loop: Loop) -> Range:
    return Range(loop.var, loop.lower, loop.upper)


Around = Loop | Guard  # what encloses a nest


def _facts_around(nodes: Iterable[Around]) -> tuple[Fact, ...]:
    """What the enclosing loops and guards say."""
    facts: list[Fact] = []
    for node in nodes:
        if isinstance(node, Loop):
            own = loop_range(node)
            facts += own.facts()
            if node.step > 1 and len(node.lower) == 1 and not node.last and _simple(node.lower[0]):
                facts.append(Fact("mod", (var(node.var), SHARED), (node.lower[0], SHARED), node.step))
            if node.last:
                facts += replace(own, var=node.last, low=()).facts()
            continue
        facts += [Fact(compare.op, (compare.expr, SHARED)) for compare in compares(node.condition)]
    return tuple(facts)


def compares(condition: Condition) -> list[Compare]:
    """Comparisons that a condition implies; alternatives are left out, which only assumes less."""
    if isinstance(condition, Compare):
        return [condition]
    return [c for p in condition.parts for c in compares(p)] if condition.op == "and" else []


def jam_range(jam: Jam | Unroll) -> Range:
    if isinstance(jam, Unroll):
        return Range(jam.var, (jam.base,), (jam.base + (jam.count - 1),))
    high = [jam.base + (jam.count * jam.lanes - 1)]
    return Range(jam.var, (jam.base,), tuple(high if jam.limit is None else [*high, jam.limit]))


class Differences:
    """{ [d0, d1, ...] }: by how much the variables of a chain of so many loops may differ.

    known: what is said of them. whole: the same with what it was found from. exact: the set itself, by isl, None where that would
    take too long.
    """

    def __init__(self, count: int, known: Shadow | None, whole: System | None, exact: Callable[[], isl.Set | None]):
        self._count, self._known, self._whole, self._ask = count, known, whole, exact
        self._bounds, is_box = ({}, False) if known is None or known.system is None else bounds(known.system)
        self._is_never = known is not None and known.system is None or any(map(_is_nothing, self._bounds.values()))
        self._is_box = is_box and known is not None and known.is_exact

    @cached_property
    def exact(self) -> isl.Set | None:
        return self._ask()

    def may_be(self, zero: Iterable[int] = (), moved: int | None = None) -> bool:
        """Whether all differences of these numbers may be 0, and the one with number `moved` may not be."""
        zero = frozenset(zero)
        if self._is_never or moved in zero or moved is not None and self._bounds.get(moved) == (0, 0):
            return False
        for low, high in [self._bounds[k] for k in zero if k in self._bounds]:
            if low is not None and low > 0 or high is not None and high < 0:
                return False
        if self._is_box:
            return True
        where = System(tuple(({k: 1}, 0) for k in zero))
        if moved is None:
            return self.allows(where)
        return self.allows(where & at_least({moved: 1}, -1)) or self.allows(where & at_least({moved: -1}, -1))

    def allows(self, where: System) -> bool:
        """Whether the differences may be such that the system of their numbers holds."""
        if self._known is not None:
            system = self._known.system
            is_not = system is None or self._is_never or is_empty(system & where)
            if is_not or is_not is False and self._known.is_exact:
                return not is_not
        if self._whole is not None and is_empty(self._whole & where) is False:
            return True
        exact = self.exact
        return exact is None or not exact.intersect(_isl_set(where, self._count)).is_empty()


def _is_nothing(bounds: tuple[int | None, int | None]) -> bool:
    low, high = bounds
    return low is not None and high is not None and low > high


def _isl_set(system: System, count: int) -> isl.Set:
    """{ [d0, d1, ...] : the system of the first so many numbers }"""
    rows = [("=", row) for row in system.equal] + [(">=", row) for row in system.least]
    texts = (" + ".join([*(f"{c}*d{k}" for k, c in terms.items()), str(constant)]) + f" {op} 0" for op, (terms, constant) in rows)
    return isl.Set(f"{{ [{', '.join(f'd{k}' for k in range(count))}] : {' and '.join(texts) or 'true'} }}")


@dataclass(frozen=True, eq=False)
class _Context:
    """Loops and guards around: what they say, as facts and as a system, and whether that says as much."""

    facts: tuple[Fact, ...]
    system: System
    is_complete: bool

    @classmethod
    def of(cls, nodes: Sequence[Around]) -> _Context:
        facts = _facts_around(nodes)
        systems = Systems(Sides())
        for fact in facts:
            systems.add(fact)
        return cls(facts, systems.system(), systems.is_complete)


class ConflictTest:
    """Tests on one SCoP's accesses."""

    def __init__(self, scop: Scop, table: AccessTable):
        self._table, self._parameters = table, scop.checked
        self._statements = scop.statements
        self._known: dict[tuple, Differences] = {}
        self._possible: dict[tuple, bool] = {}
        self._contexts: dict[SameNodes, _Context] = {}
        self._shadows: dict[tuple, System | None] = {}

    def subscripts(self, touch: Touch) -> tuple[Lin, ...]:
        """The touched element in terms of loop variables."""
        access, instance = touch
        iterators = dict(zip(self._statements[instance.statement].iterators, instance.point))
        return tuple(e.substitute(iterators) for e in self._table.subscripts(access))

    def deltas(
        self, a: Touch, b: Touch, shared: Sequence[Around], chain: Sequence[Range], inner: tuple, other_inner: tuple
    ) -> Differences:
        """{ [d...] }: by how much the chain's variables differ between two instances that touch one element.

        shared: the enclosing loops and guards, the same for both. inner, other_inner: the loops inside the chain around each
        touch.
        """
        x, y = self.subscripts(a), self.subscripts(b)
        uniform = _uniform(x, y, chain, (*inner, *other_inner))
        if uniform is not None:
            return uniform
        key = (x, y, self._context_of(shared), tuple(chain), inner, other_inner)
        if key not in self._known:
            around = ((FIRST, (*chain, *inner)), (SECOND, (*chain, *other_inner)))
            facts = [f for side, ranges in around for r in ranges for f in r.facts(side)]
            facts += [Fact("==", (e, FIRST), (f, SECOND)) for e, f in zip(x, y)]
            sides = Sides(*(tuple(r.var for r in ranges) for ranges in (chain, inner, other_inner)))
            self._known[key] = Differences(
                len(chain), *self._shadow(key[2], facts, sides, True), lambda: self._apart(key[2], facts, sides)
            )
        return self._known[key]

    def may_be_same(self, a: Touch, b: Touch, shared: Sequence[Around], loops: Sequence[Loop], others: Sequence[Loop]) -> bool:
        """Whether a, in any iteration of the loops, and b, in any of the others, may touch one element."""
        return self.deltas(a, b, shared, (), tuple(map(loop_range, loops)), tuple(map(loop_range, others))).may_be()

    def stays_within(self, touch: Touch, around: Sequence[Around], low: Sequence[Lin], lengths: Sequence[int | None]) -> bool:
        """Whether the first subscripts are always among so many indices from `low` on, dimension by dimension. None: of
        that dimension nothing is asked.
        """
        context = self._context_of(around)
        for e, first, length in zip(self.subscripts(touch), low, lengths):
            if length is None or e == first and length > 0:
                continue
            below, above = (first - 1, e), (e, first + length)
            outside = ([Fact(">=", (high, SHARED), (low, SHARED))] for high, low in (below, above))
            if any(self._is_possible(context, facts, Sides()) for facts in outside):
                return False
        return True

    def may_meet(
        self,
        a: Touch,
        b: Touch,
        path: Sequence[Around],
        loop: Loop,
        jams: Sequence[Jam | Unroll],
        other_jams: Sequence[Jam | Unroll],
    ) -> bool:
        """Whether a and b, each inside its jams, touch one element in any iterations of `loop`."""
        own = loop_range(loop)
        first, second = ((own, *map(jam_range, inside)) for inside in (jams, other_jams))
        facts = [f for side, ranges in ((FIRST, first), (SECOND, second)) for r in ranges for f in r.facts(side)]
        facts += [Fact("==", (e, FIRST), (f, SECOND)) for e, f in zip(self.subscripts(a), self.subscripts(b))]
        return self._is_possible(
            self._context_of(path), facts, Sides((), tuple(r.var for r in first), tuple(r.var for r in second))
        )

    def _is_possible(self, context: _Context, facts: Sequence[Fact], sides: Sides) -> bool:
        """Whether the facts may hold in some iteration there."""
        key = (context, tuple(facts), sides)
        if key not in self._possible:
            system, is_complete = self._system(context, facts, sides, False)
            is_impossible = system is None or is_empty(system)
            if is_impossible is None or not is_impossible and not is_complete:
                is_impossible = not self._is_possible_exactly(context, facts, sides)
            self._possible[key] = not is_impossible
        return self._possible[key]

    def _is_possible_exactly(self, context: _Context, facts: Sequence[Fact], sides: Sides) -> bool:
        renamed = sides.renamed()
        try:
            constraints = [fact_text(f, renamed) for f in (*context.facts, *facts)]
        except NotAffine:
            return True
        names = sorted(self._names(context, facts, sides)) + sorted({*renamed[FIRST].values(), *renamed[SECOND].values()})
        return not isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(constraints) or 'true'} }}").is_empty()

    def _names(self, context: _Context, facts: Sequence[Fact], sides: Sides) -> frozenset[str]:
        """What the facts name outside of the touches' own loops."""
        names = frozenset().union(*(f.names for f in (*context.facts, *facts)))
        return names.difference(sides.moving, sides.first, sides.second)

    def _apart(self, context: _Context, facts: Sequence[Fact], sides: Sides) -> isl.Set | None:
        """The differences by isl. None past the budget: one hard question must not use up that of all code."""
        _, first, second = renamed = sides.renamed()
        try:
            body = " and ".join(fact_text(f, renamed) for f in (*context.facts, *facts)) or "true"
        except NotAffine:
            return None
        exists = [first[name] for name in sides.first] + [second[name] for name in sides.second]
        if exists:
            body = f"exists {', '.join(exists)}: {body}"
        sources, sinks = (", ".join(side[name] for name in sides.moving) for side in (first, second))
        parameters = ", ".join(sorted(self._names(context, facts, sides)))
        try:
            with budget(QUESTION_OPERATIONS):
                meeting = isl.Map(f"[{parameters}] -> {{ [{sources}] -> [{sinks}] : {body} }}")
                return meeting.intersect_params(self._parameters).deltas()
        except BudgetExceeded:
            return None

    # -- systems -----------------------------------------------------------------------------------------------------

    def _context_of(self, around: Sequence[Around]) -> _Context:
        """What these loops and guards say, the same object each time."""
        key = SameNodes(around)
        if key not in self._contexts:
            self._contexts[key] = _Context.of(around)
        return self._contexts[key]

    def _shadow(
        self, context: _Context, facts: Sequence[Fact], sides: Sides, in_context: bool
    ) -> tuple[Shadow | None, System | None]:
        """What the facts say of the differences there, and all that they say where that is a system."""
        system, is_complete = self._system(context, facts, sides, in_context)
        if system is None:
            return Shadow(None), None
        found = shadow(system, frozenset(range(len(sides.moving))))
        if is_complete or found is None or found.system is None:
            return found, system if is_complete else None
        return replace(found, is_exact=False), None

    def _system(self, context: _Context, facts: Sequence[Fact], sides: Sides, in_context: bool) -> tuple[System | None, bool]:
        """(what the facts say there, None: nothing runs there; whether that is all they say)"""
        systems = Systems(sides)
        for fact in facts:
            systems.add(fact)
        system = systems.system()
        around = self._around(context, frozenset(name for terms, _ in (*system.equal, *system.least) for name in terms), in_context)
        is_complete = context.is_complete and systems.is_complete and not (in_context and self._limits is None)
        return None if around is None else around & system, is_complete

    def _around(self, context: _Context, names: frozenset, in_context: bool) -> System | None:
        """What holds there, as far as it is about these names. None: nothing runs there."""
        system = context.system
        if in_context and self._limits is not None:
            system &= self._limits
        mentioned = names & {name for terms, _ in (*system.equal, *system.least) for name in terms}
        known = (context, mentioned, in_context)
        if known not in self._shadows:
            found = shadow(system, mentioned)
            self._shadows[known] = found.system if found is not None and found.is_exact else system
        return self._shadows[known]

    @cached_property
    def _limits(self) -> System | None:
        """What is known of parameters, None where that is no system."""
        rows = polyhedra.rows(self._parameters)
        if rows is None:
            return None
        found: tuple[list[Row], list[Row]] = [], []
        for is_zero, terms, constant in rows:
            row: Row = {}, constant
            for name, c in terms.items():
                row[0][name] = c
            found[0 if is_zero else 1].append(row)
        return System(tuple(found[0]), tuple(found[1]))


def _uniform(x: tuple[Lin, ...], y: tuple[Lin, ...], chain: Sequence[Range], inner: tuple) -> Differences | None:
    """The differences of two subscripts that differ by constants alone, loop bounds aside but for constant lengths:
    quick, and rarely more. None where they do not.
    """
    private = {r.var for r in inner}
    moving = {r.var for r in chain}
    system = System()
    for e, f in zip(x, y):
        apart = e - f
        if not apart.is_const or e.names & private:
            return None
        if any(not isinstance(a, str) and a.names & moving for a, _ in e.terms):
            return None
        steps = {i: e.coefficient(r.var) for i, r in enumerate(chain)}
        system &= equal({i: step for i, step in steps.items() if step}, -apart.const)
    if len(x) < len(chain):  # else the subscripts alone mostly tell
        for i, r in enumerate(chain):
            fixed = [low for low in r.low if not low.names & moving]
            spans = [(high - low).const for low in fixed for high in r.high if (high - low).is_const]
            if spans:
                most = max(0, min(spans))
                system &= at_least({i: 1}, most) & at_least({i: -1}, most)
    return Differences(len(chain), Shadow(system), system, lambda: _isl_set(system, len(chain)))
