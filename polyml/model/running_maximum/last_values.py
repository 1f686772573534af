"""The statements behind all blocks of columns, which give sums and the maximum their last values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polyml.dtypes import BOOL, DType
from polyml.frontend import syntax
from polyml.model.core.scop import Access, Array, Load, Role, Statement, Value
from polyml.model.running_maximum.corrected_sums import Sum
from polyml.model.running_maximum.statement_writer import StatementWriter, access_to, named
from polyml.model.scop_passes.scalar_expansion import uses


def last_values(writer: StatementWriter, best: Array, after: Sequence[str]) -> list[str]:
    """Adds what gives the sums, and the maximum where it is read, the values that they have at the end.

    A row all of whose x are -inf has no terms but 0, where exp(-inf - -inf) is NaN. It is one whose sum of terms, which is at least
    1 in any other row that begins with a maximum of -inf, is 0.
    """
    group, scop = writer.group, writer.scop
    results = {result.array for result in scop.results}

    def is_needed(array: str) -> bool:
        lives_on = scop.arrays[array].role is not Role.LOCAL or array in results
        return lives_on or any(uses(scop.statements[name], array) for name in after)

    names = [_end_of_sum(writer, member) for member in group.sums]
    if is_needed(group.maximum.statement.write.array):
        names.append(_end_of_maximum(writer, best))
    if is_needed(group.total.statement.write.array):
        names.append(_end_of_sum(writer, group.total))
    return names


def _end_of_sum(writer: StatementWriter, member: Sum) -> str:
    """Adds the statement that divides a sum by the total of its row, if its terms were divided by it, or else makes it NaN in a row
    without terms.
    """
    total = writer.group.total
    name, its, domain = writer.over(member, (*member.rows, *member.others), blocks=False)
    rows, write = its[: len(member.rows)], writer.written(member, name, its)
    element = writer.scop.arrays[member.statement.write.array].element
    here = _End(writer, name, its, domain)
    if member.scale is not None:
        operator, array, places = member.scale
        value: Value = syntax.Binary(operator, Load(0, dtype=element), Load(1, dtype=element), dtype=element)
        return here.add(write, (write, access_to(name, its, domain, array, named(places, rows))), value)
    reads = (write, *here.tested()) if member is not total else here.tested()
    nothing = syntax.Const(float("nan"), dtype=element)
    return here.add(write, reads, _if_empty(len(reads) - 2, element, nothing, Load(0, dtype=element)))


def _end_of_maximum(writer: StatementWriter, best: Array) -> str:
    member = writer.group.maximum
    name, its, domain = writer.over(member, member.rows, blocks=False)
    write = writer.written(member, name, its)
    here = _End(writer, name, its, domain)
    reads = (access_to(name, its, domain, best.name, (*its, writer.blocks)), *here.tested())
    element = best.element
    return here.add(write, reads, _if_empty(1, element, Load(2, dtype=element), Load(0, dtype=element)))


@dataclass(frozen=True)
class _End:
    """A new statement that gives elements their last value."""

    writer: StatementWriter
    name: str
    iterators: tuple[str, ...]
    domain: isl.Set

    def tested(self) -> tuple[Access, Access]:
        """Returns the reads of a row's sum of terms, and of its maximum, which are tested by `_if_empty`."""
        members = (self.writer.group.total, self.writer.group.maximum)
        total, maximum = (self.writer.written(member, self.name, self.iterators) for member in members)
        return total, maximum

    def add(self, write: Access, reads: tuple[Access, ...], value: Value) -> str:
        loc = self.writer.group.maximum.statement.loc
        return self.writer.add(
            Statement(
                name=self.name, iterators=self.iterators, domain=self.domain, writes=(write,), reads=reads, value=value, loc=loc
            )
        )


def _if_empty(total: int, element: DType, then: Value, orelse: Value) -> Value:
    """Returns `then` in a row without terms, else `orelse`. total: the position of the read of the sum of terms, the maximum's is next."""
    parts = ((total, 0.0), (total + 1, float("-inf")))
    tests = tuple(syntax.Compare("==", Load(k, dtype=element), syntax.Const(c, dtype=element), dtype=BOOL) for k, c in parts)
    return syntax.IfExp(syntax.Logical("and", tests, dtype=BOOL), then, orelse, dtype=element)
