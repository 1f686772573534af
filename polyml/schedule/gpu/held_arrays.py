"""Arrays of which the threads of a team keep elements in registers while the team runs one row (array promotion).

    for j by threads: m = max(m, x[i, j])          x_held = the thread's x[i, j], loaded before
    for j by threads: y[i, j] = exp(x[i, j] - m)   m_held, y_held: in registers of each thread
    for j by threads: y[i, j] /= s            ->   y[i, j] = y_held, stored behind it

A thread reads back what it itself loaded or computed, since equal values of the shared loop are one thread's. An element that the whole
row uses has a copy in every thread, all of which compute it. What is loaded is what a row reads before it writes it; what is stored is
what it writes, unless nothing else reads it. PPCG calls this promotion to registers (Verdoolaege et al., TACO 2013, sec. 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Access, Gather, Role, Scop
from polyml.schedule.analysis.strides import accesses
from polyml.schedule.gpu.loop_roles import HeldArray, Phase, SurroundingLoop
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Leaf
from polyml.values import cached_property

_WORD = 4  # bytes of a register


@dataclass(frozen=True)
class _Use:
    """A _Use is an access of a statement in a phase. number: that of the phase. touched: { [h, g] -> A[e] }, or { [h, g, j] -> A[e] } in a
    phase with a shared loop j.
    """

    number: int
    phase: Phase
    statement: str
    access: Access
    is_write: bool
    touched: isl.Map


def held_arrays(
    phases: Sequence[Phase], around: Sequence[SurroundingLoop], repeats: bool, scop: Scop
) -> tuple[tuple[HeldArray, ...], frozenset[str]]:
    """Returns the arrays in registers, and the names of the phases without shared loops that all threads run, each on its copies.

    phases: what a team runs, in order.
    around: the loops of the host and of the grid.
    repeats: whether the host has loops, so that what a row writes may be read in a later launch.
    """
    return _Search(tuple(phases), tuple(around), repeats, scop).found()


def drain_waits(held: Sequence[HeldArray], phases: Sequence[Phase], scop: Scop) -> Iterator[tuple[str, str]]:
    """Yields pairs of names: what reads elements from memory that other threads store behind the row, and what stores these."""
    for each in held:
        if each.drained.is_empty():
            continue
        if each.is_row:
            yield from (
                (phase.name, drain(each.array)) for phase in phases if not phase.shared and each.array in _arrays(phase, scop)
            )
        elif not each.filled.is_empty():
            yield fill(each.array), drain(each.array)


def fill(array: str) -> str:
    """Returns the name of what loads an array's elements before a row."""
    return f"fill_{array}"


def drain(array: str) -> str:
    """Returns the name of what stores an array's elements behind a row."""
    return f"drain_{array}"


def gathered(phases: Sequence[Phase], scop: Scop) -> Set[str]:
    """Returns the arrays that statements of the phases read at indices that data decide."""
    names = (name for phase in phases for name in loop_tree.statements(phase.body))
    return {value.array for name in names for value in subvalues(scop.statements[name].value) if isinstance(value, Gather)}


def words(held: Sequence[HeldArray], phases: Sequence[Phase], scop: Scop) -> int:
    """Returns how many registers the rows' elements need at most between two phases, for one iteration of a thread."""
    spans = []
    for each in held:
        numbers = [k for k, phase in enumerate(phases) if each.array in _arrays(phase, scop)]
        first = -1 if not each.filled.is_empty() else numbers[0]
        last = len(phases) if not each.drained.is_empty() else numbers[-1]
        spans.append((first, last, -(-scop.arrays[each.array].element.size_bytes // _WORD) if each.is_row else 0))
    return max((sum(size for first, last, size in spans if first <= k < last) for k in range(-1, len(phases))), default=0)


def _arrays(phase: Phase, scop: Scop) -> Set[str]:
    return {access.array for name in loop_tree.statements(phase.body) for access in accesses(scop.statements[name])}


@dataclass(frozen=True)
class _Search:
    """The search for arrays in registers. phases, around, repeats: as in `held_arrays`."""

    phases: tuple[Phase, ...]
    around: tuple[SurroundingLoop, ...]
    repeats: bool
    scop: Scop

    def found(self) -> tuple[tuple[HeldArray, ...], frozenset[str]]:
        rows = [found for array in self._uses if (found := self._row(array)) is not None]
        single = {array for array in self._uses if array not in {each.array for each in rows} and self._is_single(array)}
        while True:
            copied = {phase.name for phase in self.phases if not phase.shared and self._written(phase) <= single}
            fitting = {array for array in single if all(self._is_of_all(use, copied) for use in self._uses[array])}
            if fitting == single:
                break
            single = fitting
        return (*rows, *(self._one(array) for array in self._uses if array in single)), frozenset(copied)

    @cached_property
    def _uses(self) -> dict[str, list[_Use]]:
        """Returns { array that none of the phases reads at indices that data decide -> its uses, in the order of the text }."""
        found: dict[str, list[_Use]] = {}
        for number, phase in enumerate(self.phases):
            for name in loop_tree.statements(phase.body):
                statement = self.scop.statements[name]
                for access in accesses(statement):
                    touched = self._touched(phase, name, access)
                    found.setdefault(access.array, []).append(_Use(number, phase, name, access, access is statement.write, touched))
        unknown = gathered(self.phases, self.scop) | {array for array, uses in found.items() if any(use.access.may for use in uses)}
        return {array: uses for array, uses in found.items() if array not in unknown}

    def _touched(self, phase: Phase, name: str, access: Access) -> isl.Map:
        own = isl.UnionSet.from_set(self.scop.statements[name].domain).intersect(phase.instances)
        loops = (*self.around, *phase.shared[:1])
        values = reduce(isl.UnionMap.flat_range_product, (isl.UnionMap.from_union_pw_aff(loop.values) for loop in loops))
        made = values.intersect_domain(own).reverse().apply_range(isl.UnionMap.from_map(access.relation))
        if made.is_empty():
            every = isl.Map.from_domain_and_range(
                isl.Set(f"{{ [{', '.join(f'h{k}' for k in range(len(loops)))}] }}"), access.relation.range()
            )
            return every.subtract(every)
        return isl.Map.from_union_map(made)

    def _written(self, phase: Phase) -> Set[str]:
        return {self.scop.statements[name].write.array for name in loop_tree.statements(phase.body)}

    def _row(self, array: str) -> HeldArray | None:
        """Returns the array with the elements that threads hold of a row; None where other threads use them too, or once only. Others may
        read what memory has of them before the row writes any.
        """
        uses = [use for use in self._uses[array] if use.phase.shared]
        first = min((use.number for use in uses if use.is_write), default=len(self.phases))
        others = [use for use in self._uses[array] if not use.phase.shared]
        if len({use.number for use in uses}) < 2 or any(use.is_write or use.number > first for use in others):
            return None
        elements = reduce(isl.Map.union, (use.touched for use in uses))
        depth = len(self.around)
        beside = isl.Map(f"{{ [{_names(depth)}k] -> [{_names(depth)}l] : k != l }}")
        if not elements.is_single_valued() or not elements.apply_range(elements.reverse()).intersect(beside).is_empty():
            return None
        known = isl.Set.empty(elements.get_space().domain())
        filled = drained = known
        for use in uses:
            points = use.touched.domain()
            filled, known = (filled, known.union(points)) if use.is_write else (filled.union(points.subtract(known)), known)
            drained = drained.union(points) if use.is_write else drained
        drained = drained if self._is_seen(array) else drained.empty(drained.get_space())
        if not _is_interval(filled, depth) or not _is_interval(drained, depth):
            return None
        return HeldArray(array, True, elements.coalesce(), filled.coalesce(), drained.coalesce())

    def _rows(self, use: _Use) -> isl.Map:
        """Returns { [h, g] -> A[e] }."""
        if not use.phase.shared:
            return use.touched
        names = [f"h{k}" for k in range(len(self.around))]
        return use.touched.apply_domain(isl.Map(f"{{ [{', '.join([*names, 'j'])}] -> [{', '.join(names)}] }}"))

    def _is_single(self, array: str) -> bool:
        """Returns whether a row writes the array, and uses one element of it alone."""
        uses = self._uses[array]
        return any(use.is_write for use in uses) and reduce(isl.Map.union, map(self._rows, uses)).is_single_valued()

    def _is_of_all(self, use: _Use, copied: Set[str]) -> bool:
        """Returns whether each thread has the value of the array after an access. copied: the phases that all threads run."""
        is_partial = any(use.statement in each.statements for each in use.phase.partial)
        return not use.is_write or is_partial or use.phase.name in copied

    def _one(self, array: str) -> HeldArray:
        uses = self._uses[array]
        elements = reduce(isl.Map.union, map(self._rows, uses))
        written = reduce(isl.Set.union, (self._rows(use).domain() for use in uses if use.is_write))
        none = isl.Set.empty(written.get_space())
        begun = self._begun(uses)
        return HeldArray(
            array,
            False,
            elements.coalesce(),
            none if begun is not None and elements.domain().is_subset(begun) else elements.domain().coalesce(),
            written.coalesce() if self._is_seen(array) else none,
        )

    def _begun(self, uses: Sequence[_Use]) -> isl.Set | None:
        """Returns { [h, g] }, the rows that write the element before they read it; None where that is not known."""
        first = uses[0]
        own = [use for use in uses if use.statement == first.statement]
        if first.phase.shared or not isinstance(first.phase.body, Leaf) or not all(use.is_write for use in own):
            return None
        return self._rows(first).domain()

    def _is_seen(self, array: str) -> bool:
        """Returns whether anything reads what a row has written of an array when the row is over."""
        mine = {name for phase in self.phases for name in loop_tree.statements(phase.body)}
        return self.repeats or self.scop.arrays[array].role is not Role.LOCAL or any(_used_outside(array, mine, self.scop))


def _used_outside(array: str, mine: Set[str], scop: Scop) -> Iterator[bool]:
    for name, statement in scop.statements.items():
        if name not in mine:
            yield any(access.array == array for access in accesses(statement))
            yield any(isinstance(value, Gather) and value.array == array for value in subvalues(statement.value))


def _names(depth: int) -> str:
    return "".join(f"h{k}, " for k in range(depth))


def _is_interval(points: isl.Set, depth: int) -> bool:
    """Returns whether the last coordinates of { [h, g, j] } are an interval for all values of the first ones."""
    up, down = (points.apply(isl.Map(f"{{ [{_names(depth)}k] -> [{_names(depth)}l] : l {op} k }}")) for op in (">=", "<="))
    return up.intersect(down).is_subset(points)
