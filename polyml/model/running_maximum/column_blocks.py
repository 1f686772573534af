"""The statements of sums that a maximum goes through, block of columns by block of columns, with the maximum so far.

for i: best[i, 0] = max(m[i], least)                          least: the least finite number
for i, b:                                                      blocks of columns
    best[i, b + 1] = best[i, b]
    for j in the block: best[i, b + 1] = max(best[i, b + 1], x[i, j])
    c[i, b] = g(best[i, b], best[i, b + 1])
    for j in the block: e[i, j] = t(x[i, j], best[i, b + 1])
    l[i] = l[i] * c[i, b];  for j in the block: l[i] += e[i, j]
    O[i, :] = O[i, :] * c[i, b];  for j in the block, k: O[i, k] += e[i, j] * V[j, k]
for i: O[i, :] = O[i, :] / l[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.nest import map_leaves, subvalues
from polyml.model.core.scop import Access, Array, Load, Scop, Statement
from polyml.model.core.source_order import SourceBlock, SourceLoop, SourcePart, schedule_tree
from polyml.model.running_maximum import statement_writer
from polyml.model.running_maximum.corrected_sums import CorrectedSums, Sum
from polyml.model.running_maximum.last_values import last_values
from polyml.model.running_maximum.roles import Member
from polyml.model.running_maximum.statement_writer import StatementWriter, access_to
from polyml.model.scop_passes.scalar_expansion import ranges


def in_column_blocks(scop: Scop, group: CorrectedSums, before: Sequence[str], after: Sequence[str]) -> Scop | None:
    """Returns the SCoP with the sums of a group block by block of columns; None where their columns do not begin with 0.

    before, after: the other statements, by whether they run before or after the group.
    """
    maximum = group.maximum
    columns = polyhedra.onto(maximum.statement.domain, [maximum.column], "columns")
    limits = ranges(columns, polyhedra.on_parameters(scop.context, polyhedra.parameter_names(columns)))
    if limits is None or polyhedra.greatest(limits[0][0]) != 0:
        return None
    rows_of = [_rows(member) for member in (maximum, group.terms, group.total, *group.sums) if member is not None]
    if not all(rows.is_subset(rows_of[0]) for rows in rows_of):
        return None
    one = isl.Val(1)
    blocks = (
        limits[1][0].add_constant_val(isl.Val(statement_writer.BLOCK - 1)).scale_down_val(isl.Val(statement_writer.BLOCK)).floor()
    )
    writer = StatementWriter(scop, group, blocks)
    best = writer.array("best", (blocks.add_constant_val(one),))
    factor = writer.array("factor", (blocks,))
    start = [_start(writer, best)]
    inside = _of_maximum(writer, best, factor)
    inside += _of_sum(writer, group.total, best, factor)
    for each in group.sums:
        inside += _of_sum(writer, each, best, factor)
    end = last_values(writer, best, after)
    statements = {name: scop.statements[name] for name in (*before, *after)} | writer.statements
    rows = len(maximum.rows)
    nest = SourceBlock(
        (*_in_loops(start, rows, writer), *_loops(_parts(inside, rows + 1, writer), rows + 1), *_in_loops(end, rows, writer))
    )
    order = [scop.schedule.intersect_domain(_instances(scop, names)) if names else None for names in (before, after)]
    tree = schedule_tree(nest, statements, scop.context)
    tree = tree if order[0] is None else order[0].sequence(tree)
    tree = tree if order[1] is None else tree.sequence(order[1])
    return replace(scop, arrays={**scop.arrays, **writer.arrays}, statements=statements, schedule=tree)


def _rows(member: Member) -> isl.Set:
    """Returns the rows { rows[i] } over whose columns a statement runs."""
    its, old = member.statement.iterators, member.statement.name
    return member.statement.domain.apply(
        isl.Map(f"{{ {old}[{', '.join(its)}] -> rows[{', '.join(its[k] for k in member.rows)}] }}")
    )


def _instances(scop: Scop, names: Sequence[str]) -> isl.UnionSet:
    return polyhedra.union([isl.UnionSet.from_set(scop.statements[name].domain) for name in names])


def _in_loops(names: Sequence[str], rows: int, writer: StatementWriter) -> list[SourcePart]:
    return [part for name in names for part in _loops(_parts([name], rows, writer), rows)]


def _parts(names: Sequence[str], outer: int, writer: StatementWriter) -> list[SourcePart]:
    """Returns statements, each in its own loops inside the `outer` outermost ones."""
    found: list[SourcePart] = []
    for name in names:
        part: SourcePart = name
        for dim in reversed(range(outer, len(writer.statements[name].iterators))):
            part = SourceLoop(SourceBlock((part,)), dim, 1)
        found.append(part)
    return found


def _loops(parts: Sequence[SourcePart], depth: int) -> tuple[SourcePart, ...]:
    made = tuple(parts)
    for dim in reversed(range(depth)):
        made = (SourceLoop(SourceBlock(made), dim, 1),)
    return made


def _start(writer: StatementWriter, best: Array) -> str:
    """Adds best[i, 0] = max(m[i], least)."""
    member = writer.group.maximum
    name, its, domain = writer.over(member, member.rows, blocks=False)
    read = writer.written(member, name, its)
    least = syntax.Const(_least(best), dtype=best.element)
    value = syntax.Call("maximum", (Load(0, dtype=best.element), least), dtype=best.element)
    return writer.add(
        Statement(
            name=name, iterators=its, domain=domain, writes=(access_to(name, its, domain, best.name, (*its, 0)),), reads=(read,), value=value,
            loc=member.statement.loc,
        )
    )  # fmt: skip


def _least(array: Array) -> float:
    """Returns the least finite number of an array's type."""
    return {16: -65504.0, 32: -3.4028234663852886e38, 64: -1.7976931348623157e308}[array.element.bits]


def _of_maximum(writer: StatementWriter, best: Array, factor: Array) -> list[str]:
    """Adds the maximum of a block, the factor by which sums are corrected, and the terms."""
    group, element = writer.group, best.element
    member = group.maximum
    rows = len(member.rows)
    names = []
    name, its, domain = writer.over(member, member.rows, blocks=True)
    block = its[rows]
    now, before = (*its[:rows], f"{block} + 1"), (*its[:rows], block)
    names.append(
        writer.add(
            Statement(
                name=name, iterators=its, domain=domain, writes=(access_to(name, its, domain, best.name, now),),
                reads=(access_to(name, its, domain, best.name, before),), value=Load(0, dtype=element), loc=member.statement.loc,
            )
        )
    )  # fmt: skip
    names.append(writer.add(_running(writer, member, best, group.accumulator, is_best=True)))
    name = writer.name()
    domain = polyhedra.with_iterators(domain.set_tuple_name(name), its)
    reads = tuple(access_to(name, its, domain, best.name, at) for at in (before, now))
    value = group.rule.factor(Load(0, dtype=element), Load(1, dtype=element), element)
    names.append(
        writer.add(
            Statement(
                name=name, iterators=its, domain=domain, writes=(access_to(name, its, domain, factor.name, before),), reads=reads, value=value,
                loc=member.statement.loc,
            )
        )
    )  # fmt: skip
    if group.terms is None:
        return names
    own = group.terms.statement
    position = next(k for k, a in enumerate(own.reads) if a.array == member.statement.write.array)
    names.append(writer.add(_running(writer, group.terms, best, position, is_best=False)))
    return names


def _running(writer: StatementWriter, member: Member, best: Array, position: int, is_best: bool) -> Statement:
    """Returns a statement over columns in blocks, in which a read is of the maximum so far. is_best: whether it also writes that."""
    made, old = writer.blocked(member), member.statement
    so_far = made.so_far(best, len(member.rows))
    reads = tuple(so_far if k == position else made.access(a) for k, a in enumerate(old.reads))
    write = so_far if is_best else made.access(old.write)
    return Statement(
        name=made.name,
        iterators=made.iterators,
        domain=made.domain,
        writes=(write,),
        reads=reads,
        value=made.value(old.value),
        loc=old.loc,
    )


def _of_sum(writer: StatementWriter, member: Sum, best: Array, factor: Array) -> list[str]:
    """Adds the correction of a sum, and the sum over a block."""
    old = member.statement
    element = writer.scop.arrays[old.write.array].element
    name, its, domain = writer.over(member, (*member.rows, *member.others), blocks=True)
    rows = its[: len(member.rows)]
    target = writer.written(member, name, its)
    by = access_to(name, its, domain, factor.name, (*rows, its[len(rows)]))
    product = syntax.Binary("*", Load(0, dtype=element), Load(1, dtype=element), dtype=element)
    corrected = writer.add(
        Statement(name=name, iterators=its, domain=domain, writes=(target,), reads=(target, by), value=product, loc=old.loc)
    )
    made = writer.blocked(member)
    total = Load(member.accumulator, dtype=element)
    value = made.value(syntax.Binary("+", total, member.value, dtype=element, loc=old.value.loc))
    reads = [made.access(a) for a in old.reads]
    if writer.group.terms is not None and writer.group.scaling is not None:
        source, scaled = writer.group.terms.statement.write.array, writer.group.scaling.write.array
        reads = [_of_array(a, source) if a.array == scaled else a for a in reads]
    if member.maximum is not None:
        reads[member.maximum] = made.so_far(best, len(member.rows))
    used = sorted({part.access for part in subvalues(value) if isinstance(part, Load)})
    value = map_leaves(value, lambda leaf: replace(leaf, access=used.index(leaf.access)) if isinstance(leaf, Load) else leaf)
    summed = Statement(
        name=made.name, iterators=made.iterators, domain=made.domain, writes=(made.access(old.write),), reads=tuple(reads[k] for k in used),
        value=value, loc=old.loc,
    )  # fmt: skip
    return [corrected, writer.add(summed)]


def _of_array(access: Access, array: str) -> Access:
    return replace(access, array=array, relation=polyhedra.rename_range(access.relation, array))
