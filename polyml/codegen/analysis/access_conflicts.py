"""Exact tests of which iterations access the same element, made on the loops of a Program.

They use the finished loops' bounds and subscripts, so that they hold for any schedule. The Omega test decides most, isl the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, SameNodes, Unroll
from polyml.codegen.presburger.loop_facts import FIRST, SECOND, SHARED, Fact, NotAffine, Sides, Systems, fact_text
from polyml.codegen.presburger.omega_test import Row, Shadow, System, at_least, bounds, equal, is_empty, shadow
from polyml.model.core.scop import Access, Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.quasi_affine.affine import Affine, Compare, Condition, Extremum, FloorDiv, variable
from polyml.values import cached_property

TEST_OPERATIONS = 200_000  # isl operations for the test of one pair of accesses: three times what PolyBench needs

InstanceAccess = tuple[Access, Instance]


def _is_isl_term(e: Affine) -> bool:
    """Returns whether isl's syntax has the expression: there, a minimum or maximum can be all of it, but no term of a sum."""
    return all(isinstance(a, str) or (isinstance(a, FloorDiv) and _is_isl_term(a.operand)) for a, _ in e.terms) or (
        len(e.terms) == 1 and isinstance(e.terms[0][0], Extremum) and all(map(_is_isl_term, e.terms[0][0].operands))
    )


@dataclass(frozen=True)
class Range:
    """The values of a loop's variable: max(low) <= var <= min(high)."""

    var: str
    low: tuple[Affine, ...]
    high: tuple[Affine, ...]

    def facts(self, side: int = SHARED) -> list[Fact]:
        """Returns the bounds that isl can read, as constraints on an iteration: for the side FIRST or SECOND, that of the first or
        second of two accesses; for SHARED, one that both are in.
        """
        mine = (variable(self.var), side)
        low = [Fact(">=", mine, (e, side)) for e in self.low if _is_isl_term(e)]
        return low + [Fact(">=", (e, side), mine) for e in self.high if _is_isl_term(e)]


def loop_range(loop: Loop) -> Range:
    """Returns the range of the loop's variable, as if its step were 1."""
    return Range(loop.var, loop.lower, loop.upper)


@dataclass(frozen=True)
class RangedAccess:
    """An access of an instance, with the ranges of those loops around it that are not around the access it is compared to."""

    access: InstanceAccess
    ranges: tuple[Range, ...]


Enclosing = Loop | Guard  # a node around a nest


def _facts_around(nodes: Iterable[Enclosing]) -> tuple[Fact, ...]:
    """Returns the constraints that hold inside of the loops and guards."""
    facts: list[Fact] = []
    for node in nodes:
        if isinstance(node, Loop):
            own = loop_range(node)
            facts += own.facts()
            if node.step > 1 and len(node.lower) == 1 and not node.last and _is_isl_term(node.lower[0]):
                facts.append(Fact("mod", (variable(node.var), SHARED), (node.lower[0], SHARED), node.step))
            if node.last:
                facts += replace(own, var=node.last, low=()).facts()
            continue
        facts += [Fact(compare.op, (compare.expr, SHARED)) for compare in compares(node.condition)]
    return tuple(facts)


def compares(condition: Condition) -> list[Compare]:
    """Returns comparisons that all hold where the condition does; of a disjunction (`or`), none."""
    if isinstance(condition, Compare):
        return [condition]
    return [c for p in condition.parts for c in compares(p)] if condition.op == "and" else []


def jam_range(jam: Jam | Unroll) -> Range:
    """Returns the values that the variable of a Jam (a loop whose iterations run together) or of an unrolled loop has."""
    if isinstance(jam, Unroll):
        return Range(jam.var, (jam.base,), (jam.base + (jam.count - 1),))
    high = [jam.base + (jam.count * jam.lanes - 1)]
    return Range(jam.var, (jam.base,), tuple(high if jam.limit is None else [*high, jam.limit]))


class Differences:
    """A set { [d0, d1, ...] } of the distances, loop by loop, between two iterations that access the same element.

    count: the number of loops.
    known: constraints on the distances that hold for all of the set, found by the Omega test; None if it gave up.
    whole: the constraints on the two iterations from which `known` was found; None if they are not all that hold.
    exact: computes the set itself by isl; the result is None if isl takes too long.
    """

    def __init__(self, count: int, known: Shadow | None, whole: System | None, exact: Callable[[], isl.Set | None]):
        self._count, self._known, self._whole, self._ask = count, known, whole, exact
        self._bounds, is_box = ({}, False) if known is None or known.system is None else bounds(known.system)
        self._is_never = known is not None and known.system is None or any(map(_is_nothing, self._bounds.values()))
        self._is_box = is_box and known is not None and known.is_exact

    @cached_property
    def exact(self) -> isl.Set | None:
        """The set itself by isl, computed when it is first needed; None if isl takes too long."""
        return self._ask()

    def may_be(self, zero: Iterable[int] = (), moved: int | None = None) -> bool:
        """Returns whether the set has, or may have, a point with d[k] = 0 for all k in `zero`, and d[moved] != 0 (if given)."""
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
        """Returns False if it is proved that no point of the set satisfies the constraints `where` on d0, d1, ...; else True."""
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
    """Returns whether no integer lies within the bounds."""
    low, high = bounds
    return low is not None and high is not None and low > high


def _isl_set(system: System, count: int) -> isl.Set:
    """Returns { [d0, d1, ...] : constraints } as an isl set of `count` dimensions."""
    rows = [("=", row) for row in system.equal] + [(">=", row) for row in system.least]
    texts = (" + ".join([*(f"{c}*d{k}" for k, c in terms.items()), str(constant)]) + f" {op} 0" for op, (terms, constant) in rows)
    return isl.Set(f"{{ [{', '.join(f'd{k}' for k in range(count))}] : {' and '.join(texts) or 'true'} }}")


@dataclass(frozen=True, eq=False)
class _EnclosingFacts:
    """The constraints that hold inside of some loops and guards.

    facts: the constraints as they were written.
    system: the same as linear constraints over the integers.
    is_complete: no fact is missing from the system.
    """

    facts: tuple[Fact, ...]
    system: System
    is_complete: bool

    @classmethod
    def of(cls, nodes: Sequence[Enclosing]) -> _EnclosingFacts:
        """Returns the constraints that hold inside of all of the loops and guards."""
        facts = _facts_around(nodes)
        systems = Systems(Sides())
        for fact in facts:
            systems.add(fact)
        return cls(facts, systems.system(), systems.is_complete)


class ConflictTest:
    """A test of whether accesses of one SCoP's statements refer to the same element, which keeps its answers."""

    def __init__(self, scop: Scop, table: AccessTable):
        self._table, self._parameters = table, scop.checked
        self._statements = scop.statements
        self._known: dict[tuple, Differences] = {}
        self._possible: dict[tuple, bool] = {}
        self._contexts: dict[SameNodes, _EnclosingFacts] = {}
        self._shadows: dict[tuple, System | None] = {}

    def subscripts(self, instance_access: InstanceAccess) -> tuple[Affine, ...]:
        """Returns the subscripts of the accessed element in terms of loop variables and parameters."""
        access, instance = instance_access
        iterators = dict(zip(self._statements[instance.statement].iterators, instance.point))
        return tuple(e.substitute(iterators) for e in self._table.subscripts(access))

    def deltas(self, a: RangedAccess, b: RangedAccess, shared: Sequence[Enclosing], chain: Sequence[Range]) -> Differences:
        """Returns the distances, in a chain of loops, from an iteration where `a` accesses an element to one where `b` does so.

        a, b: the accesses, each with the ranges of the loops around it that are inside the chain.
        shared: the loops and guards around the chain, whose iteration is the same for both.
        chain: the ranges of the chain's loops, outermost first.
        """
        x, y = self.subscripts(a.access), self.subscripts(b.access)
        uniform = _uniform(x, y, chain, (*a.ranges, *b.ranges))
        if uniform is not None:
            return uniform
        key = (x, y, self._context_of(shared), tuple(chain), a.ranges, b.ranges)
        if key not in self._known:
            around = ((FIRST, (*chain, *a.ranges)), (SECOND, (*chain, *b.ranges)))
            facts = [f for side, ranges in around for r in ranges for f in r.facts(side)]
            facts += [Fact("==", (e, FIRST), (f, SECOND)) for e, f in zip(x, y)]
            sides = Sides(*(tuple(r.var for r in ranges) for ranges in (chain, a.ranges, b.ranges)))
            self._known[key] = Differences(
                len(chain), *self._shadow(key[2], facts, sides, True), lambda: self._exact_differences(key[2], facts, sides)
            )
        return self._known[key]

    def may_conflict_in(
        self, a: InstanceAccess, b: InstanceAccess, shared: Sequence[Enclosing], loops: Sequence[Loop], others: Sequence[Loop]
    ) -> bool:
        """Returns whether `a`, in any iteration of `loops`, and `b`, in any of `others`, may access the same element, in the same
        iteration of the loops and guards `shared` around them.
        """
        first, second = RangedAccess(a, tuple(map(loop_range, loops))), RangedAccess(b, tuple(map(loop_range, others)))
        return self.deltas(first, second, shared, ()).may_be()

    def is_within(
        self, accessed: InstanceAccess, around: Sequence[Enclosing], low: Sequence[Affine], lengths: Sequence[int | None]
    ) -> bool:
        """Returns whether low[d] <= subscript d < low[d] + lengths[d] in all iterations of the loops and guards `around`, for each
        d whose length is not None.
        """
        context = self._context_of(around)
        for e, first, length in zip(self.subscripts(accessed), low, lengths):
            if length is None or e == first and length > 0:
                continue
            below, above = (first - 1, e), (e, first + length)
            outside = ([Fact(">=", (high, SHARED), (low, SHARED))] for high, low in (below, above))
            if any(self._is_possible(context, facts, Sides()) for facts in outside):
                return False
        return True

    def may_conflict(self, a: RangedAccess, b: RangedAccess, path: Sequence[Enclosing], loop: Loop) -> bool:
        """Returns whether `a` and `b` may access the same element in any two iterations of `loop`, be they the same one or not.

        a, b: the accesses, each with the ranges of unrolled loops, and Jams (iterations that run together), around it in `loop`.
        path: the loops and guards around the loop, whose iteration is the same for both.
        """
        own = loop_range(loop)
        first, second = (own, *a.ranges), (own, *b.ranges)
        facts = [f for side, ranges in ((FIRST, first), (SECOND, second)) for r in ranges for f in r.facts(side)]
        facts += [Fact("==", (e, FIRST), (f, SECOND)) for e, f in zip(self.subscripts(a.access), self.subscripts(b.access))]
        return self._is_possible(
            self._context_of(path), facts, Sides((), tuple(r.var for r in first), tuple(r.var for r in second))
        )

    def _is_possible(self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides) -> bool:
        """Returns False if it is proved that no iterations of two accesses satisfy `facts` and `context` at once; else True."""
        key = (context, tuple(facts), sides)
        if key not in self._possible:
            system, is_complete = self._system(context, facts, sides, False)
            is_impossible = system is None or is_empty(system)
            if is_impossible is None or not is_impossible and not is_complete:
                is_impossible = not self._is_possible_exactly(context, facts, sides)
            self._possible[key] = not is_impossible
        return self._possible[key]

    def _is_possible_exactly(self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides) -> bool:
        """Returns, by isl, whether iterations of two accesses may satisfy `facts` and `context`; True if a fact is not affine."""
        renamed = sides.renamed()
        try:
            constraints = [fact_text(f, renamed) for f in (*context.facts, *facts)]
        except NotAffine:
            return True
        names = sorted(self._names(context, facts, sides)) + sorted({*renamed[FIRST].values(), *renamed[SECOND].values()})
        return not isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(constraints) or 'true'} }}").is_empty()

    def _names(self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides) -> frozenset[str]:
        """Returns the names in `facts` and `context` with one value for both accesses: parameters and outer loops' variables."""
        names = frozenset().union(*(f.names for f in (*context.facts, *facts)))
        return names.difference(sides.moving, sides.first, sides.second)

    def _exact_differences(self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides) -> isl.Set | None:
        """Returns, by isl, the set { [d0, d1, ...] } of the second access's iteration less the first one's, in the loops
        `sides.moving` around both. None if a fact is not affine or isl needs more than 200,000 operations.
        """
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
            with budget(TEST_OPERATIONS):
                meeting = isl.Map(f"[{parameters}] -> {{ [{sources}] -> [{sinks}] : {body} }}")
                return meeting.intersect_params(self._parameters).deltas()
        except BudgetExceeded:
            return None

    # -- systems -----------------------------------------------------------------------------------------------------

    def _context_of(self, around: Sequence[Enclosing]) -> _EnclosingFacts:
        """Returns the constraints that hold inside of the loops and guards; for the same nodes, they are the same object."""
        key = SameNodes(around)
        if key not in self._contexts:
            self._contexts[key] = _EnclosingFacts.of(around)
        return self._contexts[key]

    def _shadow(
        self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides, in_context: bool
    ) -> tuple[Shadow | None, System | None]:
        """Returns a pair. First, the constraints that follow from `facts` and `context` on d0, d1, ..., the differences of both
        accesses' iterations of the loops `sides.moving`; None if the Omega test gives up. Second, the constraints on the iterations
        themselves; None if they have no solution or do not include every fact. in_context: as for `_system`.
        """
        system, is_complete = self._system(context, facts, sides, in_context)
        if system is None:
            return Shadow(None), None
        found = shadow(system, frozenset(range(len(sides.moving))))
        if is_complete or found is None or found.system is None:
            return found, system if is_complete else None
        return replace(found, is_exact=False), None

    def _system(
        self, context: _EnclosingFacts, facts: Sequence[Fact], sides: Sides, in_context: bool
    ) -> tuple[System | None, bool]:
        """Returns (system, is_complete). The system has `facts` and what holds in the loops around (`context`) as linear
        constraints; it is None if they have no solution. is_complete: whether nothing was left out as not linear.

        in_context: whether the SCoP's constraints on its parameters are part of the system too.
        """
        systems = Systems(sides)
        for fact in facts:
            systems.add(fact)
        system = systems.system()
        around = self._around(context, frozenset(name for terms, _ in (*system.equal, *system.least) for name in terms), in_context)
        is_complete = context.is_complete and systems.is_complete and not (in_context and self._limits is None)
        return None if around is None else around & system, is_complete

    def _around(self, context: _EnclosingFacts, names: frozenset, in_context: bool) -> System | None:
        """Returns the constraints of `context`, with the SCoP's on its parameters if `in_context`; None if no integers satisfy
        them. Names other than the given ones are eliminated if this is exact.
        """
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
        """The constraints of the SCoP on its parameters as a system; None if they are not a conjunction of linear constraints."""
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


def _uniform(x: tuple[Affine, ...], y: tuple[Affine, ...], chain: Sequence[Range], inner: tuple) -> Differences | None:
    """Returns the distances between iterations that access one element by the subscripts x and y. None unless x and y differ by
    constants alone (uniformly generated), are linear in the chain's variables and have none of loops inside it (`inner`). Bounds
    count only for loops of constant length: this is quick, and rarely makes the set larger than the exact one.
    """
    private = {r.var for r in inner}
    moving = {r.var for r in chain}
    system = System()
    for e, f in zip(x, y):
        difference = e - f
        if not difference.is_constant or e.names & private:
            return None
        if any(not isinstance(a, str) and a.names & moving for a, _ in e.terms):
            return None
        steps = {i: e.coefficient(r.var) for i, r in enumerate(chain)}
        system &= equal({i: step for i, step in steps.items() if step}, -difference.constant)
    if len(x) < len(chain):  # otherwise the subscripts alone mostly decide
        for i, r in enumerate(chain):
            fixed = [low for low in r.low if not low.names & moving]
            spans = [(high - low).constant for low in fixed for high in r.high if (high - low).is_constant]
            if spans:
                most = max(0, min(spans))
                system &= at_least({i: 1}, most) & at_least({i: -1}, most)
    return Differences(len(chain), Shadow(system), system, lambda: _isl_set(system, len(chain)))
