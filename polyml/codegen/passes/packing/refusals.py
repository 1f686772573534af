"""Why arrays that loops over tiles read have no copies: `refusals`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.ir.program import Loop, Node, Program, with_paths
from polyml.codegen.passes.packing import choose, storage
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy, TileRead
from polyml.codegen.passes.packing.pack import tile_chain
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Access


@dataclass(frozen=True)
class Refusal:
    """A refusal says why a statement's reads of an array, in a nest of loops over tiles, are not served from a copy.

    array, statement: their names in the program.
    why: in words, about the array.
    cost: the terms by which that was decided; {} where a proof or a shape decided.
    """

    array: str
    statement: str
    why: str
    cost: Mapping[str, float] = field(default_factory=dict)


def refusals(
    program: Program, machine: CpuMachine, layouts: tuple[str, ...] = (), sizes: Mapping[str, int] | None = None
) -> tuple[Refusal, ...]:
    """Returns why arrays have no copies in the nests of loops over tiles, once for each statement and reason, in the order of the text.

    program: as `pack` gets it. machine, layouts, sizes: as for `pack`.
    """
    context = PackingContext(program, machine, layouts, sizes)
    found: dict[tuple[str, str, str], Refusal] = {}
    for each in _in_nodes(context, program.body, ()):
        found.setdefault((each.array, each.statement, each.why), each)
    return tuple(found.values())


def _in_nodes(context: PackingContext, nodes: tuple[Node, ...], around: tuple[Enclosing, ...]) -> Iterator[Refusal]:
    for node in nodes:
        if isinstance(node, Loop) and node.role == "tile":
            yield from _in_chain(context, tile_chain(node), around)
        elif isinstance(node, Enclosing):
            yield from _in_nodes(context, node.body, (*around, node))


def _in_chain(context: PackingContext, chain: tuple[Loop, ...], around: tuple[Enclosing, ...]) -> Iterator[Refusal]:
    """Yields the refusals of reads in a chain of loops over tiles."""
    copies = choose.copies(context, chain, around)
    if not copies and any(map(choose.has_tiles, chain[-1].body)):
        yield from _in_nodes(context, chain[-1].body, (*around, *chain))
        return
    served = {(read.position, read.number) for copy in copies for read in copy.reads}
    found = zip(_reads(context, chain), choose.reads_below(context, chain, around), strict=True)
    for (position, number, statement, access), places in found:
        if (position, number) not in served and access.subscripts:
            why, cost = _reason(context, [*places], chain)
            yield Refusal(access.array, statement, why, cost)


def _reads(context: PackingContext, chain: tuple[Loop, ...]) -> Iterator[tuple[int, int, str, Access]]:
    """Yields (position of the instance, position of the read, statement, the read) of the reads below the chain, in the order of
    `choose.reads_below`."""
    for position, (instance, _) in enumerate(with_paths(chain[-1].body)):
        for number, access in enumerate(context.program.scop.statements[instance.statement].reads):
            yield position, number, instance.statement, access


def _reason(
    context: PackingContext, places: Sequence[tuple[int, TileRead]], chain: tuple[Loop, ...]
) -> tuple[str, Mapping[str, float]]:
    """Returns why a read is not served from a copy, and the terms that decided: what stands against the outermost copy whose elements
    would be read again.

    places: the levels of the chain at which there may be a copy, with the read and its box there.
    """
    if len(chain) == 1 and context.sizes is None:
        return "the tiles are strips, which read each element once, or rows as they are stored", {}
    if not places:
        return "the elements that a tile reads are no box that changes from tile to tile", {}
    again = [(level, read) for level, read in places if read.window.lengths and read.reuse_loop(chain, level) is not None]
    if not again:
        return "no reference to it reads an element again in a tile", {}
    level, read = again[0]
    if choose.is_written(context, read, chain, level):
        return "an element that a copy would hold may be written while the copy is in use", {}
    copy = choose.candidate(context, read, chain, level)
    copy = replace(copy, panel=storage.panel(context, read, copy))
    if not choose.fits(context, copy, read):
        return _does_not_fit(context, copy)
    if context.sizes is None:
        return "the sizes are not known, and a loop over tiles alone would read the copy again", {}
    uses, least = context.reuse_count(read, copy), choose.least_uses(context, copy, read)
    if least == choose.NEVER:
        return "its rows are read as they are stored, so a copy would save nothing", {}
    if uses < least:
        cost = {"reads of an element of the copy": uses, "reads from which on copies pay": least}
        return f"an element of a copy would be read {uses:,} times, and copies pay from {least:,} on", cost
    return "it is not proved that the read stays within the box that a copy would hold", {}


def _does_not_fit(context: PackingContext, copy: TileCopy) -> tuple[str, Mapping[str, float]]:
    """Returns why a copy is not worth its memory, and the terms that decided."""
    if any(n is None for n in copy.window.lengths) and context.sizes is None:
        return "how large a copy would be is not known", {}
    size, limit = context.size_bytes(copy), choose.most_bytes(context.machine)
    if size > limit:
        cost = {"bytes of the copy": size, "bytes that a copy may have": limit}
        return f"a copy would have {size / 1024:,.0f} KiB, and may have {limit / 1024:,.0f} KiB", cost
    if size <= context.array(copy).element.size_bytes:
        return "a tile reads one element of it", {}
    return "fewer than half of a copy's elements would be read", {}
