"""A report on a systolic array as text, and as part of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polyml.machines.descriptions import OPERATIONS
from polyml.machines.units import shown
from polyml.report.html import page
from polyml.report.table import Column, Table, lines, table
from polyml.report.text import WIDTH, time_text
from polyml.systolic.folding.fold_counts import StreamTraffic, is_stationary, preloaded
from polyml.systolic.folding.folds import Folds
from polyml.systolic.folding.partial_sums import PartialSums
from polyml.systolic.mapping.axis_names import axis_names, interleavings
from polyml.systolic.mapping.dataflows import Plan, entry_cycles, kung_design
from polyml.systolic.mapping.ranking import StreamPorts, stream_ports
from polyml.systolic.recurrences.recurrence import DataStream
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime
from polyml.systolic.recurrences.systolic_nest import SystolicNest
from polyml.systolic.report.data import BOUND, CYCLES, MEMORIES, OVERLAPPED, PADDED, STALLED, TRAFFIC, WIRES
from polyml.systolic.report.memory_traffic import MemoryCosts
from polyml.systolic.report.values import NestReport, SystolicReportValues

LONGEST_FORMULA = 100  # characters of one that is shown


def text(report: SystolicReportValues, width: int | None = None) -> str:
    """Returns a report on mappings as text, with tables for a terminal. width: the most characters of a line; None: any."""
    return lines(parts(report), width)


def html(report: SystolicReportValues, pictures: Iterable[str]) -> str:
    """Returns a report on mappings as HTML, with these pictures."""
    return page(parts(report), *pictures)


def parts(report: SystolicReportValues) -> Iterator[str | Table]:
    """Yields the lines and tables of a report on mappings, in order."""
    yield report.where
    yield f"sizes    {', '.join(f'{name} = {value}' for name, value in report.sizes.items())}"
    machine = f" of {report.machine.name}" if report.machine else ""
    yield f"array    {' x '.join(map(str, report.shape))} units{machine}, {report.links} links"
    if report.rank != "cycles":
        yield f"best     by {report.rank}, of equal mappings that of fewest cycles"
    yield f"cycles   {report.cycles:,}, {report.utilisation:.1%} of the units' instances"
    if report.compute_seconds is not None:
        figure = report.compute_seconds
        yield f"time     {time_text(figure.value)}, an {figure.origin}: {figure.source}"
    yield ""
    for nest in report.nests:
        yield from _nest(report, nest)
    yield "── memory behind the buffer ".ljust(WIDTH, "─")
    yield from (f"  {line}" for line in report.bound.text(report.sizes).splitlines())
    buffer = "of any size" if report.elements is None else f"of S = {report.elements:,} elements"
    time = f", {time_text(report.memory_seconds.value)} ({report.memory_seconds.source})" if report.memory_seconds else ""
    yield f"  with a buffer {buffer}: {report.moved:,} elements{time}; {BOUND}"
    yield ""
    yield f"{report.seconds:.2f} s"


def _nest(report: SystolicReportValues, nest: NestReport) -> Iterator[str | Table]:
    """Yields the lines and tables of a report about one nest: its mappings, memories and streams."""
    yield from heading(nest.nest)
    edge = f"; {', '.join(nest.nest.boundary)} where values enter or leave" if nest.nest.boundary else ""
    yield f"{nest.best.recurrence.instances:,} instances{edge}"
    yield from (f"  {part} has {instances}" for part, instances in nest.nest.parts.items())
    compared = nest.plans if report.dataflow == "all" else tuple(filter(None, (nest.best, nest.runner_up)))
    yield table(_PLAN_COLUMNS, ((plan, stream_ports(plan.folds)) for plan in compared))
    left = len(nest.plans) - len(compared)
    if left:
        yield f"  {left} more with --dataflow all"
    yield f"  cycles, shares  {CYCLES}"
    yield f"  overlapped      {OVERLAPPED}"
    best = nest.best
    formula = best.formula and best.formula.text(report.sizes)
    yield f"  padded          {PADDED}" + (f", {formula}" if formula and len(formula) <= LONGEST_FORMULA else "")
    yield f"  reads, writes   {TRAFFIC}"
    yield ""
    memories = report.memories(nest, best)
    if memories is not None:
        yield from _memories(memories)
        yield ""
    yield _streams(best)
    yield f"  ports, registers  {WIRES}"
    if best.folds.drain_cycles:
        drain, cycles = best.folds.drain_cycles, best.folds.cycles
        yield f"  after the last fold results take {drain} cycles more to leave: {cycles + drain:,} cycles with the drain"
    yield ""


_PLAN_COLUMNS: Sequence[Column[tuple[Plan, Sequence[StreamPorts]]]] = (
    Column("", lambda row: name_text(row[0]), is_left=True),
    Column("mapping", lambda row: mapping_text(row[0]), is_left=True),
    Column("folds", lambda row: _count(row[0].folds.number)),
    Column("cycles", lambda row: _count(row[0].folds.cycles)),
    Column("overlapped", lambda row: _count(_overlapped(row[0].folds))),
    Column("padded", lambda row: _count(row[0].padded.cycles)),
    Column("utilisation", lambda row: f"{row[0].folds.utilisation:.1%}"),
    Column("mapping eff.", lambda row: f"{row[0].folds.mapping_efficiency:.1%}"),
    Column("compute util.", lambda row: f"{row[0].folds.compute_utilisation:.1%}"),
    Column("reads", lambda row: f"{row[0].folds.reads:,}"),
    Column("writes", lambda row: f"{row[0].folds.writes:,}"),
    Column("ports", lambda row: f"{sum(each.into + each.out for each in row[1]):,}"),
    Column("registers", lambda row: f"{sum(each.registers for each in row[1]):,}"),
)


def _streams(plan: Plan) -> Table:
    """Returns the table of what enters and leaves the array under a mapping, and through how many ports."""
    enters = entry_cycles(plan.recurrence, plan.mapping)

    def label(stream: DataStream) -> str:
        """Returns the text of a stream's access."""
        return plan.recurrence.label(stream.use)

    columns: Sequence[Column[tuple[StreamTraffic, StreamPorts]]] = (
        Column("of the best", lambda row: label(row[0].stream), is_left=True),
        Column("", lambda row: row[0].stream.use.kind, is_left=True),
        Column("", lambda row: moves_text(plan, row[0].stream), is_left=True),
        Column(
            "enters at", lambda row: f"t = {enters[label(row[0].stream)]}" if label(row[0].stream) in enters else "", is_left=True
        ),
        Column("reads", lambda row: f"{row[0].reads:,}"),
        Column("writes", lambda row: f"{row[0].writes:,}"),
        Column("ports in", lambda row: f"{row[1].into:,}"),
        Column("out", lambda row: f"{row[1].out:,}"),
        Column("registers", lambda row: f"{row[1].registers:,}"),
    )
    return table(columns, zip(plan.folds.traffic, stream_ports(plan.folds)))


def _memories(memories: MemoryCosts) -> Iterator[str | Table]:
    """Yields the table and the lines about the memories around the array: bytes, energy, and cycles spent waiting."""
    sizes = {"buffer": memories.buffer_bytes, "accumulators": memories.accumulator_bytes, "memory": memories.memory_bytes}
    parts = [name for name in (*sizes, *OPERATIONS) if name in sizes or name in memories.energy_j]
    joules = {name: shown(value, "energy") for name, value in memories.energy_j.items()}
    columns: Sequence[Column[str]] = (
        Column("of the best", lambda name: name.replace("_", "-"), is_left=True),
        Column("bytes", lambda name: _count(sizes.get(name))),
        Column("energy", lambda name: joules.get(name, "")),
    )
    yield table(columns, parts)
    if joules:
        source = "; ".join(dict.fromkeys(figure.source for _, figure in memories.machine.energies.known()))
        yield f"  energy          {shown(sum(memories.energy_j.values()), 'energy')}, without units' registers and links ({source})"
    yield f"  bytes           {MEMORIES}"
    stalled = memories.stalled()
    if stalled is not None:
        shares = (
            f"{stalled.active_share:.1%} active, {stalled.stall_share:.1%} waiting, {stalled.shift_share:.1%} shifting tiles in"
        )
        tile = f"{stalled.tile_cycles:,.0f} cycles for a tile, " if stalled.tile_cycles else ""
        yield f"  from memory     {stalled.cycles:,.0f} cycles, {STALLED}: {tile}{shares}"
    sums = memories.sums
    if sums is not None and sums.returns:
        yield f"  sums            {_sums(memories, sums)}"


def _sums(memories: MemoryCosts, sums: PartialSums) -> str:
    """Returns the text about partial sums that wait between folds."""
    word = memories.machine.accumulator_word_bytes
    first = f", blocks of {('rows', 'columns')[sums.order[-1]]} first" if len(sums.order) > 1 else ""
    place = "stay in the accumulators" if memories.on_chip else f"are more than the accumulators hold ({memories.capacity:,})"
    back = memories.stalled(on_chip=False)
    slower = f" and take {back.cycles:,.0f} cycles" if back else ""
    return f"{sums.waiting:,} wait between folds{first}: they {place}; read back they move {2 * sums.returns * word:,} bytes more{slower}"


def heading(nest: SystolicNest) -> Iterator[str]:
    """Yields the line with a nest's name, and a line for each axis of the index space on which its statements take turns: one has
    the even numbers and the other the odd ones, for instance.
    """
    yield f"── {nest.heading} ".ljust(WIDTH, "─")
    yield from interleavings(nest)


def _overlapped(folds: Folds) -> int | None:
    """Returns the cycles of all folds if each fold begins as soon as its PEs are free, while others still run the one before; None
    where folds cannot overlap in this way.
    """
    return None if folds.overlap is None else folds.overlap.cycles


def _count(number: int | None) -> str:
    """Returns a number as text; "" for None."""
    return "" if number is None else f"{number:,}"


def name_text(plan: Plan) -> str:
    """Returns the dataflow of a plan as text. Where the plan is one of the designs in Kung's catalogue, such as W2, the design's
    name follows: `ws (W2)`.
    """
    design = kung_design(plan.recurrence, plan.mapping)
    return " ".join(filter(None, (plan.dataflow, design and f"({design})")))


def mapping_text(plan: Plan) -> str:
    """Returns a plan's mapping as text, with the loops that run outside it: `t = i + j, x = i, for each k`."""
    outer = [axis_names(plan.recurrence.nest)[loop] for loop in plan.recurrence.outer]
    return plan.recurrence.text(plan.mapping) + (f", for each {', '.join(outer)}" if outer else "")


def moves_text(plan: Plan, stream: DataStream) -> str:
    """Returns in words how a stream's elements move over the array: `moves down (+x)`, `stays`, `reaches all along y at once`."""
    if is_stationary(plan.mapping, stream):
        return "stays"
    if stream in preloaded(plan.recurrence, plan.mapping):
        return "stays, used once"
    at_once = "added up" if stream.use.kind == "result" else "reaches all"
    alone = "written once" if stream.use.kind == "result" else "used once"
    return "; ".join(dict.fromkeys(_move(plan.mapping, d, at_once) for d in stream.directions)) or alone


def _move(mapping: SpaceTime, direction: Direction, at_once: str) -> str:
    """Returns in words how elements move by the steps of one direction: `moves down (+x), left (-y) 2 links in 3 cycles`, `stays`, or for a wire
    `reaches all along y at once`.

    at_once: the words for a wire, "reaches all" or, where it is sums that go along it, "added up".
    """
    wire = mapping.wire(direction) if direction.line else None
    if wire is not None:
        return f"{at_once} along {'xy'[wire]} at once"
    cycles, *links = mapping.displacement(direction)
    if cycles == 0:
        return f"{at_once} along {next(axis for axis, step in zip('xy', links) if step)} at once"
    lengths = (f" {abs(step)} links" if abs(step) > 1 else "" for step in links)
    words = (("up", "down"), ("left", "right"))[
        -len(links) :
    ]  # x counts rows, but units from left to right of an array of one dimension
    steps = zip("xy", words, links, lengths)
    ways = [f"{word[step > 0]} ({'+' if step > 0 else '-'}{axis}){length}" for axis, word, step, length in steps if step]
    return f"moves {', '.join(ways)}" + (f" in {cycles} cycles" if cycles > 1 else "") if ways else "stays"
