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
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import accesses, iterators_of
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.strips.groups import GAIN, Group, GroupSearch, groups
from polyml.schedule.strips.row_nests import Part, RowNest, children_of, domain_of, in_rows, iterator_of, parts_of, shared_loop
from polyml.schedule.strips.shared_loops import SharedLoops
from polyml.schedule.tiling.contraction_axes import RowStrips
from polyml.schedule.tree.bands import TILE, names_in, parallel_mark, together
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

SECOND_SHARE = 50  # percent of the second cache that the rows of a strip fill
LEAST_SHARE = 15  # percent of it that is handed on at least
LARGEST = 256  # rows of a strip
STRIPS = 4  # for each thread, where strips then have rows enough for a product
FEW = 32  # rows that are enough, and four times those that a product has at least
KEPT_SHARE = 90  # percent of the second cache that a strip and what all strips read whole fill, where so few rows are enough
FRESH_SHARE = 1  # percent of what strips move that the memory for a strip of what is handed on adds at most

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
    machine, parallel, threads = limits
    traffic = Traffic(scop, sizes)
    loops = (SharedLoops(scop, updates.kept if adds else updates.every, adds) for adds in (False, True))
    search, adding = (GroupSearch(scop, updates, traffic, threads if parallel else 0, shared) for shared in loops)
    layout = _StripLayout(scop, traffic, machine, parallel, lay_out)
    found_parts = (part for position, child in enumerate(given) for part in parts_of(child, position))
    parts = [replace(part, number=number) for number, part in enumerate(found_parts)]
    made: list[Part] = []
    notes: list[str] = []
    start = 0
    while start < len(parts):
        made_of = ((group, layout.strips(group)) for group in groups(parts[start:], search, adding))
        found, strips = next((pair for pair in made_of if pair[1] is not None), (None, None))
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


@dataclass(frozen=True)
class _StripLayout:
    """The layout of groups in strips, with as many rows as the second cache holds.

    traffic: the bytes that nests move at the sizes of the call.
    parallel: whether loops may go to threads.
    lay_out: as in `in_strips`.
    """

    scop: Scop
    traffic: Traffic
    machine: CpuMachine
    parallel: bool
    lay_out: _LayOut

    def strips(self, group: Group) -> tuple[Tree, list[str]] | None:
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
        inner, notes = self.lay_out(RowStrips(rows, strip, frozenset(around)), isl.Schedule(print_tree(order)))
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

    def _rows(self, group: Group, extents: Sequence[int]) -> int:
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
        rows = self._few_enough(group, extents, rows, max(2, few // 4))
        strips = prod(extents[:-1]) * -(-extents[-1] // rows)
        again = sum(map(self.traffic.array_bytes, group.whole(self.scop)))
        if again > self.machine.cache(3).size_bytes and (strips - 1) * again > group.separate - group.moved:
            return 0
        return rows

    def _few_enough(self, group: Group, extents: Sequence[int], rows: int, least: int) -> int:
        """Returns how many rows a strip has so that its memory, which is fetched once, is little beside what the nests move, and so
        that what all strips access whole stays in the second cache, where fewer rows suffice for that.

        rows: how many rows there may be. least: how few.
        """
        *around, whole = (group.whole(self.scop, k) for k in range(group.depth))
        along = fixed = 0
        for array in {a.array for nest in group.nests for name in nest.names for a in accesses(self.scop.statements[name])}:
            size_bytes = self.traffic.array_bytes(array)
            if array in whole:
                fixed += size_bytes // prod(n for n, still in zip(extents, around) if array not in still)
            else:
                along += size_bytes
        room = (self.machine.cache(2).size_bytes * KEPT_SHARE // 100 - fixed) * prod(extents)
        if room < along * least:
            return rows
        fresh = sum(map(self.traffic.array_bytes, group.arrays))
        most = group.moved * prod(extents) * FRESH_SHARE // 100
        while rows > least and (fresh * rows > most or along * rows > room):
            rows //= 2
        return rows

    def _few(self, group: Group) -> int:
        """Returns how many rows of a strip give each product FEW rows of its result: fewer where other loops count rows too."""
        return max(2, *(-(-FEW // others) for nest in group.nests for others in self._other_rows(nest, group.depth)))

    def _other_rows(self, nest: RowNest, depth: int) -> Iterator[int]:
        """Yields, for each statement of a nest that may be a product, the rows of its result that a row of a strip has."""
        for statement in map(self.scop.statements.__getitem__, nest.names):
            if may_be_contraction(statement):
                shared = {position for member in nest.members[:depth] for position in iterators_of(member, statement.name)}
                moving = [{k for k, c in enumerate(found[0]) if c} for found in statement.write.coefficients[:-1]]
                yield max(1, prod(self._length(statement, k) for k in set().union(*moving) - shared))

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

    def _note(self, group: Group, rows: int) -> str:
        names = sorted(name for nest in group.nests for name in nest.names)
        arrays = [self.scop.arrays[a].source_name or a for a in group.shared]
        handed = f"in which {', '.join(arrays)} stay{'s' if len(arrays) == 1 else ''} in the second cache"
        adding = sorted({self.scop.arrays[a].source_name or a for each in group.partial for a in each})
        added = f" and which add to {', '.join(adding)}" if adding else ""
        return f"{', '.join(names)}: strips of {rows} rows, {handed}{added}: {group.moved:,} bytes instead of {group.separate:,}"
