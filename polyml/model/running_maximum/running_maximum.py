"""Sums of terms that depend on a row's maximum run block of columns by block of columns, with the maximum so far.

    for i, j: m[i] = max(m[i], x[i, j])                for each block of columns: for i:
    for i, j: e[i, j] = exp(x[i, j] - m[i])                m' = max(m[i], x[i, j] of the block);  c = exp(m[i] - m');  m[i] = m'
    for i, j: l[i] += e[i, j]                    ->        e[i, j] of the block = exp(x[i, j] - m')
    for i, j: e[i, j] = e[i, j] / l[i]                     l[i] = l[i]*c + sum of the block's e
    for i, j, k: O[i, k] += e[i, j] * V[j, k]              O[i, :] = O[i, :]*c + the block's products
                                                       for i, k: O[i, k] = O[i, k] / l[i]

No array of rows by columns is then needed as a whole. (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018;
Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021; Dao et al., "FlashAttention", NeurIPS 2022. Another name:
online softmax.)
"""

from __future__ import annotations

from collections.abc import Mapping

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.model.running_maximum import statement_writer
from polyml.model.running_maximum.column_blocks import in_column_blocks
from polyml.model.running_maximum.corrected_sums import CorrectedSums, corrected_sums

ROWS = 64  # of a strip, whole rows of which are to stay in the second cache
SHARE = 50  # percent of it that they fill


def in_blocks(
    scop: Scop, found: Dependences, free: Mapping[str, Reduction], sizes: Mapping[str, int], second: int
) -> tuple[Scop, tuple[str, ...]]:
    """Returns the SCoP with such sums in blocks, where whole rows leave the second cache, and notes on them.

    free: by statement, the updates whose order is free. sizes: values of parameters. second: bytes of the second cache.
    """
    notes: tuple[str, ...] = ()
    for group in corrected_sums(scop, found, free):
        why = _why_not(scop, group, sizes, second)
        sides = None if why else _sides(scop, found, group)
        made = None if sides is None else in_column_blocks(scop, group, *sides)
        if made is not None:
            return made, (*notes, _note(group))
        notes += (f"{group.maximum.statement.name}: no running maximum: {why or 'its sums cannot run together'}",)
    return scop, notes


def _why_not(scop: Scop, group: CorrectedSums, sizes: Mapping[str, int], second: int) -> str:
    """Returns why sums run over whole rows; "" where they are to run in blocks."""
    maximum = group.maximum
    columns = polyhedra.length(polyhedra.fix(maximum.statement.domain, sizes), maximum.column) or 0
    row = columns * scop.arrays[maximum.statement.write.array].element.size_bytes
    if ROWS * row * 100 < second * SHARE:
        return f"{ROWS} rows of {columns} columns fit {SHARE} % of the second cache"
    return "" if columns > statement_writer.BLOCK else f"rows have {columns} columns"


def _sides(scop: Scop, found: Dependences, group: CorrectedSums) -> tuple[list[str], list[str]] | None:
    """Returns the other statements that can run before all of the group, and those that need it; None where one has to run between."""
    edges: dict[str, set[str]] = {}
    for pairs in polyhedra.pieces(found.validity):
        edges.setdefault(polyhedra.domain_name(pairs), set()).add(polyhedra.range_name(pairs))
    behind: set[str] = set()
    waiting = [*group.names]
    while waiting:
        for name in edges.get(waiting.pop(), set()) - behind:
            behind.add(name)
            waiting.append(name)
    after = behind - group.names
    if any(edges.get(name, set()) & group.names for name in after):
        return None
    others = [name for name in scop.statements if name not in group.names]
    return [name for name in others if name not in after], [name for name in others if name in after]


def _note(group: CorrectedSums) -> str:
    names = ", ".join(sorted(group.names))
    return f"{names}: in blocks of {statement_writer.BLOCK} columns with a running maximum, since {group.rule.text}"
