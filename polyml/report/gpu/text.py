"""A report on a GPU as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.codegen.gpu.axes import LaunchAxis
from polyml.codegen.gpu.block_loops.merged_sums import CHUNK, Operand
from polyml.codegen.gpu.block_loops.pipelined_tiles import PipelinedTile
from polyml.gpu.launches import Launches
from polyml.gpu.places import Touch
from polyml.gpu.register_estimate import RULE
from polyml.gpu.thread_accesses import ThreadAccess
from polyml.gpu.warps.requests import GlobalRequests, SharedRequests
from polyml.machines.units import shown
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.report.table import Column, Table, lines, table
from polyml.report.text import WIDTH, roofline_table, time_text

AXES = "xyz"
TITLES = {"source": "the source's order", "polyml": "polyml's code", "given": "the given schedule"}


def text(report: GpuReportValues, width: int | None = None) -> str:
    """Returns the report on a GPU as text. width: the most characters of a line; None: any."""
    return lines(parts(report), width)


def parts(report: GpuReportValues) -> Iterator[str | Table]:
    """Yields the lines and tables of a report on a GPU, in order."""
    yield report.where
    yield f"sizes    {', '.join(f'{name} = {value}' for name, value in report.sizes.items())}"
    yield f"machine  {report.machine.name}, {report.machine.multiprocessors} multiprocessors"
    work = ", ".join(f"{count:,} {kind}" for kind, count in report.operations.items())
    yield f"work     {work or 'no'} operations"
    yield ""
    for form in report.forms:
        yield from _form(form)
    yield "requests, sectors and wavefronts: of the code that runs, exact where the tables say so; loads are of single elements"
    yield f"registers: {RULE}"
    yield "L1: lines that requests touch and passes through the banks of shared memory, one a cycle"
    l2 = shown(report.machine.l2_bytes, "size")
    yield f"memory: what a launch uses, once; once for all launches of a loop where L2, {l2}, holds it"
    yield ""
    yield f"{report.seconds:.2f} s"


def _form(form: GpuVariant) -> Iterator[str | Table]:
    """Yields the lines and tables on one variant of the kernel."""
    yield f"── {TITLES[form.name]} ".ljust(WIDTH, "─")
    if form.is_source:
        yield "the same launches"
        yield ""
        return
    for number, launches in enumerate(form.launches, 1):
        yield from _launches(number, launches)
        yield ""
    if form.seconds is None:
        yield "no time is predicted: the machine's rates are not all known"
    else:
        count = sum(each.launches for each in form.launches)
        without = "the launch itself takes" if count == 1 else f"{count:,} launches themselves take"
        yield f"together {time_text(form.seconds)}, an estimate, without what {without}"
    yield ""


def _launches(number: int, each: Launches) -> Iterator[str | Table]:
    """Yields the lines and tables on the launches of one kernel. number: the kernel's, from 1 on."""
    nest = each.mapped.nest
    host = f", {each.launches:,} times, for each {', '.join(loop.name for loop in nest.host)}" if nest.host else ""
    yield f"launch {number}: {each.name} of {', '.join(nest.statements)}{host}"
    if nest.serial and each.launch.team is None:
        yield f"  one thread: {nest.serial}"
    else:
        yield f"  {_grid(each)}; {each.lanes:.0%} of the threads of its warps do something"
    yield f"  {_occupancy(each)}"
    yield ""
    yield table(_global_columns(each), list(each.of_global()))
    if each.gathers:
        yield f"  data decide which elements of {', '.join(each.gathers)} are loaded; they are not counted"
    yield ""
    if each.shared_bytes:
        yield from _shared(each)
    yield from _roofs(each)


def _grid(each: Launches) -> str:
    """Returns the loops of the grid, the block's threads and the number of blocks, as text."""
    on = [f"{axis_name(axis)} on {AXES[k] if k < len(AXES) else 'blocks'}" for k, axis in enumerate(each.axes)]
    block, grid = " x ".join(map(str, each.threads.sizes)), " x ".join(f"{count:,}" for count in each.grid)
    count = [axis.items for axis in each.axes[: len(AXES)]]
    items = f", each {' x '.join(map(str, count))} iterations" if max(count) > 1 else ""
    return f"{', '.join(on)}: blocks of {block} threads{items}, {grid} of them"


def axis_name(axis: LaunchAxis) -> str:
    """Returns what the threads or blocks along an axis share: iterations of a loop of the grid, or of one that a team runs."""
    return axis.loop or ("threads of a team" if axis.is_lane else "parts of the teams' iterations")


def _occupancy(each: Launches) -> str:
    """Returns the registers, the shared memory and the occupancy of the launches, as text."""
    found = each.occupancy
    shared = f", {each.shared_bytes:,} bytes of shared memory a block" if each.shared_bytes else ""
    if not found.blocks:
        return f"{each.registers} registers a thread (estimate){shared}: no multiprocessor holds such a block"
    limited = ", ".join(found.limiters)
    held = f"{found.blocks} blocks, {found.warps} of {found.most_warps} warps ({found.share:.0%}), limited by {limited}"
    return f"{each.registers} registers a thread (estimate){shared}; a multiprocessor holds {held}"


Global = tuple[ThreadAccess, GlobalRequests]
Shared = tuple[ThreadAccess, SharedRequests]


def _global_columns(each: Launches) -> Sequence[Column[Global]]:
    """Returns the columns of the table of loads and stores of global memory."""
    return (
        Column("load or store", lambda row: row[0].touch.text, is_left=True),
        Column("", lambda row: kind_of(row[0].touch), is_left=True),
        Column("held over", lambda row: ", ".join(row[0].touch.held), is_left=True),
        Column("in", lambda row: place_of(row[0], each), is_left=True),
        Column("to the next thread", lambda row: _step(row[0], each), is_left=True),
        Column("requests", lambda row: f"{row[1].requests:,}"),
        Column("sectors each", lambda row: f"{row[1].per_request:.4g}"),
        Column("at most", lambda row: str(row[1].most)),
        Column("bytes used", lambda row: f"{row[1].efficiency:.1%}"),
        Column("accuracy", lambda row: row[1].accuracy),
    )


def kind_of(touch: Touch) -> str:
    """Returns whether an access is a load or a store, and whether it always happens."""
    kind = "store" if touch.is_write else "load"
    return f"{kind}, where data say so" if touch.may else kind


def place_of(access: ThreadAccess, each: Launches) -> str:
    """Returns which threads run an access: of a kernel with two versions, those with all their iterations or the others."""
    versions = {counted.access.version for counted in each.accesses}
    return "" if len(versions) < 2 else "whole tiles" if access.version == min(versions) else "cut tiles"


def _step(access: ThreadAccess, each: Launches) -> str:
    """Returns as text how an address differs from one thread to the next: "same", "contiguous", "16 bytes" and so on."""
    step = next(counted.step for counted in each.accesses if counted.access is access)
    if not each.axes:
        return ""
    kinds = {None: "uneven", 0: "same", access.element_bytes: "contiguous", -access.element_bytes: "reversed"}
    return kinds.get(step, f"{step:,} bytes" if step is not None else "")


_SHARED_COLUMNS: Sequence[Column[Shared]] = (
    Column("in shared memory", lambda row: row[0].touch.text, is_left=True),
    Column("", lambda row: kind_of(row[0].touch), is_left=True),
    Column("tile", lambda row: tile_text(row[0].touch), is_left=True),
    Column("requests", lambda row: f"{row[1].requests:,}"),
    Column("wavefronts each", lambda row: f"{row[1].per_request:.4g}"),
    Column("at most", lambda row: str(row[1].most)),
    Column("bank conflicts", lambda row: f"{row[1].conflicts:,}"),
    Column("accuracy", lambda row: row[1].accuracy),
)


def tile_text(touch: Touch) -> str:
    """Returns the elements that a tile has along its dimensions in shared memory, and its padding; "" for global memory."""
    tile = touch.tile
    if tile is None:
        return ""
    if isinstance(tile, Operand):
        return f"{CHUNK} x {tile.axis.extent}" + (f", rows padded by {spare}" if (spare := tile.length - tile.axis.extent) else "")
    plain = tile.tile if isinstance(tile, PipelinedTile) else tile
    if touch.pattern:
        return " x ".join(str(each.extent) for each in plain.dimensions if each.extent > 1) + ", swizzled"
    lengths, extents = tile.lengths, [each.extent for each in plain.stored]
    padding = sum(lengths) - sum(extents)
    return " x ".join(map(str, extents)) + (f", rows padded by {padding}" if padding else "")


def _shared(each: Launches) -> Iterator[str | Table]:
    """Yields the table of loads and stores of shared memory, and a line on its banks."""
    yield table(_SHARED_COLUMNS, list(each.of_shared()))
    machine = each.machine
    yield f"  {machine.shared_banks} banks of {machine.bank_bytes} bytes; elements of 8 bytes are accessed by halves of a warp"
    yield ""


def _roofs(each: Launches) -> Iterator[str | Table]:
    """Yields the table of roofs, and a line on which one bounds the launches."""
    found = each.roofline
    yield roofline_table(found)
    if found.seconds is not None:
        yield f"  bound by {found.bound}: {time_text(found.seconds)}, an estimate: the highest roof"
    if each.is_filtered and each.sectors < each.requested:
        sectors = f"{each.sectors:,} of {each.requested:,} sectors"
        yield f"  L1 is taken to hold what a block loads again: {sectors} come from L2 (estimate)"
