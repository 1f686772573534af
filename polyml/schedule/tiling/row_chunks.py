"""Nests that hand a large local array on share a loop over chunks of its rows, so that only these need memory.

    parallel i: T[i, :] = f(A[i, :])                       for c by 64: parallel i in c ... c + 63: T[i, :] = ...
    parallel i: B[i, :] = T[i - 1, :] + T[i + 1, :]   ->                parallel i in c - 1 ... c + 62: B[i, :] = ...

Each nest keeps its own loops and threads, and runs as many rows behind the ones before as the rows that it reads need: the least
shifts for which no dependence leads back to an earlier chunk, by longest paths over the exact distances. What is live from chunk
to chunk is a few rows, so that the array stays in the caches (`codegen.passes.fold_storage` gives it memory for no more). Shifting before
fusion as in Verdoolaege, Bruynooghe, Janssens and Catthoor, "Multi-dimensional incremental loop fusion for data locality",
ASAP 2003; chunks in place of single rows, since a loop that is fused has no threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Role, Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, iterators_of
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE, members_of
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

LEAST_BYTES = 8 * 2**20  # of arrays for which chunks are worth the threads' meetings
THREAD_BYTES = 256 * 2**10  # of them that a thread has of a chunk at least, whichever number of rows that is
FEWEST = 4  # chunks of an array
STRIP = 8  # rows that a thread takes at a time at most


@dataclass(frozen=True)
class _Nest:
    """One part of the outermost sequence. rows: { S[i] -> [(row)] }; along: whether threads share the loop over these."""

    tree: Tree
    domain: isl.UnionSet
    rows: isl.UnionPwAff
    along: bool

    @property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)


@dataclass(frozen=True)
class Chunks:
    """Nests first ... last of the outermost sequence. shifts: by how many rows each runs behind; arrays: what they hand on."""

    first: int
    last: int
    shifts: tuple[int, ...]
    arrays: tuple[str, ...]


def handed_on(scop: Scop) -> dict[str, frozenset[str]]:
    """The local arrays that chunks could be for, each with the statements that use it: of several dimensions, not returned, used
    by several statements that may go over all of it.
    """
    results = {r.array for r in scop.results}
    users: dict[str, set[str]] = {}
    for statement in scop.statements.values():
        for access in accesses(statement):
            users.setdefault(access.array, set()).add(statement.name)
    inner = (a for a in scop.arrays.values() if a.role is Role.LOCAL and len(a.shape) > 1 and a.name not in results)
    return {a.name: frozenset(users[a.name]) for a in inner if len(_over_all(scop, a.name, users.get(a.name, ()))) > 1}


def _over_all(scop: Scop, array: str, names: Iterable[str]) -> list[str]:
    """Those of the statements that have a loop for each dimension of the array."""
    return [name for name in names if len(scop.statements[name].iterators) >= len(scop.arrays[array].shape)]


@dataclass(frozen=True)
class Chunked:
    """tree: the schedule with chunks, whether legal is left to be checked; None where there are none for these sizes. notes: what
    was decided. sized: whether there are chunks for some sizes.
    """

    tree: isl.Schedule | None
    notes: tuple[str, ...]
    sized: bool


def in_chunks(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, machine: CpuMachine, sizes: Mapping[str, int] | None
) -> Chunked:
    """The schedule with chunks where they save memory. sizes: values of parameters, None: too small for any."""
    tree = parse_tree(str(schedule))
    parts = tree.get("child", {}).get("sequence", [])
    nests = [_nest(part, scop) for part in parts]
    traffic, handed = Traffic(scop, sizes), handed_on(scop)
    made, notes, start, sized = [], [], 0, False
    while start < len(parts):
        found = _chunks(nests, start, scop, dependences, handed)
        rows = 0 if found is None or sizes is None else _rows(found, scop, machine, traffic)
        sized = sized or found is not None
        if not rows:
            made.append(parts[start])
            start += 1
            continue
        made.append(_tree(found, nests, rows, max(1, min(STRIP, rows // (2 * machine.cores)))))
        notes.append(_note(found, nests, rows, scop, traffic))
        start = found.last + 1
    if not notes:
        return Chunked(None, (), sized)
    child = made[0]["child"] if len(made) == 1 else {"sequence": made}
    return Chunked(isl.Schedule(print_tree({**tree, "child": child})), tuple(notes), True)


def _nest(part: Tree, scop: Scop) -> _Nest | None:
    """A part of the sequence as a nest with rows; None where it is none."""
    domain = isl.UnionSet(part["filter"])
    statements = [scop.statements[name] for name in polyhedra.set_names(domain)]
    band = _loops(part.get("child", {}))
    if band is None or any(map(may_be_contraction, statements)):
        return None
    rows = members_of(band)[0].intersect_domain(domain)
    own = [s for s in statements if not _moves_rows(s, rows, scop)]
    if own:
        rows = rows.subtract_domain(polyhedra.union([isl.UnionSet.from_set(s.domain) for s in own], isl.UnionSet("{ }")))
        for statement in own:
            row = polyhedra.single(statement.write.subscripts[0]) if len(statement.write.subscripts) > 1 else None
            if row is None:
                return None
            rows = rows.union_add(isl.UnionPwAff.from_pw_aff(row.intersect_domain(statement.domain)))
    return _Nest(part, domain, rows, not own)


def _loops(node: Tree) -> Tree | None:
    """The loops over single iterations; None where there are others around them than over strips for threads."""
    if node.get("mark") == PARALLEL:
        inside = node["child"].get("child", {})
        return inside["child"] if inside.get("mark") == POINT else None
    return node if "schedule" in node else None


def _moves_rows(statement: Statement, rows: isl.UnionPwAff, scop: Scop) -> bool:
    """Whether the loop goes from row to row of what the statement touches."""
    along = iterators_of(rows, statement.name)
    return any(k in along for a in accesses(statement) if len(a.subscripts) > 1 for k in polyhedra.used_iterators(a.subscripts[0]))


def _chunks(
    nests: Sequence[_Nest | None], start: int, scop: Scop, dependences: Dependences, handed: Mapping[str, frozenset[str]]
) -> Chunks | None:
    """The neighbours from one on that hand on the most arrays which nothing else touches."""
    shifts: list[int] = []
    best = None
    for last in range(start, len(nests)):
        shift = None if nests[last] is None else _shift(nests[start : last + 1], shifts, dependences)
        if shift is None:
            break
        shifts.append(shift)
        arrays = _arrays(nests[start : last + 1], scop, handed)
        if last > start and len(arrays) > (0 if best is None else len(best.arrays)):
            best = Chunks(start, last, tuple(shifts), arrays)
    return best


def _arrays(nests: Sequence[_Nest], scop: Scop, handed: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """What several of the nests go over and nothing else touches."""
    here = [set(nest.names) for nest in nests]
    inside = set().union(*here)
    return tuple(
        array for array, users in handed.items()
        if users <= inside and sum(bool(_over_all(scop, array, users & names)) for names in here) > 1
    )  # fmt: skip


def _shift(nests: Sequence[_Nest], shifts: Sequence[int], dependences: Dependences) -> int | None:
    """By how many rows the last nest has to run behind; None where no number suffices."""
    *before, last = nests
    found = 0
    for nest, shift in zip(before, shifts):
        pairs = dependences.validity.intersect_domain(nest.domain).intersect_range(last.domain)
        if pairs.is_empty():
            continue
        mine, theirs = (isl.UnionMap.from_union_pw_aff(each.rows) for each in (nest, last))
        apart = pairs.apply_domain(mine).apply_range(theirs)
        for piece in polyhedra.pieces(apart):
            least = polyhedra.minimum(polyhedra.without_sizes(piece.deltas()), {0: 1})
            if least is None:
                return None
            found = max(found, shift - least)
    return found


def _rows(found: Chunks, scop: Scop, machine: CpuMachine, traffic: Traffic) -> int:
    """Of a chunk, so that what its nests hand on fits the threads' second caches; 0 where chunks are not worth it."""
    total = sum(map(traffic.array_bytes, found.arrays))
    extent = max(polyhedra.value_at(scop.arrays[a].shape[0], traffic.sizes) for a in found.arrays)
    if total < LEAST_BYTES:
        return 0
    shift, row_bytes = max(found.shifts), max(total // extent, 1)
    least = max(machine.cores * -(-THREAD_BYTES // row_bytes), 4 * shift)
    fitting = machine.cache(2).size_bytes * machine.cores // row_bytes - shift
    rows = min(max(fitting, least), extent // FEWEST)
    whole = rows // STRIP * STRIP
    return whole if whole >= least else rows if rows >= least else 0


def _tree(found: Chunks, nests: Sequence[_Nest], chunk: int, strip: int) -> Tree:
    """The nests in a loop over chunks, as a part of the sequence."""
    inside = nests[found.first : found.last + 1]
    size = isl.Val(chunk)
    rows = None
    for nest, shift in zip(inside, found.shifts):
        later = polyhedra.plus(nest.rows, shift)
        rows = later if rows is None else rows.union_add(later)
    chunks = isl.MultiUnionPwAff.from_union_pw_aff(rows.scale_down_val(size).floor().scale_val(size))
    domain = polyhedra.union([nest.domain for nest in inside], isl.UnionSet("{ }"))
    band = {"schedule": str(chunks), "permutable": 1, "coincident": [0], "options": "{ atomic[0] }"}
    parts = {"sequence": [_in_strips(nest, strip) for nest in inside]}
    return {"filter": str(domain), "child": {"mark": TILE, "child": {**band, "child": parts}}}


def _in_strips(nest: _Nest, rows: int) -> Tree:
    """The nest with strips of so many rows for threads, fewer than a chunk has."""
    if "mark" not in nest.tree["child"]:
        return {**nest.tree, "child": {"mark": POINT, "child": nest.tree["child"]}}
    if not nest.along:
        return nest.tree
    size = isl.Val(rows)
    strips = isl.MultiUnionPwAff.from_union_pw_aff(nest.rows.scale_down_val(size).floor().scale_val(size))
    return {**nest.tree, "child": {"mark": PARALLEL, "child": {**nest.tree["child"]["child"], "schedule": str(strips)}}}


def _note(found: Chunks, nests: Sequence[_Nest], rows: int, scop: Scop, traffic: Traffic) -> str:
    parts = [nest.names for nest in nests[found.first : found.last + 1]]
    names = sorted(name for part in parts for name in part)
    arrays = [scop.arrays[a].source_name or a for a in found.arrays]
    apart, moved = sum(map(traffic.of, parts)), traffic.of(names, found.arrays)
    handed = f"of which {', '.join(arrays)} {'is' if len(arrays) == 1 else 'are'} handed on"
    return f"{', '.join(names)}: chunks of {rows} rows, {handed}: {moved:,} bytes instead of {apart:,}"
