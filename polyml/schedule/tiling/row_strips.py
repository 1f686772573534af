"""Row strips: products and the nests that they hand rows to, or take rows from, share a parallel loop over strips of rows.

    parallel it: S[i, j] += Q[i, k]*K[j, k]               parallel it: for i in the strip: S[i, j] += Q[i, k]*K[j, k]
    parallel it: m[i] = max(m[i], S[i, j])          ->                 for i in the strip: m[i] = max(m[i], S[i, j])
    parallel it: O[i, k] += exp(S[i, j] - m[i])*V[j, k]                for i in the strip: O[i, k] += exp(S[i, j] - m[i])*V[j, k]

No dependence leads from one row to another, so each strip runs all nests before the next strip begins, and what they hand on (S)
remains in the second cache; `codegen.passes.privatize` gives it memory for a strip of each thread. A strip has as many rows as fit
there. Inside a strip, products have their blocks and their companions as anywhere else. What no dependence ties to rows (a norm of
the columns that a product reads) runs before the strips. Where the order of updates is free, rows may add to the same results
(sums of columns, a product over the rows): each strip adds the part of its rows, in partial results of each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Role, Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, iterators_of, moves
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.tiling.contraction_axes import RowStrips
from polyml.schedule.tiling.row_nests import (
    Part,
    RowNest,
    SharedLoops,
    children_of,
    domain_of,
    in_rows,
    iterator_of,
    parts_of,
    shared_loop,
)
from polyml.schedule.tree.bands import TILE, names_in, parallel_mark, together
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

SECOND_SHARE = 50  # percent of the second cache that the rows of a strip fill
LEAST_SHARE = 15  # percent of it that is handed on at least
LARGEST = 256  # rows of a strip
STRIPS = 4  # for each thread, where strips then have rows enough for a product
FEW = 32  # rows that are enough, and twice those that a product has at least
FRESH_SHARE = 6  # percent of what strips move that the memory for a strip of what is handed on adds at most
JOINING = 3  # times that each thread's partial results move: set to zero, updated, added up
GAIN = 0.95  # bytes of nests in strips over those of separate ones, from which on there are no strips

_LayOut = Callable[[RowStrips, isl.Schedule], "tuple[isl.Schedule, tuple[str, ...]]"]


@dataclass(frozen=True)
class Stripped:
    """A schedule in which nests share strips of rows; that it is legal is left to be proved.

    tree: the schedule; None where no nests share strips.
    notes: what was decided.
    """

    tree: isl.Schedule | None
    notes: tuple[str, ...] = ()


def in_strips(
    schedule: isl.Schedule,
    scop: Scop,
    updates: FreeUpdates,
    limits: tuple[CpuMachine, bool, int],
    sizes: Mapping[str, int],
    lay_out: _LayOut,
) -> Stripped:
    """Returns the schedule with products and their neighbours in shared loops over strips of rows, where that saves traffic.

    updates: the dependences, and which of them are among updates of reductions.
    limits: the machine, whether loops may go to threads, and how many threads run them.
    sizes: values of parameters to choose by.
    lay_out: from the nests of a group in their order, inside a strip, to the schedule with products in blocks, and notes.
    """
    if not any(map(may_be_contraction, scop.statements.values())):
        return Stripped(None)
    tree = parse_tree(str(schedule))
    top = tree.get("child", {})
    given = top["sequence"] if "sequence" in top else [{"filter": str(schedule.get_domain()), "child": top}]
    loops = (SharedLoops(scop, updates.kept if adds else updates.every, adds) for adds in (False, True))
    search, adding = (_StripSearch(scop, updates, Traffic(scop, sizes), *limits, shared.adding, shared) for shared in loops)
    found_parts = (part for position, child in enumerate(given) for part in parts_of(child, position))
    parts = [replace(part, number=number) for number, part in enumerate(found_parts)]
    made: list[Part] = []
    notes: list[str] = []
    start = 0
    while start < len(parts):
        groups = ((group, search.strips(group, lay_out)) for group in _groups(parts[start:], search, adding))
        found, strips = next((pair for pair in groups if pair[1] is not None), (None, None))
        if found is None or strips is None:
            made.append(parts[start])
            start += 1
            continue
        made += [*found.before, Part(strips[0], (), -1)]
        notes += strips[1]
        start += len(found.before) + len(found.parts)
    if not notes:
        return Stripped(None)
    children = list(children_of(made, given, parts))
    child = children[0]["child"] if len(children) == 1 else {"sequence": children}
    return Stripped(isl.Schedule(print_tree({**tree, "child": child})), tuple(notes))


def _groups(parts: Sequence[Part], search: _StripSearch, adding: _StripSearch) -> list[_Group]:
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
class _Group:
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


@dataclass(frozen=True)
class _StripSearch:
    """The search for parts that share strips.

    traffic: the bytes that nests move at the sizes of the call.
    parallel: whether loops may go to threads.
    threads: how many run them, each with partial results.
    adding: whether shared loops may carry updates of reductions, so that each strip adds the part of its rows.
    loops: which loops parts can share.
    _orders: by the number of a part, itself and the same part with other loops outermost.
    """

    scop: Scop
    updates: FreeUpdates
    traffic: Traffic
    machine: CpuMachine
    parallel: bool
    threads: int
    adding: bool
    loops: SharedLoops
    _orders: dict[int, tuple[Part, ...]] = field(default_factory=dict)

    def pays(self, group: _Group) -> bool:
        """Returns whether a group has a product, hands on an array, and saves enough bytes; what it adds to, it does not read."""
        names = [name for part in group.parts for name in part.names]
        if not any(may_be_contraction(self.scop.statements[name]) for name in names):
            return False
        only = all(self.updates.only_in(names, arrays) for arrays in group.partial)
        return bool(group.shared) and group.moved < GAIN * group.separate and only

    def cuts_lines(self, group: _Group) -> bool:
        """Returns whether the loop over rows goes along the last dimension of an array, so that strips share cache lines."""
        return any(
            len(access.subscripts) > 1 and moves(access, iterators_of(nest.members[group.depth - 1], name), slice(-1, None))
            for nest in group.nests
            for name in nest.names
            for access in accesses(self.scop.statements[name])
        )

    def longest(self, parts: Sequence[Part]) -> _Group:
        """Returns the longest group that begins with the first part, whose loops are in this order."""
        group = _Group(())
        for part in parts:
            orders = self.orders(part) if group.parts else (part,)
            ways = [self._fitted(group.parts, order) or (*group.parts, order) for order in orders]
            grown = [made for way in ways if (made := self._with_part(replace(group, parts=way[:-1]), way[-1])) is not None]
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
            is_added = self.adding and self.adds(part)
            last = len(part.nests[0].members) if is_added and part.nests[0].permutable else self.loops.free(part)
            others = (k for k in range(1, last) if not self._counts_columns(part.nests[0], k))
            self._orders[part.number] = (part, *map(part.exchanged, others))
        return self._orders[part.number]

    def _counts_columns(self, nest: RowNest, k: int) -> bool:
        """Returns whether loop number `k` goes along the rows of an array, so that strips would cut these."""
        for statement in map(self.scop.statements.__getitem__, nest.names):
            along = iterators_of(nest.members[k], statement.name)
            if any(len(a.subscripts) > 1 and goes_to_neighbours(a, along) for a in accesses(statement)):
                return True
        return False

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

    def _with_part(self, group: _Group, part: Part) -> _Group | None:
        """Returns the group with one more part; None where they cannot share a loop.

        Parts of the group that no other one needs, and that stand in the way, run before all strips.
        """
        if not part.nests:
            return None
        parts, before = [*group.parts, part], [*group.before]
        depth = self.loops.depth(parts)
        while not depth:
            others = parts[:-1]
            away = [p for p in others if not self.loops.depth([p, part])]
            alone = [p for p in away if not self.loops.needs(p, [o for o in others if o is not p])]
            if not alone or len(alone) == len(others):
                return None
            before += alone
            parts = [p for p in parts if not any(p is a for a in alone)]
            depth = self.loops.depth(parts)
        depth = min(self.loops.depth(parts[: k + 1]) for k in range(len(parts)))
        return replace(group, parts=tuple(parts), before=tuple(before), depth=depth)

    def counted(self, group: _Group) -> _Group:
        """Returns the group with the arrays that it hands on and the bytes that it moves."""
        names = [name for part in group.parts for name in part.names]
        users: dict[str, set[str]] = {}
        for statement in self.scop.statements.values():
            for access in accesses(statement):
                users.setdefault(access.array, set()).add(statement.name)
        written = {self.scop.statements[name].write.array for name in names}
        several = {a: using for a, using in users.items() if sum(bool(using & {*nest.names}) for nest in group.nests) > 1}
        moving = written - self._others(group)
        shared = tuple(name for name in several if len(self.scop.arrays[name].shape) > 1 and name in moving)
        results = {result.array for result in self.scop.results}
        own = (name for name in shared if self.scop.arrays[name].role is Role.LOCAL and name not in results)
        arrays = tuple(name for name in own if users[name] <= {*names})
        separate = sum(self.traffic.of(nest.names) for nest in group.nests)
        partial = tuple(self.updates.carried(names, shared_loop(group.nests, k)) for k in range(group.depth))
        joined = sum(map(self.traffic.array_bytes, {array for each in partial for array in each}))
        moved = self.traffic.of(names, arrays) + (JOINING * self.threads * joined if self.parallel else 0)
        return replace(group, shared=shared, arrays=arrays, partial=partial, separate=separate, moved=moved)

    def strips(self, group: _Group, lay_out: _LayOut) -> tuple[Tree, list[str]] | None:
        """Returns the group in a loop over strips as a child of the outermost sequence, and notes; None where strips do not pay, or
        all nests run in the tiles of one product.
        """
        nests, last = group.nests, group.depth - 1
        extents = [self._extent(nests, k) for k in range(group.depth)]
        rows = self._rows(group, extents)
        if not rows:
            return None
        strip = {name: it for n in nests for name in n.names if (it := iterator_of(n.members[last], name, self.scop))}
        around = {
            f"{name}.{iterator_of(nest.members[k], name, self.scop)}" for k in range(last) for nest in nests for name in nest.names
        }
        order = {
            "domain": str(self.scop.domain.intersect(domain_of(nests))),
            "child": {"sequence": [nest.inside(last) for nest in nests]},
        }
        inner, notes = lay_out(RowStrips(rows, strip, frozenset(around)), isl.Schedule(print_tree(order)))
        inside = parse_tree(str(inner))["child"]
        if "sequence" not in inside or any(map(self._is_plain, inside["sequence"])):
            return None
        group = replace(group, separate=sum(self.traffic.of(names_in(part["filter"])) for part in inside["sequence"]))
        if group.moved >= GAIN * group.separate:
            return None
        added = {array for each in group.partial for array in each}
        adding = {name for nest in nests for name in nest.names if self.scop.statements[name].write.array in added}
        tree: Tree = {"sequence": list(in_rows(inside["sequence"], adding))}
        shared = self._shared(extents, rows)
        for k in range(last, -1, -1):
            loop, size = shared_loop(nests, k), isl.Val(rows)
            starts = loop if k < last else loop.scale_down_val(size).floor().scale_val(size)
            flags = {"permutable": 1, "coincident": [1], "options": "{ atomic[0] }"}
            mark = parallel_mark(group.partial[k]) if self.parallel and k == shared else TILE
            tree = {"mark": mark, "child": {"schedule": str(together([starts])), **flags, "child": tree}}
        return {"filter": str(domain_of(nests)), "child": tree}, [self._note(group, rows), *(f"  {note}" for note in notes)]

    def _is_plain(self, part: Tree) -> bool:
        """Returns whether a nest of a strip may be a product, but has no blocks."""
        products = (may_be_contraction(self.scop.statements[name]) for name in names_in(part["filter"]))
        return "schedule" in part.get("child", {}) and any(products)

    def _shared(self, extents: Sequence[int], rows: int) -> int:
        """Returns which of the shared loops goes to threads: the outermost one with work for all, or else the longest."""
        counts = [*extents[:-1], -(-extents[-1] // rows)]
        enough = (k for k, count in enumerate(counts) if count >= STRIPS * self.machine.cores)
        return next(enough, counts.index(max(counts)))

    def _rows(self, group: _Group, extents: Sequence[int]) -> int:
        """Returns how many rows a strip has, a power of two; 0 where there are to be no strips.

        extents: iterations of the shared loops.
        """
        second, cores = self.machine.cache(2).size_bytes, self.machine.cores if self.parallel else 1
        handed = sum(map(self.traffic.array_bytes, group.shared))
        few = self._few(group)
        if handed * 100 < second * LEAST_SHARE or extents[-1] < few:
            return 0
        fitting = second * SECOND_SHARE // 100 * prod(extents) // handed
        rows = 1 << max(min(fitting, LARGEST), few).bit_length() - 1
        while rows > few and prod(extents[:-1]) * extents[-1] < STRIPS * cores * rows:
            rows //= 2
        fresh = sum(map(self.traffic.array_bytes, group.arrays))
        while rows > few // 2 and fresh * rows * 100 > FRESH_SHARE * group.moved * prod(extents):
            rows //= 2
        strips = prod(extents[:-1]) * -(-extents[-1] // rows)
        again = sum(map(self.traffic.array_bytes, self._others(group)))
        if again > self.machine.cache(3).size_bytes and (strips - 1) * again > group.separate - group.moved:
            return 0
        return rows

    def _few(self, group: _Group) -> int:
        """Returns how many rows of a strip give each product FEW rows of its result: fewer where other loops count rows too."""
        return max(2, *(-(-FEW // others) for nest in group.nests for others in self._other_rows(nest, group.depth)))

    def _other_rows(self, nest: RowNest, depth: int) -> Iterator[int]:
        """Yields, for each statement of a nest that may be a product, the rows of its result that a row of a strip has."""
        for statement in map(self.scop.statements.__getitem__, nest.names):
            if may_be_contraction(statement):
                shared = {position for member in nest.members[:depth] for position in iterators_of(member, statement.name)}
                moving = [{k for k, c in enumerate(found[0]) if c} for found in statement.write.coefficients[:-1]]
                yield max(1, prod(self._length(statement, k) for k in set().union(*moving) - shared))

    def _others(self, group: _Group) -> set[str]:
        """Returns the arrays that each strip accesses whole, since no access to them moves with the rows."""
        last = group.depth - 1
        moving: set[str] = set()
        every: set[str] = set()
        for nest in group.nests:
            for name in nest.names:
                along = iterators_of(nest.members[last], name)
                found = [access for access in accesses(self.scop.statements[name]) if access.subscripts]
                every |= {access.array for access in found}
                moving |= {access.array for access in found if moves(access, along)}
        return every - moving

    def _extent(self, nests: Sequence[RowNest], k: int) -> int:
        """Returns the most iterations that loop number `k` of the nests has."""
        found = 0
        for nest in nests:
            for statement in map(self.scop.statements.__getitem__, nest.names):
                (position,) = iterators_of(nest.members[k], statement.name)
                found = max(found, self._length(statement, position))
        return found

    def _length(self, statement: Statement, position: int) -> int:
        """Returns the most iterations that a loop of a statement has."""
        return polyhedra.length(polyhedra.fix(statement.domain, self.traffic.sizes), position) or 0

    def _note(self, group: _Group, rows: int) -> str:
        names = sorted(name for nest in group.nests for name in nest.names)
        arrays = [self.scop.arrays[a].source_name or a for a in group.shared]
        handed = f"in which {', '.join(arrays)} stay{'s' if len(arrays) == 1 else ''} in the second cache"
        adding = sorted({self.scop.arrays[a].source_name or a for each in group.partial for a in each})
        added = f" and which add to {', '.join(adding)}" if adding else ""
        return f"{', '.join(names)}: strips of {rows} rows, {handed}{added}: {group.moved:,} bytes instead of {group.separate:,}"
