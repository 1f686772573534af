"""All remarks on one compilation, loop by loop of the source: `remarks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeVar

from polyml.codegen.ir.local_memory import local_memory
from polyml.model.core.printer import statement_text
from polyml.model.core.scop import Region, Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.remarks.facts import Facts, OrderFacts
from polyml.remarks.order import fused, interchanged
from polyml.remarks.parallel import parallel
from polyml.remarks.performed import ArrayCopy, packed, partial_results
from polyml.remarks.source_loops import SourceLoop, place_of, written_at
from polyml.remarks.tiles import tiled
from polyml.remarks.values import (
    ANALYSIS,
    FUSED,
    INTERCHANGED,
    MISSED,
    PARALLEL,
    PASSED,
    TILED,
    VECTORIZED,
    LoopRemarks,
    Remark,
    Remarks,
    StatementRemarks,
)
from polyml.remarks.vectors import around_a_region, vectorized
from polyml.schedule.analysis.traffic import ASSUMED

SomeFacts = TypeVar("SomeFacts", bound=OrderFacts)

MOST_TOLD = 6  # accesses of a region
OPERATIONS = 2_000_000  # of isl, for one question on one loop
_FINDERS: dict[str, Callable[[Facts, SourceLoop], Remark]] = {
    PARALLEL: parallel, VECTORIZED: vectorized, TILED: tiled, FUSED: fused, INTERCHANGED: interchanged,
}  # fmt: skip

_AROUND_REGIONS: dict[str, Callable[[Facts, SourceLoop], Remark]] = {  # whose order is the source's
    PARALLEL: parallel, VECTORIZED: around_a_region,
}  # fmt: skip


def remarks(facts: Facts, where: str, signature: str) -> Remarks:
    """Returns all remarks on a compilation.

    where: the kernel's name, file and line.
    signature: the types of its arguments.
    """
    finders = _AROUND_REGIONS if facts.scop.has_regions else _FINDERS
    return Remarks(
        kernel=facts.scop.name,
        where=where,
        signature=signature,
        loops=tuple(on_loop(facts, loop, finders) for loop in facts.loops),
        statements=tuple(_on_statement(facts, name) for name in facts.scop.statements),
        arrays=tuple(_on_arrays(facts)),
        notes=facts.notes,
    )


def of_order(
    facts: SomeFacts,
    where: str,
    signature: str,
    finders: Mapping[str, Callable[[SomeFacts, SourceLoop], Remark]],
    *,
    arrays: tuple[Remark, ...] = (),
    notes: tuple[str, ...] = (),
) -> Remarks:
    """Returns all remarks on a kernel that runs on a device. where, signature: as for `remarks`; finders: as for `on_loop`."""
    return Remarks(
        kernel=facts.scop.name,
        where=where,
        signature=signature,
        loops=tuple(on_loop(facts, loop, finders) for loop in facts.loops),
        statements=tuple(on_statement(facts, name) for name in facts.scop.statements),
        arrays=arrays,
        notes=notes,
    )


def on_loop(facts: SomeFacts, loop: SourceLoop, finders: Mapping[str, Callable[[SomeFacts, SourceLoop], Remark]]) -> LoopRemarks:
    """Returns the remarks on one loop of the source.

    finders: by question, what answers it.
    """
    found = tuple(_answer(facts, loop, question, find) for question, find in finders.items())
    return LoopRemarks(loop.name, loop.iterator, loop.place, loop.depth, loop.statements, loop.written, found)


def _answer(facts: SomeFacts, loop: SourceLoop, question: str, find: Callable[[SomeFacts, SourceLoop], Remark]) -> Remark:
    """Returns the remark on a loop that answers a question, one of QUESTIONS."""
    try:
        with budget(OPERATIONS):
            return find(facts, loop)
    except BudgetExceeded as problem:
        return Remark(ANALYSIS, question, f"not known: isl takes too long to find out ({problem})")


def _on_statement(facts: Facts, name: str) -> StatementRemarks:
    found = []
    runs = [run for run in facts.runs if run.statement == name]
    reads = (read.array for run in runs for read in facts.program.scop.statements[run.own_name].reads)
    filled = {copy.copy: copy.array for copy in packed(facts.program)}
    copies = {filled[array] for array in reads if array in filled}
    if copies:
        found.append(Remark(PASSED, "packed", f"it reads copies of tiles of {', '.join(sorted(copies))}"))
    place = facts.scop.statements[name].loc
    for loop in facts.ordered:
        if loop.place == place and loop.why:
            text = f"the loop runs in order, since {loop.why}{f'; {loop.wish}' if loop.wish else ''}"
            found.append(Remark(MISSED, PARALLEL, text, advice=loop.advice))
    return on_statement(facts, name, found)


def on_statement(facts: OrderFacts, name: str, found: Sequence[Remark] = ()) -> StatementRemarks:
    """Returns the remarks on a statement: those that were found, and that its updates may run in any order where they may."""
    statement, reduction = facts.scop.statements[name], facts.reductions.get(name)
    free = []
    if reduction is not None and name in facts.summed:
        array = facts.scop.arrays[reduction.array]
        text = f"updates of {array.source_name or array.name} by {reduction.operator} may run in any order"
        free.append(Remark(ANALYSIS, "reduction", text))
    if statement.region is not None:
        free.append(Remark(PASSED, "region", _of_region(facts.scop, statement.region)))
    return StatementRemarks(name, statement_text(statement), place_of(statement.loc), written_at(statement.loc), (*found, *free))


def _of_region(scop: Scop, region: Region) -> str:
    """Returns what a region is, and which of its accesses are approximated."""
    found: dict[str, None] = {}
    for access in region.accesses:
        if None in access.subscripts and access.loc is not None:
            array = scop.arrays[access.array].source_name or access.array
            whole = all(e is None for e in access.subscripts)
            found[f"{access.loc.text} may be any element {'' if whole else 'of a part '}of {array}"] = None
    said = list(found)
    more = f", and {len(said) - MOST_TOLD} more accesses" if len(said) > MOST_TOLD else ""
    return "; ".join(["its statements run in the source's order, since data decide what they do", *said[:MOST_TOLD]]) + more


def on_changes(facts: OrderFacts) -> Iterator[Remark]:
    """Yields remarks on what was done with arrays before there were dependences."""
    return (Remark(PASSED, change.kind, change.text) for change in facts.changes)


def _on_arrays(facts: Facts) -> Iterator[Remark]:
    yield from on_changes(facts)
    for copy in packed(facts.program):
        yield Remark(PASSED, "packed", f"tiles of {copy.array} are copied next to each other first{_size(copy)}")
    yield from _not_packed(facts)
    for copy in partial_results(facts.program):
        yield Remark(
            PASSED, "partial results", f"each thread has partial results of {copy.array}, which are added up behind the loop"
        )
    arrays = facts.scop.arrays
    for name, window in facts.program.windows.items():
        if name in arrays and window.folded is not None:
            rows = window.lengths[window.folded]
            yield Remark(
                PASSED,
                "folded",
                f"{arrays[name].source_name or name} has memory for {rows} elements along dimension {window.folded}, which are used in turn",
            )
    for owner in dict.fromkeys(facts.program.shared.values()):
        names = (owner, *(name for name, other in facts.program.shared.items() if other == owner))
        yield Remark(PASSED, "shared", f"{', '.join(names)} have one memory, since they are never in use at the same time")
    yield from _memory(facts)


def _memory(facts: Facts) -> Iterator[Remark]:
    """Yields a remark on how much memory local arrays take on one thread, at the sizes that the code is for or that are assumed."""
    parameters = facts.program.scop.parameters
    sizes = facts.sizes or {p.name: ASSUMED for p in parameters}
    if any(p.name not in sizes for p in parameters):
        return
    found = local_memory(facts.program, sizes)
    if found.apart_bytes:
        where = ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
        apart = f", which would be {found.apart_bytes:,} apart" if found.apart_bytes > found.peak_bytes else ""
        yield Remark(
            ANALYSIS, "memory", f"local arrays take {found.peak_bytes:,} bytes at once{apart}{f' ({where})' if where else ''}"
        )


def _not_packed(facts: Facts) -> Iterator[Remark]:
    """Yields remarks on the arrays of the source that loops over tiles read and that have no copies, one for all with the same reasons."""
    done, statements = {copy.array for copy in packed(facts.program)}, facts.scop.statements
    reasons: dict[str, dict[str, list[str]]] = {}  # array: {why: statements}
    costs: dict[str, dict[str, float]] = {}
    for each in facts.not_packed:
        array = facts.program.scop.arrays[each.array]
        name = array.source_name or array.name
        if name not in done and each.array in facts.scop.arrays and each.statement in statements:
            reasons.setdefault(name, {}).setdefault(each.why, []).append(each.statement)
            costs.setdefault(name, {}).update(each.cost)
    alike: dict[str, list[str]] = {}  # reasons: arrays
    for name, known in reasons.items():
        each_reason = (f"{why} ({facts.told(names)})" if len(known) > 1 else why for why, names in known.items())
        alike.setdefault("; ".join(each_reason), []).append(name)
    for told, names in alike.items():
        text = f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} not copied: {told}"
        yield Remark(ANALYSIS, "packed", text, cost=costs[names[0]])


def _size(copy: ArrayCopy) -> str:
    """Returns the size of a copy in words; "" where it is that of the whole array."""
    known = [each for each in copy.elements if each is not None]
    if not known or len(known) < len(copy.elements):
        return ""
    return f": {' x '.join(map(str, known))} elements, {prod(known) * copy.element_bytes / 1024:.3g} KiB"
