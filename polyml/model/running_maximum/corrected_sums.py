"""Sums that a maximum goes through: m = max of x over a row, then sums over the row of terms t(x, m), times other things.

    for i, j: m[i] = max(m[i], x[i, j])
    for i, j: e[i, j] = exp(x[i, j] - m[i])
    for i, j: l[i] += e[i, j]
    for i, j: e[i, j] = e[i, j] / l[i]            (or behind the sums, or not at all)
    for i, j, k: O[i, k] += e[i, j] * V[j, k]

They are recognised by what statements read, and whose value it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import children, subvalues
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Index, Load, Role, Scop, Statement, Value
from polyml.model.running_maximum.correction_rules import RULES, CorrectionRule
from polyml.model.running_maximum.roles import Member, Scale, form, of_reduction, reading_maximum, reading_terms, row_scale

MAXIMA = ("max", "maximum", "fmax")


@dataclass(frozen=True)
class Sum(Member):
    """A sum over columns of terms, times other things.

    accumulator: the position of the read of what is added to, among its reads.
    scale: by what a row's terms are divided before they are added, or None.
    bare: whether it adds up the terms alone.
    value: what is added, before it is scaled.
    maximum: the position of the read of the maximum, where the terms stand in the sum itself; else None.
    """

    accumulator: int = 0
    scale: Scale | None = None
    bare: bool = False
    value: Value = field(default_factory=lambda: syntax.Const(0.0))
    maximum: int | None = None


@dataclass(frozen=True)
class CorrectedSums:
    """A maximum, the terms that depend on it, and the sums of these.

    maximum: m[i] = max(m[i], x[i, j]), where `accumulator` is the position of its read of m.
    terms: the statement e[i, j] = t(x[i, j], m[i]); None where the sums have the terms in them.
    scaling: the statement that divides terms by their sum, or None.
    total: the sum of the terms alone.
    sums: the others.
    """

    rule: CorrectionRule
    maximum: Member
    accumulator: int
    terms: Member | None
    scaling: Statement | None
    total: Sum
    sums: tuple[Sum, ...]

    @property
    def names(self) -> set[str]:
        scaling = () if self.scaling is None else (self.scaling,)
        members = (self.maximum, *([] if self.terms is None else [self.terms]), self.total, *self.sums)
        return {statement.name for statement in (*(m.statement for m in members), *scaling)}


def corrected_sums(scop: Scop, found: Dependences, free: Mapping[str, Reduction]) -> Iterator[CorrectedSums]:
    """Yields the maxima of which sums of terms are made. free: by statement, the updates whose order is free."""
    for reduction in free.values():
        array = scop.arrays[reduction.array]
        if reduction.operator in MAXIMA and array.element.is_float:
            made = _Search(scop, found, free).around(reduction)
            if made is not None:
                yield made


@dataclass
class _Search:
    """The search for the sums that belong to one maximum."""

    scop: Scop
    found: Dependences
    free: Mapping[str, Reduction]
    _flows: dict[str, set[tuple[str, str]]] = field(default_factory=dict)  # by array: who wrote what whom reads

    def around(self, reduction: Reduction) -> CorrectedSums | None:
        maximum = of_reduction(self.scop.statements[reduction.statement])
        if maximum is None or maximum.others:
            return None
        terms = [made for s in self.scop.statements.values() if (made := self._terms(s, maximum, reduction)) is not None]
        if len(terms) > 1:
            return None
        group = self._of_terms(maximum, reduction, *terms[0]) if terms else self._with_terms_inside(maximum, reduction)
        return group if group is not None and self._is_whole(group) and self._in_order(group) else None

    def _of_terms(self, maximum: Member, reduction: Reduction, rule: CorrectionRule, term: Member) -> CorrectedSums | None:
        """Returns the sums of the terms that a statement writes."""
        users = [self.scop.statements[name] for name in self._readers(term.statement)]
        scaled = [s for s in users if self._scale_of(s, term) is not None]
        scaling = scaled[0] if len(scaled) == 1 else None
        sums = [self._sum(user, term, term.statement) for user in users if user is not scaling]
        if scaling is not None:
            scale = self._scale_of(scaling, term)
            sums += [self._sum(self.scop.statements[name], term, scaling, scale) for name in self._readers(scaling)]
        return _grouped(rule, maximum, reduction, term, scaling, sums)

    def _with_terms_inside(self, maximum: Member, reduction: Reduction) -> CorrectedSums | None:
        """Returns the sums that have the terms in them."""
        found = [self._sum_with_terms(s, maximum, reduction) for s in self.scop.statements.values() if s.name in self.free]
        made = [each for each in found if each is not None]
        rules = [rule for rule, _ in made]
        return _grouped(rules[0], maximum, reduction, None, None, [s for _, s in made]) if len({*rules}) == 1 else None

    def _is_whole(self, group: CorrectedSums) -> bool:
        """Returns whether the sums take nothing else from the group than terms, and from the maximum nothing but the last one."""
        written = {s.write.array for s in (self.scop.statements[name] for name in group.names)}
        for each in (group.total, *group.sums):
            own = {part.access for part in subvalues(each.value) if isinstance(part, Load)}
            source = set() if group.terms is None else {group.terms.statement.write.array}
            source |= set() if group.scaling is None else {group.scaling.write.array}
            taken = {a.array for k, a in enumerate(each.statement.reads) if k in own and k != each.maximum}
            if taken & written - source:
                return False
        before = self._writers(group.maximum.statement, group.maximum.statement.write.array)
        users = [group.total, *group.sums] if group.terms is None else [group.terms]
        return all(self._writers(m.statement, group.maximum.statement.write.array) <= before for m in users)

    def _readers(self, statement: Statement) -> list[str]:
        """Returns the statements that read what a statement writes, itself left out."""
        return [name for name in self._sinks(statement.name) if name != statement.name]

    def _sinks(self, name: str) -> list[str]:
        """Returns the statements that read what the statement of this name writes."""
        array = self.scop.statements[name].write.array
        if array not in self._flows:
            flows = polyhedra.pieces(self.found.value_flow_through(array))
            self._flows[array] = {(polyhedra.domain_name(pairs), polyhedra.range_name(pairs)) for pairs in flows}
        return [sink for sink in self.scop.statements if (name, sink) in self._flows[array]]

    def _writers(self, statement: Statement, array: str) -> set[str]:
        """Returns the statements whose values a statement reads from an array."""
        return {s.name for s in self.scop.statements.values() if s.write.array == array and statement.name in self._sinks(s.name)}

    def _terms(self, statement: Statement, maximum: Member, reduction: Reduction) -> tuple[CorrectionRule, Member] | None:
        """Returns the rule and the roles where a statement writes terms t(x, m) of the maximum's x, one for each of its instances."""
        array = self.scop.arrays[statement.write.array]
        results = {result.array for result in self.scop.results}
        if statement.write.may or array.role is not Role.LOCAL or array.name in results:
            return None
        found = self._term(statement, statement.value, maximum, reduction)
        if found is None or found[1].others:
            return None
        places = found[1].places(statement.write) or ()
        return found if sorted(places) == sorted([*(("row", k) for k in range(len(maximum.rows))), ("column", 0)]) else None

    def _term(
        self, statement: Statement, value: Value, maximum: Member, reduction: Reduction
    ) -> tuple[CorrectionRule, Member] | None:
        """Returns the rule and the roles where a value of a statement is a term t(x, m) of the maximum's x."""
        made = next(((rule, pair) for rule in RULES if (pair := rule.operands(value)) is not None), None)
        best = [k for k, a in enumerate(statement.reads) if a.array == reduction.array]
        x = _operand(maximum.statement.value, reduction.access)
        if made is None or len(best) != 1 or x is None:
            return None
        rule, (own, m) = made
        if not (isinstance(m, Load) and m.access == best[0]):
            return None
        for here in reading_maximum(statement, statement.reads[best[0]], maximum):
            own_form = form(own, here)
            if own_form is not None and own_form == form(x, maximum) and self._same_sources(maximum.statement, statement, x):
                return rule, here
        return None

    def _same_sources(self, one: Statement, other: Statement, x: Value) -> bool:
        """Returns whether two statements read the same values of the arrays that the value x of the first one reads."""
        arrays = {one.reads[part.access].array for part in subvalues(x) if isinstance(part, Load)}
        return all(self._writers(one, array) == self._writers(other, array) for array in arrays)

    def _scale_of(self, statement: Statement, term: Member) -> Scale | None:
        """Returns by what a statement divides each term, one instance for each, as in a `Sum`; None where it does something else."""
        value = statement.value
        results = {result.array for result in self.scop.results}
        if not (isinstance(value, syntax.Binary) and value.op == "/" and isinstance(value.left, Load)) or statement.write.may:
            return None
        if self.scop.arrays[statement.write.array].role is not Role.LOCAL or statement.write.array in results:
            return None
        here = reading_terms(statement, statement.reads[value.left.access], term)
        if here is None or here.others or here.places(statement.write) != term.places(term.statement.write):
            return None
        if self._writers(statement, term.statement.write.array) != {term.statement.name}:
            return None
        return row_scale(value.op, value.right, here)

    def _sum(self, statement: Statement, term: Member, source: Statement, scale: Scale | None = None) -> Sum | None:
        """Returns the roles of a statement that adds up terms, times other things, over the columns; None where it is none.

        source: the statement whose terms it reads. scale: by what these have been divided.
        """
        reduction = self.free.get(statement.name)
        reads = [k for k, a in enumerate(statement.reads) if a.array == source.write.array]
        if reduction is None or reduction.operator != "+" or len(reads) != 1 or statement.write.may:
            return None
        if self._writers(statement, source.write.array) != {source.name}:
            return None
        here = reading_terms(statement, statement.reads[reads[0]], term)
        if here is None:
            return None
        made = self._added(here, reduction, lambda value: isinstance(value, Load) and value.access == reads[0])
        if made is None or made.scale is not None and scale is not None:
            return None
        return replace(made, scale=made.scale or scale)

    def _sum_with_terms(self, statement: Statement, maximum: Member, reduction: Reduction) -> tuple[CorrectionRule, Sum] | None:
        """Returns the rule and the roles of a sum that has the terms in it."""
        own = self.free[statement.name]
        if own.operator != "+" or statement.write.may:
            return None
        found = [
            made for part in subvalues(statement.value) if (made := self._term(statement, part, maximum, reduction)) is not None
        ]
        if len(found) != 1:
            return None
        rule, term = found[0]
        best = next(k for k, a in enumerate(statement.reads) if a.array == reduction.array)
        added = self._added(term, own, lambda value: self._term(statement, value, maximum, reduction) is not None)
        return None if added is None else (rule, replace(added, maximum=best))

    def _added(self, here: Member, reduction: Reduction, is_term: Callable[[Value], bool]) -> Sum | None:
        """Returns the roles of a statement that adds up terms, times other things, over the columns; None where it is none."""
        statement = here.statement
        added = _operand(statement.value, reduction.access)
        if added is None or any(isinstance(part, Index) for part in subvalues(added)):
            return None
        if not polyhedra.tells_apart(statement.write.relation.intersect_domain(statement.domain), here.column):
            return None
        made = _linear(added, is_term, here)
        if made is None or not self._begins(statement, reduction):
            return None
        bare = is_term(made[0]) and not here.others and here.places(statement.write) is not None
        return Sum(statement, here.rows, here.column, reduction.access, made[1], bare, made[0])

    def _begins(self, statement: Statement, reduction: Reduction) -> bool:
        """Returns whether all that a sum adds to begins as zero, by one statement."""
        writers = self._writers(statement, reduction.array) - {statement.name}
        if len(writers) != 1:
            return False
        first = self.scop.statements[writers.pop()]
        flow = self.found.value_flow_through(reduction.array)
        covered = [polyhedra.extract_map(flow, s.domain, statement.domain).range() for s in (first, statement)]
        rest = statement.domain.subtract(covered[0]).subtract(covered[1])
        return isinstance(first.value, syntax.Const) and first.value.value == 0 and rest.is_empty()

    def _in_order(self, group: CorrectedSums) -> bool:
        """Returns whether all of each step of the group comes before the next one, as far as it depends on it."""
        scaling = [] if group.scaling is None else [group.scaling.name]
        scaled = [s.statement.name for s in group.sums if s.scale is not None]
        plain = [s.statement.name for s in group.sums if s.scale is None]
        steps = [
            [group.maximum.statement.name],
            [] if group.terms is None else [group.terms.statement.name],
            [group.total.statement.name, *plain],
            scaling,
            scaled,
        ]
        for k, later in enumerate(steps):
            for earlier in steps[:k]:
                for one in later:
                    for other in earlier:
                        sets = (self.scop.statements[one].domain, self.scop.statements[other].domain)
                        if not polyhedra.extract_map(self.found.validity, *sets).is_empty():
                            return False
        return True


def _operand(value: Value, accumulator: int) -> Value | None:
    """Returns what an update takes besides the accumulator, where it is one operation on both; else None."""
    operands = children(value)
    is_update = isinstance(value, syntax.Binary) or isinstance(value, syntax.Call) and len(operands) == 2
    if not is_update or isinstance(value, syntax.Binary) and value.op == "-":
        return None
    others = [part for part in operands if not (isinstance(part, Load) and part.access == accumulator)]
    return others[0] if len(others) == 1 else None


def _linear(value: Value, is_term: Callable[[Value], bool], member: Member) -> tuple[Value, Scale | None] | None:
    """Returns a product with a term, without the number of the row that it is divided by, and that number as in a `Sum`; None for
    a value that is no such product.
    """
    if is_term(value):
        return value, None
    if not (isinstance(value, syntax.Binary) and value.op in ("*", "/")) or not value.dtype.is_float:
        return None
    left, right = (any(map(is_term, subvalues(part))) for part in (value.left, value.right))
    if left == right or right and value.op == "/":
        return None
    made = _linear(value.left if left else value.right, is_term, member)
    if made is None:
        return None
    inner, scale = made
    other = value.right if left else value.left
    own = row_scale("/", other, member) if value.op == "/" else None
    if own is not None:
        return (inner, own) if scale is None else None
    kept = (inner, other) if left else (other, inner)
    return syntax.Binary(value.op, *kept, dtype=value.dtype, loc=value.loc), scale


def _grouped(
    rule: CorrectionRule,
    maximum: Member,
    reduction: Reduction,
    term: Member | None,
    scaling: Statement | None,
    sums: Sequence[Sum | None],
) -> CorrectedSums | None:
    """Returns sums of terms as a group; None where one is no such sum, or not exactly one adds up the terms alone."""
    made = [each for each in sums if each is not None]
    totals = [s for s in made if s.bare and s.scale is None]
    if len(made) < len(sums) or len(totals) != 1:
        return None
    others = tuple(s for s in made if s is not totals[0])
    if any(s.scale is not None and s.scale[1] != totals[0].statement.write.array for s in others):
        return None
    return CorrectedSums(rule, maximum, reduction.access, term, scaling, totals[0], others)
