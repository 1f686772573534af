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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Role, Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import accesses, iterators_of, moves
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.tiling.contraction_axes import RowStrips
from polyml.schedule.tiling.row_nests import Part, RowNest, children_of, domain_of, in_rows, iterator_of, parts_of, shared_loop
from polyml.schedule.tree.bands import TILE, names_in, parallel_mark, together
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

SECOND_SHARE = 50  # percent of the second cache that the rows of a strip fill
LEAST_SHARE = 15  # percent of it that is handed on at least
LARGEST, LEAST = 256, 16  # rows of a strip
STRIPS = 4  # for each thread, where strips then have rows enough for a product (FEW)
FEW = 32
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
    limits: tuple[CpuMachine, bool],
    sizes: Mapping[str, int],
    lay_out: _LayOut,
) -> Stripped:
    """Returns the schedule with products and their neighbours in shared loops over strips of rows, where that saves traffic.

    updates: the dependences, and which of them are among updates of reductions.
    limits: the machine, and whether loops may go to threads.
    sizes: values of parameters to choose by.
    lay_out: from the nests of a group in their order, inside a strip, to the schedule with products in blocks, and notes.
    """
    if not any(map(may_be_contraction, scop.statements.values())):
        return Stripped(None)
    tree = parse_tree(str(schedule))
    top = tree.get("child", {})
    given = top["sequence"] if "sequence" in top else [{"filter": str(schedule.get_domain()), "child": top}]
    search, adding = (_StripSearch(scop, updates, Traffic(scop, sizes), *limits, adds) for adds in (False, True))
    parts = [part for position, child in enumerate(given) for part in parts_of(child, position)]
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

    search, adding: the searches for the one and the other.
    """
    group = search.longest(parts)
    found = [search.counted(group)]
    others = parts[len(group.before) + len(group.parts) :] if search.pays(found[0]) else parts[1:]
    if any(adding.adds(part) for part in others):
        longer = adding.longest(parts)
        found += [adding.counted(longer)] if len(longer.parts) > len(group.parts) or not search.pays(found[0]) else []
    return sorted(filter(search.pays, found), key=lambda each: each.moved - each.separate)


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
    def nests(self) -> list[RowNest]:
        return [nest for part in self.parts for nest in part.nests]


@dataclass(frozen=True)
class _StripSearch:
    """The search for parts that share strips.

    traffic: the bytes that nests move at the sizes of the call.
    parallel: whether loops may go to threads.
    adding: whether shared loops may carry updates of reductions, so that each strip adds the part of its rows.
    _known: how many loops two parts can share, by their identities.
    _turned: nests with each of their loops outermost, by the identity of their part.
    """

    scop: Scop
    updates: FreeUpdates
    traffic: Traffic
    machine: CpuMachine
    parallel: bool
    adding: bool = False
    _known: dict[tuple[int, int], int] = field(default_factory=dict)
    _turned: dict[int, tuple[Part, ...]] = field(default_factory=dict)

    def pays(self, group: _Group) -> bool:
        """Returns whether a group has a product, hands on an array, and saves enough bytes; what it adds to, it does not read."""
        names = [name for part in group.parts for name in part.names]
        if not any(may_be_contraction(self.scop.statements[name]) for name in names):
            return False
        only = all(self.updates.only_in(names, arrays) for arrays in group.partial)
        return bool(group.shared) and group.moved < GAIN * group.separate and only

    def longest(self, parts: Sequence[Part]) -> _Group:
        """Returns the longest group that begins with the first part."""
        group = _Group(())
        for part in parts:
            ways = [grown for each in self._ways(part) if (grown := self._with_part(group, each)) is not None]
            if not ways:
                break
            group = min(ways, key=lambda way: sum(self.traffic.of(p.names) for p in way.before))
        return group

    def adds(self, part: Part) -> bool:
        """Returns whether a part is a nest some of whose loops carry updates that are free in order."""
        return any(nest.free < len(nest.members) for nest in part.nests) and self.updates.updates(part.names)

    def _ways(self, part: Part) -> tuple[Part, ...]:
        """Returns the part; where shared loops may carry updates, also with each of the other loops of its nest outermost."""
        if not self.adding or not self.adds(part):
            return (part,)
        if id(part) not in self._turned:
            (nest,) = part.nests
            turned = (replace(part, tree=other.inside(0), nests=(other,)) for other in nest.turned())
            self._turned[id(part)] = (part, *turned)
        return self._turned[id(part)]

    def _with_part(self, group: _Group, part: Part) -> _Group | None:
        """Returns the group with one more part; None where they cannot share a loop.

        Parts of the group that no other one needs, and that stand in the way, run before all strips.
        """
        if not part.nests:
            return None
        parts, before = [*group.parts, part], [*group.before]
        depth = self._depth(parts)
        while not depth:
            others = parts[:-1]
            alone = [p for p in others if not self._depth([p, part]) and not self._needs(p, [o for o in others if o is not p])]
            if not alone or len(alone) == len(others):
                return None
            before += alone
            parts = [p for p in parts if not any(p is a for a in alone)]
            depth = self._depth(parts)
        return replace(group, parts=tuple(parts), before=tuple(before), depth=depth)

    def _needs(self, part: Part, others: Sequence[Part]) -> bool:
        """Returns whether a statement of the part depends on one of the others."""
        mine, theirs = domain_of(part.nests), domain_of([nest for other in others for nest in other.nests])
        return not self.updates.every.intersect_domain(theirs).intersect_range(mine).is_empty()

    def _depth(self, parts: Sequence[Part]) -> int:
        """Returns how many outermost loops all nests of the parts can share: along these every dependence has distance zero."""
        *before, last = parts
        return min(self._between(part, last) for part in (*before, last))

    def _between(self, part: Part, other: Part) -> int:
        """Returns how many outermost loops the nests of two parts, or of one part and itself, can share."""
        key = id(part), id(other)
        if key not in self._known:
            nests = part.nests if part is other else (*part.nests, *other.nests)
            mine, theirs = domain_of(part.nests), domain_of(other.nests)
            every = self.updates.kept if self.adding else self.updates.every
            pairs = every.intersect_domain(mine).intersect_range(theirs)
            depth = 0
            while depth < min(map(self._free, nests)) and self._is_shared(nests, depth, pairs):
                depth += 1
            self._known[key] = depth
        return self._known[key]

    def _free(self, nest: RowNest) -> int:
        """Returns how many outermost loops of a nest may be shared: those that carry no dependence, and of a product all but two."""
        statements = map(self.scop.statements.__getitem__, nest.names)
        return min(
            [len(nest.members) if self.adding else nest.free, *(len(s.iterators) - 2 for s in statements if may_be_contraction(s))]
        )

    def _is_shared(self, nests: Sequence[RowNest], k: int, pairs: isl.UnionMap) -> bool:
        """Returns whether loop number `k` of all nests follows one iterator, and no pair of the dependences moves along it."""
        if any(iterator_of(nest.members[k], name, self.scop) is None for nest in nests for name in nest.names):
            return False
        loop = together([shared_loop(nests, k)])
        return pairs.lex_lt_at_multi_union_pw_aff(loop).is_empty() and pairs.lex_gt_at_multi_union_pw_aff(loop).is_empty()

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
        moved = self.traffic.of(names, arrays) + (JOINING * self.machine.cores * joined if self.parallel else 0)
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
        tree: Tree = {"sequence": list(in_rows(inside["sequence"]))}
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
        if handed * 100 < second * LEAST_SHARE or extents[-1] < 2 * LEAST:
            return 0
        fitting = second * SECOND_SHARE // 100 * prod(extents) // handed
        rows = 1 << max(min(fitting, LARGEST), LEAST).bit_length() - 1
        while rows > FEW and prod(extents[:-1]) * extents[-1] < STRIPS * cores * rows:
            rows //= 2
        fresh = sum(map(self.traffic.array_bytes, group.arrays))
        while rows > LEAST and fresh * rows * 100 > FRESH_SHARE * group.moved * prod(extents):
            rows //= 2
        strips = prod(extents[:-1]) * -(-extents[-1] // rows)
        again = sum(map(self.traffic.array_bytes, self._others(group)))
        if again > self.machine.cache(3).size_bytes and (strips - 1) * again > group.separate - group.moved:
            return 0
        return rows

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
                found = max(found, polyhedra.length(polyhedra.fix(statement.domain, self.traffic.sizes), position) or 0)
        return found

    def _note(self, group: _Group, rows: int) -> str:
        names = sorted(name for nest in group.nests for name in nest.names)
        arrays = [self.scop.arrays[a].source_name or a for a in group.shared]
        handed = f"in which {', '.join(arrays)} stay{'s' if len(arrays) == 1 else ''} in the second cache"
        adding = sorted({self.scop.arrays[a].source_name or a for each in group.partial for a in each})
        added = f" and which add to {', '.join(adding)}" if adding else ""
        return f"{', '.join(names)}: strips of {rows} rows, {handed}{added}: {group.moved:,} bytes instead of {group.separate:,}"
