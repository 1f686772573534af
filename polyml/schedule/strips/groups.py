"""The search for nests that share strips of rows: the groups of neighbours that move fewer bytes so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polyml.model.core.scop import Access, Role, Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, moves
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.strips.part_loops import PartLoops
from polyml.schedule.strips.row_nests import Part, RowNest, shared_loop
from polyml.schedule.strips.shared_loops import SharedLoops

JOINING = 3  # times that each thread's partial results move: set to zero, updated, added up
GAIN = 0.95  # bytes of nests in strips over those of separate ones, from which on there are no strips


def groups(parts: Sequence[Part], search: GroupSearch, adding: GroupSearch) -> list[Group]:
    """Returns the groups that begin with the first part and save enough bytes, the one that saves most first: the longest whose
    rows do not depend on each other, and the longest whose rows may also add to the same results.

    The loop of the first nest over rows is its outermost one, or another one that is exchanged with it, where that saves more.

    search, adding: the searches for the one and the other.
    """
    exchanged = search.orders(parts[0])[1:]
    group = search.counted(search.longest(parts))
    found = [group]
    if group.before or not search.pays(group):
        found += [search.counted(search.longest([first, *parts[1:]])) for first in exchanged]
        group = max(filter(search.pays, found), key=lambda each: each.saved, default=group)
    is_settled = search.pays(group) and not group.before
    if any(adding.adds(part) for part in parts[len(group.parts) if is_settled else 1 :]):
        longer = [adding.longest([first, *parts[1:]]) for first in adding.orders(parts[0])]
        found += [group for each in longer if any((group := adding.counted(each)).partial) and not adding.cuts_lines(group)]
    return sorted(filter(search.pays, found), key=lambda each: each.saved, reverse=True)


@dataclass(frozen=True)
class Group:
    """Parts that may share strips.

    before: parts that stand among them and run before all strips.
    depth: how many outermost loops all nests share: the last of them is the one over rows.
    shared: arrays that one of the nests writes and others access, and that move with the rows.
    arrays: local ones among them that no other statement accesses.
    partial: for each shared loop, the arrays of which threads would have partial results.
    separate, moved: bytes that the nests move apart, and in strips.
    """

    parts: tuple[Part, ...]
    before: tuple[Part, ...] = ()
    depth: int = 0
    shared: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    partial: tuple[tuple[str, ...], ...] = ()
    separate: int = 0
    moved: int = 0

    @property
    def saved(self) -> int:
        return self.separate - self.moved

    @property
    def nests(self) -> list[RowNest]:
        return [nest for part in self.parts for nest in part.nests]

    def whole(self, loops: PartLoops) -> set[str]:
        """Returns the arrays that each strip accesses whole, since no access to them moves with the rows."""
        moving: set[str] = set()
        every: set[str] = set()
        for part in self.parts:
            for name, along in loops.positions(part, self.depth - 1).items():
                found = [access for access in accesses(loops.scop.statements[name]) if access.subscripts]
                every |= {access.array for access in found}
                moving |= {access.array for access in found if moves(access, along)}
        return every - moving


@dataclass(frozen=True)
class GroupSearch:
    """The search for parts that share strips.

    traffic: the bytes that nests move at the sizes of the call.
    threads: how many run parallel loops, each with partial results; 0: there are no such loops.
    loops: which loops parts can share; these may carry updates of reductions, so that each strip adds the part of its rows.
    _orders: by the number of a part, itself and the same part with other loops outermost.
    """

    scop: Scop
    updates: FreeUpdates
    traffic: Traffic
    threads: int
    loops: SharedLoops
    _orders: dict[int, tuple[Part, ...]] = field(default_factory=dict)

    def pays(self, group: Group) -> bool:
        """Returns whether a group has a product, hands on an array, and saves enough bytes; what it adds to, it does not read."""
        names = [name for part in group.parts for name in part.names]
        if not any(may_be_contraction(self.scop.statements[name]) for name in names):
            return False
        only = all(self.updates.only_in(names, arrays) for arrays in group.partial)
        return bool(group.shared) and group.moved < GAIN * group.separate and only

    def cuts_lines(self, group: Group) -> bool:
        """Returns whether the loop over rows goes along the last dimension of an array, so that strips share cache lines."""
        last = group.depth - 1
        return any(moves(access, along, slice(-1, None)) for part in group.parts for access, along in self._in_rows(part, last))

    def longest(self, parts: Sequence[Part]) -> Group:
        """Returns the longest group that begins with the first part, whose loops are in this order."""
        group = Group(())
        for part in parts:
            orders = self.orders(part) if group.parts else (part,)
            ways = [self._fitted(group.parts, order) or (*group.parts, order) for order in orders]
            grown = [made for way in ways if (made := self._with_part(group, way[:-1], way[-1])) is not None]
            if not grown:
                break
            group = min(grown, key=lambda made: sum(self.traffic.of(p.names) for p in made.before))
        return group

    def adds(self, part: Part) -> bool:
        """Returns whether a part is a nest some of whose loops carry updates that are free in order."""
        return any(nest.free < len(nest.members) for nest in part.nests) and self.updates.updates(part.names)

    def orders(self, part: Part) -> tuple[Part, ...]:
        """Returns the part, and then with each other loop of its nest outermost that may be and counts rows of arrays."""
        if part.number not in self._orders:
            is_added = self.loops.adding and self.adds(part)
            last = len(part.nests[0].members) if is_added and part.nests[0].permutable else self.loops.free(part)
            others = (k for k in range(1, last) if not self._counts_columns(part, k))
            self._orders[part.number] = (part, *map(part.exchanged, others))
        return self._orders[part.number]

    def _counts_columns(self, part: Part, k: int) -> bool:
        """Returns whether loop number `k` goes along the rows of an array, so that strips would cut these."""
        return any(goes_to_neighbours(access, along) for access, along in self._in_rows(part, k))

    def _in_rows(self, part: Part, k: int) -> Iterator[tuple[Access, list[int]]]:
        """Yields the accesses of a part to arrays that have rows, each with the positions of the iterators of loop number `k`."""
        for name, along in self.loops.loops.positions(part, k).items():
            yield from ((access, along) for access in accesses(self.scop.statements[name]) if len(access.subscripts) > 1)

    def _fitted(self, parts: Sequence[Part], part: Part) -> tuple[Part, ...]:
        """Returns some parts and one more, in orders of loops in which all share the outermost one; () where there are none.

        The order of a part that no dependence ties to the others is still open, but for the first one.
        """
        made: list[Part] = []
        for position, other in enumerate(parts):
            thirds = (third for third in parts if third is not other)
            is_open = position > 0 and not (self.loops.between(other, part) or any(self.loops.are_tied(other, t) for t in thirds))
            orders = self.orders(self.orders(other)[0]) if is_open else (other,)
            found = next((order for order in orders if self.loops.between(order, part)), None)
            if found is None:
                return ()
            made.append(found)
        return (*made, part)

    def _with_part(self, group: Group, others: tuple[Part, ...], part: Part) -> Group | None:
        """Returns the group with one more part; None where they cannot share a loop.

        Parts of the group that no other one needs, and that stand in the way, run before all strips.

        others: the parts of the group, in orders in which they may share a loop with the new one.
        """
        if not part.nests:
            return None
        parts, before = [*others, part], [*group.before]
        depth = self.loops.depth(parts)
        while not depth:
            others = tuple(parts[:-1])
            away = [p for p in others if not self.loops.depth([p, part])]
            alone = [p for p in away if not self.loops.needs(p, [o for o in others if o is not p])]
            if not alone or len(alone) == len(others):
                return None
            before += alone
            parts = [p for p in parts if not any(p is a for a in alone)]
            depth = self.loops.depth(parts)
        if group.parts and len(parts) > len(group.parts) and all(one is other for one, other in zip(group.parts, parts)):
            depth = min(group.depth, depth)
        else:
            depth = min(self.loops.depth(parts[: k + 1]) for k in range(len(parts)))
        return replace(group, parts=tuple(parts), before=tuple(before), depth=depth)

    def counted(self, group: Group) -> Group:
        """Returns the group with the arrays that it hands on and the bytes that it moves."""
        names = [name for part in group.parts for name in part.names]
        users: dict[str, set[str]] = {}
        for statement in self.scop.statements.values():
            for access in accesses(statement):
                users.setdefault(access.array, set()).add(statement.name)
        written = {self.scop.statements[name].write.array for name in names}
        several = {a: using for a, using in users.items() if sum(bool(using & {*nest.names}) for nest in group.nests) > 1}
        moving = written - group.whole(self.loops.loops)
        shared = tuple(name for name in several if len(self.scop.arrays[name].shape) > 1 and name in moving)
        results = {result.array for result in self.scop.results}
        own = (name for name in shared if self.scop.arrays[name].role is Role.LOCAL and name not in results)
        arrays = tuple(name for name in own if users[name] <= {*names})
        separate = sum(self.traffic.of(nest.names) for nest in group.nests)
        partial = tuple(self.updates.carried(names, shared_loop(group.nests, k)) for k in range(group.depth))
        joined = sum(map(self.traffic.array_bytes, {array for each in partial for array in each}))
        moved = self.traffic.of(names, arrays) + JOINING * self.threads * joined
        return replace(group, shared=shared, arrays=arrays, partial=partial, separate=separate, moved=moved)
