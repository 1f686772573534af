"""The bytes that nests of loops move between memory and caches at least: each element accessed once, each one written once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement
from polyml.schedule.analysis.footprint_boxes import FootprintBoxes
from polyml.schedule.analysis.strides import accesses

NONE = isl.UnionMap("{ }")
ASSUMED = 2000  # elements along each dimension where sizes are not known


class Traffic:
    """The memory traffic of nests of one SCoP at given sizes, in bytes.

    Each element that is accessed is moved once, and each element that is written is moved once more.

    sizes: values of parameters; None: each is taken to have the same fixed value, which the attribute `note` tells.
    """

    def __init__(self, scop: Scop, sizes: Mapping[str, int] | None):
        self._scop = scop
        self.sizes = {p.name: ASSUMED for p in scop.parameters} if sizes is None else sizes
        self._boxes = FootprintBoxes(scop, self.sizes)
        self._known: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        self.note = f", sizes of {ASSUMED} assumed" if sizes is None and scop.parameters else ""

    def of(self, names: Sequence[str], kept: Sequence[str] = ()) -> int:
        """Returns the bytes that a nest of the statements `names` moves.

        kept: arrays that remain in the caches and are not counted.
        """
        key = tuple(names), tuple(kept)
        if key not in self._known:
            found = dict.fromkeys(a.array for n in names for a in accesses(self._scop.statements[n]) if a.subscripts)
            arrays = [array for array in found if array not in kept]
            self._known[key] = sum(map(partial(self._of_array, names), arrays))
        return self._known[key]

    def _of_array(self, names: Sequence[str], array: str) -> int:
        """Returns the bytes of one array that a nest of the statements `names` moves."""
        every, written = ([*self._accesses(names, array, writes)] for writes in (False, True))
        counts = [self._boxes.elements(found) for found in (every, written) if found]
        known = [count for count in counts if count is not None]
        if len(known) == len(counts):
            return sum(known) * self._scop.arrays[array].element.size_bytes
        relations, of_writes = (self._relations(names, array, writes) for writes in (False, True))
        once = self.bytes(polyhedra.union(relations, NONE).range(), array)
        if len(of_writes) in (0, len(relations)):
            return once * (2 if of_writes else 1)
        return once + self.bytes(polyhedra.union(of_writes, NONE).range(), array)

    def _accesses(self, names: Sequence[str], array: str, writes: bool) -> Iterator[tuple[Statement, Access]]:
        """Yields the accesses of statements to an array, each with its statement; with `writes`, the writes alone."""
        for statement in map(self._scop.statements.__getitem__, names):
            own = (statement.write,) if writes else accesses(statement)
            yield from ((statement, access) for access in own if access.array == array)

    def accessed(self, names: Sequence[str], array: str, writes: bool) -> isl.UnionMap:
        """Returns the accesses { S[i] -> A[j] } of the statements `names` to an array; with `writes`, of the writes alone."""
        return polyhedra.union(self._relations(names, array, writes), NONE)

    def _relations(self, names: Sequence[str], array: str, writes: bool) -> list[isl.UnionMap]:
        """Returns the different relations { S[i] -> A[j] } of statements' accesses to an array; with `writes`, of writes alone."""
        found: list[isl.Map] = []
        for statement, access in self._accesses(names, array, writes):
            relation = access.relation.intersect_domain(statement.domain)
            if not any(relation.plain_is_equal(other) for other in found):
                found.append(relation)
        return list(map(isl.UnionMap.from_map, found))

    def bytes(self, elements: isl.UnionSet, array: str) -> int:
        """Returns the bytes of the smallest box around the elements { A[j] }; 0 where they have fewer dimensions than the box.

        So a diagonal of a matrix counts as 0, and a row as its elements.
        """
        total = 0
        for piece in map(polyhedra.without_sizes, polyhedra.pieces(polyhedra.fix(elements, self.sizes))):
            box = polyhedra.box_lengths(piece)
            lengths = [polyhedra.length(piece, dim) or 0 for dim in range(polyhedra.dimensions(piece))] if box is None else box
            if box is not None or polyhedra.hull_dimension(piece) == sum(length != 1 for length in lengths):
                total += prod(lengths)
        return total * self._scop.arrays[array].element.size_bytes

    def array_bytes(self, array: str) -> int:
        """Returns the bytes of a whole array."""
        found = self._scop.arrays[array]
        return prod(polyhedra.value_at(extent, self.sizes) for extent in found.shape) * found.element.size_bytes


def nests(schedule: isl.Schedule) -> list[list[str]]:
    """Returns the names of the statements, in one list for each child of the schedule's outermost sequence.

    A schedule that does not begin with a sequence gives one list.
    """
    top = schedule.get_root().child(0)
    if top.get_type() != isl.schedule_node_type.sequence:
        return [polyhedra.set_names(schedule.get_domain())]
    return [polyhedra.set_names(top.child(k).filter_get_filter()) for k in range(top.n_children())]
