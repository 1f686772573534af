"""Chunks of rows: nests of which one writes a large local array that others read share a loop over chunks of its rows.

    parallel i: T[i, :] = f(A[i, :])                       for c by 64: parallel i in c ... c + 63: T[i, :] = ...
    parallel i: B[i, :] = T[i - 1, :] + T[i + 1, :]   ->                parallel i in c - 1 ... c + 62: B[i, :] = ...

Each nest keeps its own loops and threads, and runs as many rows behind the nests before it as the rows that it reads need: the
least shifts for which no dependence goes back to an earlier chunk, by longest paths over the exact distances. Only a few rows are
live from one chunk to the next, so that the array remains in the caches (`codegen.passes.fold_storage` gives it memory for no
more). Loops are shifted before they are fused as in Verdoolaege, Bruynooghe, Janssens and Catthoor, "Multi-dimensional incremental
loop fusion for data locality", ASAP 2003; here chunks are shared in place of single rows, since a fused loop has no threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Role, Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, iterators_of
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE, members_of
from polyml.schedule.tree.text import Tree

LEAST_BYTES = 8 * 2**20  # of arrays for which chunks are worth the threads' barriers; for one thread, twice its second cache
ALONE_SHARE = 50  # percent of the second cache that a chunk's rows of them fill for one thread; several fill theirs: fewer barriers
THREAD_BYTES = 256 * 2**10  # of them that a thread has of a chunk at least, whichever number of rows that is
FEWEST = 4  # chunks of an array
STRIP = 8  # rows that a thread takes at a time at most


@dataclass(frozen=True)
class _RowNest:
    """A nest of the outermost sequence whose instances each belong to a row of some arrays.

    tree: the node of the sequence.
    domain: { S[i] }, its instances.
    rows: { S[i] -> [(row)] }.
    along: whether its outermost loop, which threads share, is the one over rows.
    """

    tree: Tree
    domain: isl.UnionSet
    rows: isl.UnionPwAff
    along: bool

    @property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)


@dataclass(frozen=True)
class Chunks:
    """Consecutive nests that share a loop over chunks of rows.

    first, last: their positions in the outermost sequence.
    shifts: by how many rows each nest runs behind the first one.
    arrays: local arrays that several of the nests access, and no other statement does.
    """

    first: int
    last: int
    shifts: tuple[int, ...]
    arrays: tuple[str, ...]


def handed_on(scop: Scop) -> dict[str, frozenset[str]]:
    """Returns the local arrays that nests may hand on to each other in chunks of rows, each with the statements that access it.

    The arrays have several dimensions, are not returned, and are accessed by several statements with a loop for each dimension.
    """
    results = {r.array for r in scop.results}
    users: dict[str, set[str]] = {}
    for statement in scop.statements.values():
        for access in accesses(statement):
            users.setdefault(access.array, set()).add(statement.name)
    inner = (a for a in scop.arrays.values() if a.role is Role.LOCAL and len(a.shape) > 1 and a.name not in results)
    return {a.name: frozenset(users[a.name]) for a in inner if len(_over_all(scop, a.name, users.get(a.name, ()))) > 1}


def _over_all(scop: Scop, array: str, names: Iterable[str]) -> list[str]:
    """Returns those of the statements `names` that are in at least as many loops as the array has dimensions."""
    return [name for name in names if len(scop.statements[name].iterators) >= len(scop.arrays[array].shape)]


@dataclass(frozen=True)
class Chunked:
    """A schedule in which nests share loops over chunks of rows; that it is legal is left to be proved.

    tree: the schedule; None where there are no chunks for the given sizes.
    notes: what was decided.
    sized: whether there would be chunks for some sizes.
    """

    tree: isl.Schedule | None
    notes: tuple[str, ...]
    sized: bool


def in_chunks(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, machine: CpuMachine, sizes: Mapping[str, int] | None
) -> Chunked:
    """Returns the schedule with nests in shared loops over chunks of rows, where that saves memory traffic.

    sizes: values of parameters; None: taken to be too small for chunks.
    """
    tree = nodes.tree_of(schedule)
    parts = tree.get("child", {}).get("sequence", [])
    nests = [_nest(part, scop) for part in parts]
    traffic, handed = Traffic(scop, sizes), handed_on(scop)
    made: list[Tree] = []
    notes: list[str] = []
    start, sized = 0, False
    while start < len(parts):
        found = _chunks(nests, start, scop, dependences, handed)
        rows = 0 if found is None or sizes is None else _rows(found, scop, machine, traffic)
        sized = sized or found is not None
        if found is None or not rows:
            made.append(parts[start])
            start += 1
            continue
        inside = [nest for nest in nests[found.first : found.last + 1] if nest is not None]
        made.append(_tree(found, inside, rows, max(1, min(STRIP, rows // (2 * machine.cores)))))
        notes.append(_note(found, inside, rows, scop, traffic))
        start = found.last + 1
    if not notes:
        return Chunked(None, (), sized)
    child = made[0]["child"] if len(made) == 1 else {"sequence": made}
    return Chunked(nodes.schedule({**tree, "child": child}), tuple(notes), True)


def _nest(part: Tree, scop: Scop) -> _RowNest | None:
    """Returns a node of the outermost sequence as a nest over rows; None where it has no loop over rows or may be a contraction."""
    domain = nodes.instances(part["filter"])
    statements = [scop.statements[name] for name in polyhedra.set_names(domain)]
    band = _loops(part.get("child", {}))
    if band is None or any(map(may_be_contraction, statements)):
        return None
    rows: isl.UnionPwAff = members_of(band)[0].intersect_domain(domain)
    own = [s for s in statements if not _moves_rows(s, rows, scop)]
    if own:
        rows = rows.subtract_domain(polyhedra.union([isl.UnionSet.from_set(s.domain) for s in own], isl.UnionSet("{ }")))
        for statement in own:
            row = polyhedra.single(statement.write.subscripts[0]) if len(statement.write.subscripts) > 1 else None
            if row is None:
                return None
            rows = rows.union_add(isl.UnionPwAff.from_pw_aff(row.intersect_domain(statement.domain)))
    return _RowNest(part, domain, rows, not own)


def _loops(node: Tree) -> Tree | None:
    """Returns the band of a nest's outermost loops over single iterations; None where the nest does not begin with it.

    Only a parallel loop over strips, for threads, may be around that band.
    """
    if node.get("mark") == PARALLEL:
        inside = node["child"].get("child", {})
        return inside["child"] if inside.get("mark") == POINT else None
    return node if "schedule" in node else None


def _moves_rows(statement: Statement, rows: isl.UnionPwAff, scop: Scop) -> bool:
    """Returns whether the loop `rows` changes the first subscript of some access to an array of several dimensions."""
    along = iterators_of(rows, statement.name)
    return any(k in along for a in accesses(statement) if len(a.subscripts) > 1 for k in polyhedra.used_iterators(a.subscripts[0]))


def _chunks(
    nests: Sequence[_RowNest | None], start: int, scop: Scop, dependences: Dependences, handed: Mapping[str, frozenset[str]]
) -> Chunks | None:
    """Returns which nests, from position `start` on, are to share a loop over chunks of rows: those that pass on the most arrays.

    A local array is passed on where several of these nests access it, and no other statement does. None where there is no such
    array, or no two nests can share a loop.

    nests: the outermost sequence's, None for other nodes.
    handed: local arrays, each with the statements that access it (see `handed_on`).
    """
    shifts: list[int] = []
    inside: list[_RowNest] = []
    best = None
    for last in range(start, len(nests)):
        nest = nests[last]
        shift = None if nest is None else _shift(inside, shifts, nest, dependences)
        if nest is None or shift is None:
            break
        inside.append(nest)
        shifts.append(shift)
        arrays = _arrays(inside, scop, handed)
        if last > start and len(arrays) > (0 if best is None else len(best.arrays)):
            best = Chunks(start, last, tuple(shifts), arrays)
    return best


def _arrays(nests: Sequence[_RowNest], scop: Scop, handed: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Returns the arrays that no statement outside the nests accesses, and several nests do, in loops for all of its dimensions.

    handed: the arrays in question, each with the statements that access it.
    """
    here = [set(nest.names) for nest in nests]
    inside: set[str] = set().union(*here)
    return tuple(
        array for array, users in handed.items()
        if users <= inside and sum(bool(_over_all(scop, array, users & names)) for names in here) > 1
    )  # fmt: skip


def _shift(before: Sequence[_RowNest], shifts: Sequence[int], last: _RowNest, dependences: Dependences) -> int | None:
    """Returns by how many rows a further nest has to run behind the first one; None where no number suffices.

    before: the nests before the further one.
    shifts: by how many rows each of `before` runs behind the first one.
    last: the further nest.
    """
    found = 0
    for nest, shift in zip(before, shifts):
        pairs = dependences.validity.intersect_domain(nest.domain).intersect_range(last.domain)
        if pairs.is_empty():
            continue
        mine, theirs = (isl.UnionMap.from_union_pw_aff(each.rows) for each in (nest, last))
        rows = pairs.apply_domain(mine).apply_range(theirs)
        for piece in polyhedra.pieces(rows):
            least = polyhedra.minimum(polyhedra.without_sizes(piece.deltas()), {0: 1})
            if least is None:
                return None
            found = max(found, shift - least)
    return found


def _rows(found: Chunks, scop: Scop, machine: CpuMachine, traffic: Traffic) -> int:
    """Returns how many rows a chunk has, so that a chunk's rows of the arrays fit into the second caches of all cores together.

    0 (no chunks) where that would be too few rows, or where the arrays are too small to gain from chunks.
    """
    total = sum(map(traffic.array_bytes, found.arrays))
    extent = max(polyhedra.value_at(scop.arrays[a].shape[0], traffic.sizes) for a in found.arrays)
    if total < (LEAST_BYTES if machine.cores > 1 else min(LEAST_BYTES, 2 * machine.cache(2).size_bytes)):
        return 0
    shift, row_bytes = max(found.shifts), max(total // extent, 1)
    least = max(machine.cores * -(-THREAD_BYTES // row_bytes), 4 * shift)
    share = 100 if machine.cores > 1 else ALONE_SHARE
    fitting = machine.cache(2).size_bytes * share // 100 * machine.cores // row_bytes - shift
    rows = min(max(fitting, least), extent // FEWEST)
    whole = rows // STRIP * STRIP
    return whole if whole >= least else rows if rows >= least else 0


def _tree(found: Chunks, inside: Sequence[_RowNest], chunk: int, strip: int) -> Tree:
    """Returns the nests in a loop over chunks, as one node of the outermost sequence.

    inside: the nests.
    chunk: rows of a chunk.
    strip: rows that a thread takes at a time.
    """
    size = isl.Val(chunk)
    rows = reduce(isl.UnionPwAff.union_add, (polyhedra.plus(nest.rows, shift) for nest, shift in zip(inside, found.shifts)))
    chunks = isl.MultiUnionPwAff.from_union_pw_aff(rows.scale_down_val(size).floor().scale_val(size))
    domain = polyhedra.union([nest.domain for nest in inside], isl.UnionSet("{ }"))
    band = {"schedule": nodes.text_of(chunks), "permutable": 1, "coincident": [0], "options": "{ atomic[0] }"}
    parts = {"sequence": [_in_strips(nest, strip) for nest in inside]}
    return {"filter": nodes.text_of(domain), "child": {"mark": TILE, "child": {**band, "child": parts}}}


def _in_strips(nest: _RowNest, rows: int) -> Tree:
    """Returns the nest as a node inside a loop over chunks; a parallel loop over rows takes strips of `rows` rows for threads."""
    if "mark" not in nest.tree["child"]:
        return {**nest.tree, "child": {"mark": POINT, "child": nest.tree["child"]}}
    if not nest.along:
        return nest.tree
    size = isl.Val(rows)
    strips = isl.MultiUnionPwAff.from_union_pw_aff(nest.rows.scale_down_val(size).floor().scale_val(size))
    return {**nest.tree, "child": {"mark": PARALLEL, "child": {**nest.tree["child"]["child"], "schedule": nodes.text_of(strips)}}}


def _note(found: Chunks, inside: Sequence[_RowNest], rows: int, scop: Scop, traffic: Traffic) -> str:
    """Returns the note on a loop over chunks of `rows` rows: the statements, the arrays that they hand on, and the bytes saved."""
    parts = [nest.names for nest in inside]
    names = sorted(name for part in parts for name in part)
    arrays = [scop.arrays[a].source_name or a for a in found.arrays]
    separate, moved = sum(map(traffic.of, parts)), traffic.of(names, found.arrays)
    handed = f"of which {', '.join(arrays)} {'is' if len(arrays) == 1 else 'are'} handed on"
    return f"{', '.join(names)}: chunks of {rows} rows, {handed}: {moved:,} bytes instead of {separate:,}"
