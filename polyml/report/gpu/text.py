"""A report on a GPU as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.gpu import bank_conflicts
from polyml.gpu.launches import Launches, MappedAccess, StagedCopy
from polyml.gpu.register_estimate import RULE
from polyml.machines.units import shown
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.report.table import Column, Table, lines, table
from polyml.report.text import WIDTH, roofline_table, time_text

AXES = "xyz"
TITLES = {"source": "the source's order", "polyml": "polyml's schedule"}


def text(report: GpuReportValues) -> str:
    """Returns the report on a GPU as text."""
    return lines(parts(report))


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
    chosen = "of those tried" if report.block else "of the blocks, iterations per thread and tiles tried"
    yield f"mappings are the fastest {chosen}, as predicted without what L1 holds; loads are of single elements"
    yield f"registers: {RULE}"
    yield "L1: lines that requests touch and passes through the banks of shared memory, one a cycle"
    l2 = shown(report.machine.l2_bytes, "size")
    yield f"memory: what a launch uses, once; once for all launches of a loop where L2, {l2}, holds it"
    yield ""
    yield f"{report.seconds:.2f} s"


def _form(form: GpuVariant) -> Iterator[str | Table]:
    """Yields the lines and tables on one variant of the kernel."""
    yield f"── {TITLES[form.name]} ".ljust(WIDTH, "─")
    if form.problem:
        yield form.problem
        yield ""
        return
    yield from form.notes
    if form.is_source:
        yield ""
        return
    for number, launches in enumerate(form.launches, 1):
        yield from _launches(number, launches)
        yield ""
    if form.seconds is None:
        yield "no time is predicted: the machine's rates are not all known"
    else:
        count = sum(each.kernel.launches for each in form.launches)
        without = "the launch itself takes" if count == 1 else f"{count:,} launches themselves take"
        yield f"together {time_text(form.seconds)}, an estimate, without what {without}"
    yield ""


def _launches(number: int, each: Launches) -> Iterator[str | Table]:
    """Yields the lines and tables on the launches of one nest. number: the nest's, from 1 on."""
    nest = each.kernel.nest
    host = f", {each.kernel.launches:,} times, for each {', '.join(loop.name for loop in nest.host)}" if nest.host else ""
    yield f"launch {number}: {', '.join(nest.statements)}{host}"
    if nest.serial:
        yield f"  one thread: {nest.serial}"
    else:
        yield f"  {_grid(each)}; {each.lanes:.0%} of the threads of its warps do something"
    yield f"  {_occupancy(each)}"
    yield ""
    yield table(_access_columns(each), each.accesses)
    if nest_gathers := each.kernel.uses.gathers:
        yield f"  data decide which elements of {', '.join(nest_gathers)} are loaded; they are not counted"
    yield ""
    if each.copies:
        yield from _copies(each)
    yield from _roofs(each)


def _grid(each: Launches) -> str:
    """Returns the loops of the grid, the block's threads and the number of blocks, as text."""
    on = [f"{axis.loop.name} on {AXES[k] if k < len(AXES) else 'blocks'}" for k, axis in enumerate(each.mapped.axes)]
    block, grid = " x ".join(map(str, each.threads.sizes)), " x ".join(f"{count:,}" for count in each.grid)
    count = [axis.items for axis in each.mapped.axes[: len(AXES)]]
    items = f", each {' x '.join(map(str, count))} iterations" if max(count) > 1 else ""
    return f"{', '.join(on)}: blocks of {block} threads{items}, {grid} of them"


def _occupancy(each: Launches) -> str:
    """Returns the registers, the shared memory and the occupancy of the launches, as text."""
    found = each.occupancy
    shared = f", {each.shared_bytes:,} bytes of shared memory a block" if each.copies else ""
    if not found.blocks:
        return f"{each.registers} registers a thread (estimate){shared}: no multiprocessor holds such a block"
    limited = ", ".join(found.limiters)
    held = f"{found.blocks} blocks, {found.warps} of {found.most_warps} warps ({found.share:.0%}), limited by {limited}"
    return f"{each.registers} registers a thread (estimate){shared}; a multiprocessor holds {held}"


def _access_columns(each: Launches) -> Sequence[Column[MappedAccess]]:
    """Returns the columns of the table of loads and stores.

    Loads from global memory have a number of sectors; those from shared memory have instead the passes through its banks.
    """
    return (
        Column("load or store", lambda access: access.use.text, is_left=True),
        Column("", lambda access: "store" if access.use.is_write else "load", is_left=True),
        Column("held over", lambda access: ", ".join(access.use.held), is_left=True),
        Column("to the next thread", lambda access: _step(each, access), is_left=True),
        Column("requests", lambda access: f"{access.requests.requests:,}"),
        Column("sectors each", lambda access: f"{access.requests.per_request:.4g}" if access.copy is None else _wavefronts(access)),
        Column("at most", lambda access: str(access.requests.most) if access.copy is None else ""),
        Column("bytes used", lambda access: f"{access.requests.efficiency:.1%}" if access.copy is None else ""),
        Column("accuracy", lambda access: access.requests.accuracy if access.copy is None else "from shared memory"),
    )


def _wavefronts(access: MappedAccess) -> str:
    return f"{access.wavefronts:.3g} wavefronts"


def _step(each: Launches, access: MappedAccess) -> str:
    """Returns as text how an address differs from one thread to the next: "same", "contiguous", "16 bytes" and so on."""
    if not each.mapped.axes:
        return ""
    kinds = {None: "uneven", 0: "same", access.use.element_bytes: "contiguous", -access.use.element_bytes: "reversed"}
    return kinds.get(access.step, f"{access.step:,} bytes" if access.step is not None else "")


def _copies(each: Launches) -> Iterator[str | Table]:
    """Yields the table of copies in shared memory, and lines on its banks and on padding."""
    yield table(_COPY_COLUMNS, each.copies)
    machine = each.kernel.machine
    told = "wavefronts of whole warps are exact, 8-byte elements by halves of a warp"
    yield f"  {machine.shared_banks} banks of {machine.bank_bytes} bytes; {told}"
    yield from (f"  {advice}" for copy in each.copies if (advice := padding_advice(each, copy)))
    yield ""


_COPY_COLUMNS: Sequence[Column[StagedCopy]] = (
    Column("copied to shared memory", lambda copy: copy.buffer.array, is_left=True),
    Column("box", lambda copy: " x ".join(map(str, copy.buffer.shape)), is_left=True),
    Column("for", lambda copy: f"{copy.buffer.tile} of {copy.buffer.loop}", is_left=True),
    Column("row padding", lambda copy: str(copy.buffer.padding)),
    Column("requests", lambda copy: f"{copy.requests.requests:,}"),
    Column("sectors each", lambda copy: f"{copy.requests.per_request:.4g}"),
    Column("bytes used", lambda copy: f"{copy.requests.efficiency:.1%}"),
    Column("wavefronts to store", lambda copy: f"{copy.stores:.3g}"),
    Column("to load", lambda copy: f"{copy.loads:.3g}"),
)


def padding_advice(each: Launches, copy: StagedCopy) -> str:
    """Returns a line on how many passes through the banks of shared memory the padding of a copy's rows saves; "" where it has
    none.
    """
    buffer = copy.buffer
    if not buffer.padding:
        return ""
    row, free = buffer.shape[-1], bank_conflicts.least(each.kernel.machine, buffer.element_bytes)
    left = "without conflicts" if copy.loads <= free else "at best"
    return (f"rows of {buffer.array} have {row + buffer.padding} elements in place of {row}: "
            f"{copy.loads:.3g} wavefronts per load, {left}, in place of {copy.unpadded:.3g}")  # fmt: skip


def _roofs(each: Launches) -> Iterator[str | Table]:
    """Yields the table of roofs, and a line on which one bounds the launches."""
    found = each.roofline
    yield roofline_table(found)
    if found.seconds is not None:
        yield f"  bound by {found.bound}: {time_text(found.seconds)}, an estimate: the highest roof"
    if each.is_filtered and each.sectors < each.requested:
        sectors = f"{each.sectors:,} of {each.requested:,} sectors"
        yield f"  L1 is taken to hold what a block loads again: {sectors} come from L2 (estimate)"
