"""The number of sets of a cache into which the lines of a reference fall along one loop.

Where these sets are few, a cache that has room for the lines misses all the same; rows of another length (padding), or a
contiguous copy (packing), help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Access, Statement
from polyml.schedule.tree.loop_tree import Loop, Node, children, pieces, read, statements


@dataclass(frozen=True)
class StridedWalk:
    """A StridedWalk tells which lines one reference accesses while one loop runs; the loops around it, and those inside it, stay in
    one iteration.

    iterations: the number of iterations that the loop has at most.
    stride_bytes: the distance of the addresses in one iteration and the next.
    lines: how many different lines are accessed.
    sets: by cache level, how many sets these lines fall into.
    """

    reference: ArrayReference
    loop: str
    iterations: int
    stride_bytes: int
    lines: int
    sets: tuple[int, ...]
    levels: tuple[CacheLevel, ...]

    def crowded(self, number: int) -> bool:
        """Returns whether the lines that the reference accesses along the loop would fit into cache level `number`, but not into
        those of its sets that they fall into, so that there are conflict misses.
        """
        level = self.levels[number]
        held = level.size_bytes // level.line_bytes
        return self.sets[number] * (level.ways or held) < self.lines <= held

    def padding_bytes(self, number: int) -> int:
        """Returns the bytes to add to the stride, a multiple of the line length, so that the reference uses as many sets of level
        `number` as it can along the loop.

        It is 0 for a stride that is at most a line long.
        """
        line_bytes, count = self.levels[number].line_bytes, set_count(self.levels[number])
        if abs(self.stride_bytes) <= line_bytes:
            return 0
        added = (k * line_bytes for k in range(count))
        return min(added, key=lambda more: -lines_and_sets(0, self.stride_bytes + more, self.iterations, line_bytes, count)[1])


def set_count(level: CacheLevel) -> int:
    """Returns the number of sets of a level; a fully associative one has 1."""
    return level.size_bytes // (level.line_bytes * level.ways) if level.ways else 1


def strided_walks(accesses: ScheduledAccesses, levels: Sequence[CacheLevel]) -> tuple[StridedWalk, ...]:
    """Returns, for each reference and each loop that moves its address by a constant stride, how many lines, and how many sets of
    each cache, the reference uses while the loop runs.

    Left out are loops with a single iteration, loops that change several iterators of the statement, and references whose
    subscripts are not linear in the iterator that the loop changes.

    levels: caches with lines of one length.

    Raises ScheduleError for a schedule that is not made of loops and sequences.
    """
    scop, sizes, places = accesses.scop, accesses.sizes, accesses.places
    assert places is not None
    line_bytes, counts = levels[0].line_bytes, [set_count(level) for level in levels]
    found = []
    loops: dict[str, list[tuple[Loop, ...]]] = {name: [] for name in scop.statements}
    _gather(read(accesses.schedule, scop.statements), (), loops)
    for reference in accesses.references:
        statement, place = scop.statements[reference.statement], places[reference.array]
        access = reads_and_write(statement)[reference.position]
        domain = polyhedra.fix(statement.domain, sizes)
        if domain.is_empty():
            continue
        rows = [row for s in access.subscripts if (row := polyhedra.linear_row(s)) is not None]
        first = _first_address(access, domain, sizes, place)
        for around in loops[reference.statement]:
            for depth, loop in enumerate(around):
                moved = _moved(statement, loop)
                if moved is None or len(rows) < len(access.subscripts) or any(_in_quotient(row[0], moved[0]) for row in rows):
                    continue
                iterator, per_value = moved
                members = [_own(each, statement) for each in around[: depth + 1]]
                step, count = polyhedra.last_progression(polyhedra.values_of(members, domain))
                stride = sum(row[0].get(iterator, 0) * s for row, s in zip(rows, place.strides)) * step * per_value
                if stride and count > 1 and stride.denominator == 1:
                    both = [lines_and_sets(first, int(stride), count, line_bytes, sets) for sets in counts]
                    found.append(
                        StridedWalk(reference, loop.name, count, int(stride), both[0][0], tuple(n for _, n in both), tuple(levels))
                    )
    return tuple(dict.fromkeys(found))


def lines_and_sets(start: int, stride: int, count: int, line_bytes: int, sets: int) -> tuple[int, int]:
    """Returns how many lines the addresses start, start + stride, ... lie in, and how many sets these lines fall into.

    count: how many addresses there are. sets: how many sets the cache has.

    >>> lines_and_sets(0, 4096, 100, 64, 64), lines_and_sets(0, 4160, 100, 64, 64), lines_and_sets(8, 8, 8, 64, 64)
    ((100, 1), (100, 64), (2, 2))
    """
    if stride < 0:
        start, stride = start + stride * (count - 1), -stride
    if stride <= line_bytes:
        lines = (start + stride * (count - 1)) // line_bytes - start // line_bytes + 1
        return lines, min(lines, sets)
    around = line_bytes * sets
    common = gcd(stride, around)
    period = around // common  # addresses after which they begin again at the same place in the same set
    if count >= period:
        return count, min(period, sets)  # places are `common` apart: one or none to a line, or at least one
    if stride % line_bytes == 0:
        return count, count
    return count, len({(start + stride * k) // line_bytes % sets for k in range(count)})


def _gather(node: Node, around: tuple[Loop, ...], found: dict[str, list[tuple[Loop, ...]]]) -> None:
    """Adds to `found`, for each statement at or below a node, the loops around it, outermost first; a statement that is at several
    places of the tree gets an entry for each.
    """
    if isinstance(node, Loop):
        around = (*around, node)
    if not children(node):
        for name in statements(node):
            found[name].append(around)
    for child in children(node):
        _gather(child, around, found)


def _moved(statement: Statement, loop: Loop) -> tuple[int, Fraction] | None:
    """Returns (k, growth) if a loop changes only iterator number k of a statement: the iterator grows by `growth` when the loop's
    value grows by one. Returns None where the loop changes no iterator, or several.
    """
    row = polyhedra.linear_row(_own(loop, statement))
    along = [(k, slope) for k, slope in _slopes(row[0]).items() if isinstance(k, int) and slope] if row else []
    return (along[0][0], 1 / along[0][1]) if len(along) == 1 else None


def _own(loop: Loop, statement: Statement) -> isl.PwAff:
    """Returns a loop's iterator as a function { S[i] -> [e] } of the instances of one statement S: an expression e of their
    iterators.
    """
    return next(piece for piece in pieces(loop.member) if piece.domain().get_tuple_name() == statement.name)


def _slopes(terms: Mapping) -> dict[object, Fraction]:
    """Returns {name: by how much a linear expression grows when the name grows by one}, in which floor(n/8) counts as n/8.

    terms: {name or integer quotient: coefficient}.
    """
    found: dict[object, Fraction] = {}
    for name, c in terms.items():
        inner = _slopes(dict(name.terms)) if isinstance(name, polyhedra.Quotient) else {name: Fraction(1)}
        for key, slope in inner.items():
            divisor = name.divisor if isinstance(name, polyhedra.Quotient) else 1
            found[key] = found.get(key, Fraction(0)) + slope * c / divisor
    return found


def _in_quotient(terms: Mapping, iterator: int) -> bool:
    """Returns whether an integer quotient in a linear expression depends on the statement's iterator number `iterator`.

    terms: {name, iterator's number or integer quotient: coefficient}.
    """
    return any(isinstance(name, polyhedra.Quotient) and _slopes(dict(name.terms)).get(iterator) for name in terms)


def _first_address(access: Access, domain: isl.Set, sizes: Mapping[str, int], place: Placed) -> int:
    """Returns the address that an access touches in the first instance of `domain`, in the lexicographic order of the iterators."""
    element = polyhedra.first_image(polyhedra.fix(access.relation, sizes), domain)
    return place.address + sum(e * s for e, s in zip(element, place.strides))
