"""Sums whose result a mask throws away do not run.

    for i, j: S[i, j] = 0                                 for i, j, j < 64*(i//64 + 1): S[i, j] = 0
    for i, j, k: S[i, j] += Q[i, k]*K[j, k]         ->    for i, j, k, j < 64*(i//64 + 1): S[i, j] += Q[i, k]*K[j, k]
    for i, j: S[i, j] = S[i, j] if j <= i else c          for i, j: S[i, j] = S[i, j] if j <= i else c

The select needs no element with j > i, and what it writes is what all others read. An update of an element whose value reaches no
read is dead, so that no bit of a result changes. (Value-based dataflow: Feautrier, "Dataflow analysis of array and scalar
references", IJPP 1991.) Instances are left out by whole blocks of rows, inside of which loops keep straight bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.evaluation import may_raise
from polyml.model.core.nest import children
from polyml.model.core.scop import Access, Index, Load, Role, Scop, Statement, Value
from polyml.model.scop_passes.scalar_expansion import uses

BLOCK = 64  # rows that keep the same columns
OPERATIONS = 200_000  # of isl, after which an array keeps all of its updates
_FARTHEST = 2**32  # of a constant that is added to an index: their sum fits 64 bits
_COMPARED = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}


def without_masked_updates(scop: Scop) -> Scop:
    """Returns the SCoP in which sums run only for elements that affine masks let through."""
    results = {result.array for result in scop.results}
    summed = dict.fromkeys(s.write.array for s in scop.statements.values() if _is_sum(s))
    for array in summed:
        if scop.arrays[array].role is Role.LOCAL and array not in results:
            found = _Users.of(scop, array)
            if found.have_masks():
                try:
                    with polyhedra.budget(OPERATIONS):
                        scop = _masked(scop, found)
                except polyhedra.BudgetExceeded:
                    continue
    return scop


def left_out(whole: Scop, scop: Scop) -> tuple[str, ...]:
    """Returns what the pass that made `scop` of `whole` left out, in words."""
    fewer = [name for name, s in scop.statements.items() if s.domain is not whole.statements[name].domain and _is_sum(s)]
    return tuple(
        f"{name}: runs for those elements alone that the masks behind it let through, in blocks of {BLOCK} rows" for name in fewer
    )


@dataclass(frozen=True)
class _Users:
    """What the statements that use an array do to it.

    statements: in their order.
    needed: for each of them and each position of its reads, the instances { S[i] } that need the read.
    reads: for each its reads of the array, with these instances; reads for the sake of updating the element are left out.
    fresh: for each, the instances that write an element without a need of what was in it.
    """

    array: str
    statements: Sequence[Statement]
    needed: Mapping[str, Mapping[int, isl.Set]]
    reads: Mapping[str, Sequence[tuple[Access, isl.Set]]]
    fresh: Mapping[str, isl.Set]

    @classmethod
    def of(cls, scop: Scop, array: str) -> _Users:
        """Returns the users of an array."""
        users = [s for s in scop.statements.values() if uses(s, array)]
        needed = {s.name: _needed(s) for s in users}
        reads = {s.name: list(_read(s, array, needed[s.name])) for s in users}
        fresh = {s.name: _fresh(s, array, needed[s.name]) for s in users}
        return cls(array, users, needed, reads, fresh)

    def have_masks(self) -> bool:
        """Returns whether a sum may lose instances: not all of them need what they read, or one writes anew what was added up."""
        summed = False
        for s in self.statements:
            if summed and not self.fresh[s.name].is_empty():
                return True
            if any(not where.is_equal(s.domain) for _, where in self.reads[s.name]):
                return True
            summed |= s.write.array == self.array and _is_sum(s)
        return False


def _masked(scop: Scop, found: _Users) -> Scop:
    """Returns the SCoP without the updates of an array that no read needs; the same one where these are no sums."""
    changed: dict[str, Statement] = {}
    for statement in found.statements:
        if statement.write.array != found.array or may_raise(statement.value):
            continue
        live = _in_blocks(statement, _live(scop, statement, found))
        if not live.is_equal(statement.domain):
            changed[statement.name] = replace(statement, domain=polyhedra.with_iterators(live, statement.iterators))
    if not any(map(_is_sum, changed.values())) or any(s.domain.is_empty() for s in changed.values()):
        return scop
    statements = {**scop.statements, **changed}
    for name, needed in found.needed.items():
        part = {k: where for k, where in needed.items() if not where.is_equal(scop.statements[name].domain)}
        reads = (_narrowed(read, part.get(k), found.array) for k, read in enumerate(statements[name].reads))
        statements[name] = replace(statements[name], reads=tuple(reads))
    made = replace(scop, statements=statements)
    return replace(made, schedule=made.schedule.intersect_domain(made.domain))


def _narrowed(read: Access, needed: isl.Set | None, array: str) -> Access:
    """Returns a read, if it is of the array only in the instances that need it."""
    return read if needed is None or read.array != array else replace(read, relation=read.relation.intersect_domain(needed))


def _live(scop: Scop, statement: Statement, found: _Users) -> isl.Set:
    """Returns the instances of a statement whose element is read before another one writes it anew."""
    live = statement.domain.subtract(statement.domain)
    fresh = [
        (s, _pairs(scop, statement, s, s.write, found.fresh[s.name])) for s in found.statements if s.write.array == found.array
    ]
    for reader in found.statements:
        for read, where in found.reads[reader.name]:
            reached = _pairs(scop, statement, reader, read, where)
            for writer, killed in fresh:
                again = _pairs(scop, writer, reader, read, where)
                reached = reached.subtract(killed.apply_range(again))
            live = live.union(reached.domain())
    return live.coalesce()


def _pairs(scop: Scop, statement: Statement, other: Statement, access: Access, where: isl.Set) -> isl.Map:
    """Returns { S[i] -> T[j] : S[i] writes an element before T[j], one of the instances `where`, accesses it }."""
    times = (scop.times[statement.name].intersect_domain(statement.domain), scop.times[other.name].intersect_domain(where))
    before = isl.UnionMap.from_map(times[0]).lex_lt_union_map(isl.UnionMap.from_map(times[1]))
    same = statement.write.relation.apply_range(access.relation.reverse())
    return polyhedra.extract_map(before, statement.domain, other.domain).intersect(same)


def _is_sum(statement: Statement) -> bool:
    """Returns whether each element that a statement writes is written by several of its instances."""
    return 0 < len(statement.write.subscripts) < len(statement.iterators)


def _read(statement: Statement, array: str, needed: Mapping[int, isl.Set]) -> Iterator[tuple[Access, isl.Set]]:
    """Yields the reads of an array that do more than update the element, with the instances that need them."""
    for position, read in enumerate(statement.reads):
        if read.array == array and not (_updates(statement, read) and not may_raise(statement.value)):
            yield read, needed.get(position, statement.domain.subtract(statement.domain))


def _updates(statement: Statement, read: Access) -> bool:
    """Returns whether a statement reads an element in order to write it, and for nothing else."""
    return read.array == statement.write.array and read.relation.plain_is_equal(statement.write.relation)


def _fresh(statement: Statement, array: str, needed: Mapping[int, isl.Set]) -> isl.Set:
    """Returns the instances that write an element of the array without a need of any element of it."""
    fresh = statement.domain
    if statement.write.array != array or statement.write.may:
        return fresh.subtract(fresh)
    for position, read in enumerate(statement.reads):
        if read.array == array and position in needed:
            fresh = fresh.subtract(needed[position])
    return fresh


def _in_blocks(statement: Statement, live: isl.Set) -> isl.Set:
    """Returns the instances in whose block of BLOCK rows another instance of the same columns is live.

    Rows are the first iterator that decides which instances are live.
    """
    rest = live.gist(statement.domain)
    for dim in range(len(statement.iterators)):
        if polyhedra.involves(rest, dim):
            return live.apply(polyhedra.same_block(live, dim, BLOCK)).intersect(statement.domain).coalesce()
    return statement.domain


def _needed(statement: Statement) -> dict[int, isl.Set]:
    """Returns for each read, by its position, the instances { S[i] } that need it."""
    found: dict[int, isl.Set] = {}
    waiting: list[tuple[Value, isl.Set]] = [(statement.value, statement.domain)]
    while waiting:
        value, where = waiting.pop()
        if isinstance(value, Load):
            found[value.access] = found[value.access].union(where) if value.access in found else where
        if isinstance(value, syntax.IfExp) and (test := _holds(value.condition, statement.domain)) is not None:
            waiting += [(value.then, where.intersect(test)), (value.orelse, where.subtract(test))]
        else:
            waiting += [(part, where) for part in children(value)]
    return found


def _holds(condition: Value, domain: isl.Set) -> isl.Set | None:
    """Returns where a comparison of affine integers holds, { S[i] }; None for any other condition."""
    if not isinstance(condition, syntax.Compare):
        return None
    left, right = _affine(condition.left, domain), _affine(condition.right, domain)
    return None if left is None or right is None else getattr(left, _COMPARED[condition.op])(right)


def _affine(value: Value, domain: isl.Set) -> isl.PwAff | None:
    """Returns an index, a small constant or a sum of such as { S[i] -> [(e)] }; None for any other value."""
    if isinstance(value, Index):
        return value.value
    if isinstance(value, syntax.Const) and type(value.value) is int and abs(value.value) < _FARTHEST:
        return isl.PwAff.val_on_domain(domain, isl.Val(value.value))
    if isinstance(value, syntax.Binary) and value.op in ("+", "-") and value.dtype is not None and value.dtype.bits == 64:
        left, right = _affine(value.left, domain), _affine(value.right, domain)
        if left is not None and right is not None and syntax.Const in (type(value.left), type(value.right)):
            return left.add(right) if value.op == "+" else left.sub(right)
    return None
