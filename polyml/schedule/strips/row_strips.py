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

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.strips.column_blocks import ColumnBlocks, column_blocks
from polyml.schedule.strips.groups import GAIN, Group, GroupSearch, groups
from polyml.schedule.strips.part_loops import PartLoops
from polyml.schedule.strips.row_nests import (
    Part,
    RowNest,
    children_of,
    domain_of,
    in_rows,
    iterator_of,
    parts_of,
    shared_loop,
)
from polyml.schedule.strips.shared_loops import SharedLoops
from polyml.schedule.tiling.contraction_axes import RowStrips
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import TILE, names_in, parallel_mark, together
from polyml.schedule.tree.text import Tree

SECOND_SHARE = 50  # percent of the second cache that the rows of a strip fill
LEAST_SHARE = 15  # percent of it that is handed on at least
LARGEST = 256  # rows of a strip
STRIPS = 4  # for each thread, where strips then have rows enough for a product
FEW = 32  # rows that are enough, and twice those that a product has at least
FRESH_SHARE = 4  # percent of what strips move that the memory for a strip of what is handed on adds at most

_LayOut = Callable[[RowStrips, isl.Schedule], "tuple[isl.Schedule, tuple[str, ...]]"]


@dataclass(frozen=True)
class Stripped:
    """A schedule in which nests share strips of rows; that it is legal is left to be proved.

    tree: the schedule; None where no nests share strips.
    notes: what was decided.
    blocked: whether strips run in blocks of columns that nests share.
    """

    tree: isl.Schedule | None
    notes: tuple[str, ...] = ()
    blocked: bool = False


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
    tree = nodes.tree_of(schedule)
    top = tree.get("child", {})
    given = top["sequence"] if "sequence" in top else [{"filter": nodes.text_of(schedule.get_domain()), "child": top}]
    machine, parallel, threads = limits
    traffic = Traffic(scop, sizes)
    known = PartLoops(scop, sizes)
    loops = (SharedLoops(updates.kept if adds else updates.every, known, adds) for adds in (False, True))
    search, adding = (GroupSearch(scop, updates, traffic, threads if parallel else 0, shared) for shared in loops)
    layout = _StripLayout(known, updates.every, traffic, machine, threads if parallel else 1, parallel, lay_out)
    found_parts = (part for position, child in enumerate(given) for part in parts_of(child, position))
    parts = [replace(part, number=number) for number, part in enumerate(found_parts)]
    made: list[Part] = []
    notes: list[str] = []
    start, blocked = 0, False
    while start < len(parts):
        made_of = (layout.strips(group) for group in groups(parts[start:], search, adding))
        strips = next(filter(None, made_of), None)
        if strips is None:
            made.append(parts[start])
            start += 1
            continue
        made += [*strips.group.before, Part(strips.tree, (), -1)]
        notes += strips.notes
        blocked = blocked or strips.blocked
        start += len(strips.group.before) + len(strips.group.parts)
    if not notes:
        return Stripped(None)
    children = list(children_of(made, given, parts))
    child = children[0]["child"] if len(children) == 1 else {"sequence": children}
    return Stripped(nodes.schedule({**tree, "child": child}), tuple(notes), blocked)


@dataclass(frozen=True)
class _Strips:
    """A group in a loop over strips.

    tree: as a child of the outermost sequence.
    notes: what was decided.
    blocked: whether strips run in blocks of columns.
    """

    group: Group
    tree: Tree
    notes: Sequence[str]
    blocked: bool


@dataclass(frozen=True)
class _StripLayout:
    """The layout of groups in strips, with as many rows as the second cache holds.

    loops: what is known of the loops of parts.
    dependences: { S[i] -> T[j] }, all of them.
    traffic: the bytes that nests move at the sizes of the call.
    threads: how many run the strips.
    parallel: whether loops may go to threads.
    lay_out: as in `in_strips`.
    """

    loops: PartLoops
    dependences: isl.UnionMap
    traffic: Traffic
    machine: CpuMachine
    threads: int
    parallel: bool
    lay_out: _LayOut

    @property
    def scop(self) -> Scop:
        return self.loops.scop

    def strips(self, group: Group) -> _Strips | None:
        """Returns the group in a loop over strips; None where strips do not pay, or all nests run in the tiles of one product."""
        nests, last = group.nests, group.depth - 1
        blocks = column_blocks(nests, group.depth, self.scop, self.dependences)
        extents = [self.loops.most(group.parts, k) for k in range(group.depth)]
        rows = self._rows(group, extents, blocks)
        if not rows:
            return None
        found = self._inside(nests, last, rows, blocks)
        if found is None:
            return None
        inside, more = found
        group = replace(group, separate=sum(self.traffic.of(names_in(part["filter"])) for section in inside for part in section))
        if group.moved >= GAIN * group.separate:
            return None
        added = {array for each in group.partial for array in each}
        adding = {name for nest in nests for name in nest.names if self.scop.statements[name].write.array in added}
        tree: Tree = {"sequence": self._parts(inside, blocks, adding)}
        shared = self._shared(extents, rows, self._cores(blocks))
        for k in range(last, -1, -1):
            loop, size = shared_loop(nests, k), isl.Val(rows)
            starts = loop if k < last else loop.scale_down_val(size).floor().scale_val(size)
            flags = {"permutable": 1, "coincident": [1], "options": "{ atomic[0] }"}
            mark = parallel_mark(group.partial[k]) if self.parallel and k == shared else TILE
            tree = {"mark": mark, "child": {"schedule": nodes.text_of(together([starts])), **flags, "child": tree}}
        made: Tree = {"filter": nodes.text_of(domain_of(nests)), "child": tree}
        notes = [self._note(group, rows, blocks), *(f"  {note}" for note in more)]
        return _Strips(group, made, notes, blocks is not None)

    def _inside(
        self, nests: Sequence[RowNest], last: int, rows: int, blocks: ColumnBlocks | None
    ) -> tuple[list[list[Tree]], tuple[str, ...]] | None:
        """Returns the nests of a strip with products in blocks, as children of a sequence, and notes; None where a product has none.
        There are three lists of children where some nests share blocks of columns: before, in and after these.

        last: the number of the loop over rows. rows: of a strip.
        """
        strip = {name: it for n in nests for name in n.names if (it := iterator_of(n.members[last], name, self.scop))}
        around = {
            f"{name}.{iterator_of(nest.members[k], name, self.scop)}" for k in range(last) for nest in nests for name in nest.names
        }
        whole = RowStrips(rows, strip, frozenset(around))
        if blocks is None:
            found = [self._laid_out(nests, last, whole, several=True)]
        else:
            sections = (blocks.before, whole), (blocks.inside, blocks.within(whole)), (blocks.after, whole)
            found = [self._laid_out(part, last, strips, several=False) for part, strips in sections]
        made = [each for each in found if each is not None]
        return None if len(made) < len(found) else ([tree for tree, _ in made], tuple(note for _, notes in made for note in notes))

    def _laid_out(
        self, nests: Sequence[RowNest], last: int, strips: RowStrips, several: bool
    ) -> tuple[list[Tree], tuple[str, ...]] | None:
        """Returns nests with products in blocks, as children of a sequence, and notes; None where a product has none.

        several: whether the result is also None where all run in the tiles of one product.
        """
        if not nests:
            return [], ()
        order = {
            "domain": nodes.text_of(self.scop.domain.intersect(domain_of(nests))),
            "child": {"sequence": [nest.inside(last) for nest in nests]},
        }
        inner, notes = self.lay_out(strips, nodes.schedule(order))
        inside = nodes.tree_of(inner)["child"]
        if "sequence" not in inside and not several:
            inside = {"sequence": [{"filter": nodes.text_of(domain_of(nests)), "child": inside}]}
        if "sequence" not in inside or any(map(self._is_plain, inside["sequence"])):
            return None
        return inside["sequence"], notes

    def _parts(self, sections: Sequence[list[Tree]], blocks: ColumnBlocks | None, adding: Set[str]) -> list[Tree]:
        """Returns the children of the sequence in a strip, those in blocks of columns inside the loop over these."""
        found = [list(in_rows(section, adding)) for section in sections]
        if blocks is None:
            return found[0]
        loop = {"schedule": nodes.text_of(together([blocks.block])), "permutable": 1, "coincident": [0], "options": "{ atomic[0] }"}
        tree = {"mark": TILE, "child": {**loop, "child": {"sequence": found[1]}}}
        return [*found[0], {"filter": nodes.text_of(domain_of(blocks.inside)), "child": tree}, *found[2]]

    def _is_plain(self, part: Tree) -> bool:
        """Returns whether a nest of a strip may be a product, but has no blocks."""
        products = (may_be_contraction(self.scop.statements[name]) for name in names_in(part["filter"]))
        return "schedule" in part.get("child", {}) and any(products)

    def _shared(self, extents: Sequence[int], rows: int, cores: int) -> int:
        """Returns which of the shared loops goes to threads: the outermost one with work for all, or else the longest."""
        counts = [*extents[:-1], -(-extents[-1] // rows)]
        enough = (k for k, count in enumerate(counts) if count >= STRIPS * cores)
        return next(enough, counts.index(max(counts)))

    def _rows(self, group: Group, extents: Sequence[int], blocks: ColumnBlocks | None) -> int:
        """Returns how many rows a strip has, a power of two; 0 where there are to be no strips.

        extents: iterations of the shared loops.
        """
        second, cores = self.machine.cache(2).size_bytes, self._cores(blocks)
        handed = sum(self._live_bytes(array, blocks) for array in group.shared)
        few = self._few(group)
        if handed * 100 < second * LEAST_SHARE or extents[-1] < few:
            return 0
        fitting = second * SECOND_SHARE // 100 * prod(extents) // handed
        rows = 1 << max(min(fitting, LARGEST), few).bit_length() - 1
        while rows > few and prod(extents[:-1]) * extents[-1] < STRIPS * cores * rows:
            rows //= 2
        fresh = sum(map(self.traffic.array_bytes, group.arrays)) if blocks is None else 0
        while rows > max(2, few // 2) and fresh * rows * 100 > FRESH_SHARE * group.moved * prod(extents):
            rows //= 2
        strips = prod(extents[:-1]) * -(-extents[-1] // rows)
        again = sum(map(self.traffic.array_bytes, group.whole(self.loops)))
        if again > self.machine.cache(3).size_bytes and (strips - 1) * again > group.separate - group.moved:
            return 0
        return rows

    def _cores(self, blocks: ColumnBlocks | None) -> int:
        """Returns for how many cores there are to be strips: in blocks of columns, where each strip reads all of the other operand, no
        more than run.
        """
        if blocks is not None:
            return self.threads
        return self.machine.cores if self.parallel else 1

    def _live_bytes(self, array: str, blocks: ColumnBlocks | None) -> int:
        """Returns the bytes of an array, or of those of its columns that one block has."""
        share = 1.0 if blocks is None else blocks.share(array, self.traffic.sizes)
        return int(self.traffic.array_bytes(array) * share)

    def _few(self, group: Group) -> int:
        """Returns how many rows of a strip give each product FEW rows of its result: fewer where other loops count rows too."""
        return max(2, *(-(-FEW // others) for nest in group.nests for others in self._other_rows(nest, group.depth)))

    def _other_rows(self, nest: RowNest, depth: int) -> Iterator[int]:
        """Yields, for each statement of a nest that may be a product, the rows of its result that a row of a strip has."""
        for statement in map(self.scop.statements.__getitem__, nest.names):
            if may_be_contraction(statement):
                shared = {position for member in nest.members[:depth] for position in iterators_of(member, statement.name)}
                moving = [{k for k, c in enumerate(found[0]) if c} for found in statement.write.coefficients[:-1]]
                yield max(1, prod(self.loops.length(statement.name, k) for k in set().union(*moving) - shared))

    def _note(self, group: Group, rows: int, blocks: ColumnBlocks | None) -> str:
        names = sorted(name for nest in group.nests for name in nest.names)
        arrays = [self.scop.arrays[a].source_name or a for a in group.shared]
        columns = f" in blocks of {max(n for _, n in blocks.columns.values())} columns" if blocks else ""
        handed = f"in which {', '.join(arrays)} stay{'s' if len(arrays) == 1 else ''} in the second cache"
        adding = sorted({self.scop.arrays[a].source_name or a for each in group.partial for a in each})
        added = f" and which add to {', '.join(adding)}" if adding else ""
        return f"{', '.join(names)}: strips of {rows} rows{columns}, {handed}{added}: {group.moved:,} bytes instead of {group.separate:,}"
