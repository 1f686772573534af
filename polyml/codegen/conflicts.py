"""Exact questions about which iterations touch the same element, asked of the loops themselves.

The answers come from the loop bounds and subscripts of the program, so they hold for whatever schedule made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml.codegen.accesses import AccessTable
from polyml.codegen.ast import Guard, Instance, Jam, Loop, Unroll
from polyml.codegen.integers import Compare, Condition, Extremum, FloorDiv, Lin, var
from polyml.model.scop import Access, Scop
from polyml.polyhedra import BudgetExceeded, budget

QUESTION_OPERATIONS = 200_000  # isl operations for one pair of accesses: three times what PolyBench needs

Touch = tuple[Access, Instance]


class NotAffine(Exception):
    """An expression that isl text cannot state."""


def isl_text(e: Lin, rename: Mapping[str, str]) -> str:
    """e in isl's syntax, names replaced."""
    parts = [f"{c}*{_atom_text(a, rename)}" for a, c in e.terms]
    return " + ".join([*parts, str(e.const)])


def _atom_text(atom, rename: Mapping[str, str]) -> str:
    if isinstance(atom, str):
        return rename.get(atom, atom)
    if isinstance(atom, FloorDiv):
        return f"floor(({isl_text(atom.operand, rename)})/{atom.divisor})"
    if isinstance(atom, Extremum):
        inner = isl_text(atom.operands[0], rename)
        for operand in atom.operands[1:]:
            inner = f"{atom.op}({inner}, {isl_text(operand, rename)})"
        return f"({inner})"
    raise NotAffine


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

    def constraints(self, rename: Mapping[str, str]) -> list[str]:
        name = rename.get(self.var, self.var)
        return [f"{isl_text(e, rename)} <= {name}" for e in self.low if _simple(e)] + [
            f"{name} <= {isl_text(e, rename)}" for e in self.high if _simple(e)
        ]


def loop_range(loop: Loop) -> Range:
    return Range(loop.var, loop.lower, loop.upper)


Around = Loop | Guard  # what encloses a nest


def _around(nodes: Iterable[Around]) -> tuple[list[str], set[str]]:
    """What the enclosing loops and guards say, and the names they say it of."""
    constraints: list[str] = []
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, Loop):
            bounds = loop_range(node)
            constraints += bounds.constraints({})
            if node.step > 1 and len(node.lower) == 1 and not node.last and _simple(node.lower[0]):
                constraints.append(f"({isl_text(var(node.var) - node.lower[0], {})}) mod {node.step} = 0")
            names |= {node.var}.union(*(e.names for e in (*bounds.low, *bounds.high)))
            if node.last:
                constraints += replace(bounds, var=node.last, low=()).constraints({})
                names.add(node.last)
            continue
        for compare in compares(node.condition):
            constraints.append(f"{isl_text(compare.expr, {})} {'>=' if compare.op == '>=' else '='} 0")
            names |= compare.names
    return constraints, names


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


class ConflictTest:
    """Tests on one SCoP's accesses."""

    def __init__(self, scop: Scop, table: AccessTable):
        self._table, self._context = table, scop.checked
        self._statements = scop.statements
        self._known: dict[str, isl.Set | None] = {}
        self._meets: dict[str, bool] = {}

    def subscripts(self, touch: Touch) -> tuple[Lin, ...]:
        """The touched element in terms of loop variables."""
        access, instance = touch
        iterators = dict(zip(self._statements[instance.statement].iterators, instance.point))
        return tuple(e.substitute(iterators) for e in self._table.subscripts(access))

    def deltas(
        self, a: Touch, b: Touch, shared: Sequence[Around], chain: Sequence[Range], inner: tuple, other_inner: tuple
    ) -> isl.Set | None:
        """{ [d...] }: by how much the chain's variables differ between two instances that touch one element.

        shared: the enclosing loops and guards, the same for both. inner, other_inner: the loops inside the chain around each touch.
        None: it cannot be stated, so any difference must be assumed.
        """
        uniform = self._uniform(self.subscripts(a), self.subscripts(b), chain, (*inner, *other_inner))
        if uniform is not None:
            return uniform
        first = {r.var: f"{r.var}_1" for r in (*chain, *inner)}
        second = {r.var: f"{r.var}_2" for r in (*chain, *other_inner)}
        try:
            constraints, names = _around(shared)
            for rename, ranges in ((first, (*chain, *inner)), (second, (*chain, *other_inner))):
                constraints += [c for r in ranges for c in r.constraints(rename)]
            x, y = self.subscripts(a), self.subscripts(b)
            constraints += [f"{isl_text(e, first)} = {isl_text(f, second)}" for e, f in zip(x, y)]
        except NotAffine:
            return None
        names |= {n for c in (*x, *y) for n in c.names}
        for r in (*chain, *inner, *other_inner):
            names |= {n for e in (*r.low, *r.high) for n in e.names}
        private = {r.var for r in (*chain, *inner, *other_inner)}
        parameters = sorted(names - private)
        exists = [first[r.var] for r in inner] + [second[r.var] for r in other_inner]
        sources, sinks = [first[r.var] for r in chain], [second[r.var] for r in chain]
        body = " and ".join(constraints) or "true"
        if exists:
            body = f"exists {', '.join(exists)}: {body}"
        text = f"[{', '.join(parameters)}] -> {{ [{', '.join(sources)}] -> [{', '.join(sinks)}] : {body} }}"
        if text not in self._known:
            self._known[text] = self._apart(text)
        return self._known[text]

    def may_be_same(self, a: Touch, b: Touch, shared: Sequence[Around], loops: Sequence[Loop], others: Sequence[Loop]) -> bool:
        """Whether a, in any iteration of the loops, and b, in any of the others, may touch one element."""
        apart = self.deltas(a, b, shared, (), tuple(map(loop_range, loops)), tuple(map(loop_range, others)))
        return apart is None or not apart.is_empty()

    def _apart(self, meeting: str) -> isl.Set | None:
        """The differences of a map's ends. None past the budget: one hard question must not use up that of all code."""
        try:
            with budget(QUESTION_OPERATIONS):
                return isl.Map(meeting).intersect_params(self._context).deltas()
        except BudgetExceeded:
            return None

    def _uniform(self, x: tuple[Lin, ...], y: tuple[Lin, ...], chain: Sequence[Range], inner: tuple) -> isl.Set | None:
        """The differences of two subscripts that differ by constants alone, loop bounds aside but for constant lengths:
        quick, and rarely more. None where they do not.
        """
        private = {r.var for r in inner}
        moving = {r.var for r in chain}
        equations = []
        for e, f in zip(x, y):
            apart = e - f
            if not apart.is_const or e.names & private:
                return None
            if any(not isinstance(a, str) and a.names & moving for a, _ in e.terms):
                return None
            steps = [f"{e.coefficient(r.var)}*d{i}" for i, r in enumerate(chain)]
            equations.append(f"{' + '.join([*steps, '0'])} = {apart.const}")
        if len(x) < len(chain):  # else the subscripts alone mostly tell
            for i, r in enumerate(chain):
                fixed = [low for low in r.low if not low.names & moving]
                spans = [(high - low).const for low in fixed for high in r.high if (high - low).is_const]
                if spans:
                    equations.append(f"-{max(0, min(spans))} <= d{i} <= {max(0, min(spans))}")
        text = f"{{ [{', '.join(f'd{i}' for i in range(len(chain)))}] : {' and '.join(equations) or 'true'} }}"
        if text not in self._known:
            self._known[text] = isl.Set(text)
        return self._known[text]

    def stays_within(
        self, touch: Touch, around: Sequence[Around], low: Sequence[Lin], lengths: Sequence[int | None]
    ) -> bool:
        """Whether the first subscripts are always among so many indices from `low` on, dimension by dimension. None: of
        that dimension nothing is asked.
        """
        asked = [k for k, length in enumerate(lengths) if length is not None]
        if not asked:
            return True
        subscripts, low, lengths = ([side[k] for k in asked] for side in (self.subscripts(touch), low, lengths))
        try:
            constraints, names = _around(around)
            outside = [
                f"{isl_text(e - first, {})} < 0 or {isl_text(e - first, {})} >= {length}"
                for e, first, length in zip(subscripts, low, lengths)
            ]
        except NotAffine:
            return False
        names |= {n for e in (*subscripts, *low) for n in e.names}
        text = f"{{ [{', '.join(sorted(names))}] : {' and '.join([*constraints, '(' + ' or '.join(outside) + ')'])} }}"
        if text not in self._meets:
            self._meets[text] = not isl.Set(text).is_empty()
        return not self._meets[text]

    def may_meet(
        self, a: Touch, b: Touch, path: Sequence[Around], loop: Loop, jams: Sequence[Jam | Unroll], other_jams: Sequence[Jam | Unroll]
    ) -> bool:
        """Whether a and b, each inside its jams, touch one element in any iterations of `loop`."""
        first = {loop.var: f"{loop.var}_1", **{j.var: f"{j.var}_1" for j in jams}}
        second = {loop.var: f"{loop.var}_2", **{j.var: f"{j.var}_2" for j in other_jams}}
        try:
            constraints, names = _around(path)
            bounds = loop_range(loop)
            for rename, inside in ((first, jams), (second, other_jams)):
                constraints += bounds.constraints(rename)
                constraints += [c for j in inside for c in jam_range(j).constraints(rename)]
            x, y = self.subscripts(a), self.subscripts(b)
            constraints += [f"{isl_text(e, first)} = {isl_text(f, second)}" for e, f in zip(x, y)]
        except NotAffine:
            return True
        names |= {n for e in (*x, *y, *bounds.low, *bounds.high) for n in e.names}
        names |= {n for j in (*jams, *other_jams) for r in [jam_range(j)] for e in (*r.low, *r.high) for n in e.names}
        every = sorted(names - first.keys() - second.keys()) + sorted({*first.values(), *second.values()})
        text = f"{{ [{', '.join(every)}] : {' and '.join(constraints) or 'true'} }}"
        if text not in self._meets:
            self._meets[text] = not isl.Set(text).is_empty()
        return self._meets[text]
