"""A report as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

from polyml.caches.analytic.footprint_measure import Amount, Footprint
from polyml.caches.analytic.footprints import IterationFootprints
from polyml.caches.analytic.reuse_classes import ReuseClass, Reuses
from polyml.caches.simulator.simulate import Counts
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.local_memory import local_memory
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Figure
from polyml.machines.roofline import Roof, Roofline
from polyml.machines.units import shown
from polyml.model.core.printer import access_text
from polyml.model.counting import formula_text
from polyml.performance.cache_misses import ENGINE, Misses, MissTotal
from polyml.performance.ecm import Prediction
from polyml.performance.variants import Form
from polyml.performance.vectorizability import Lanes
from polyml.report.source_places import SourcePlace, source_places
from polyml.report.table import Column, Table, lines, table
from polyml.report.values import FormReport, ReportValues
from polyml.tune.tiles.choose import Tiles
from polyml.tune.tiles.estimates import Candidate

WIDTH = 80  # characters of a heading
NEGATIVE = "conflict below 0: sets kept lines that one set of all ways, least recently used out first, would have replaced"
_COUNT_HEADS = {"written": "written back"}  # headings of fields of MissTotal that are not the field's name


def text(report: ReportValues, width: int | None = None) -> str:
    """Returns the report on a kernel's call as text. width: the most characters of a line; None: any."""
    return lines(parts(report), width)


def parts(report: ReportValues) -> Iterator[str | Table]:
    """Yields the lines and tables of a report on a kernel's call, in order."""
    sizes = ", ".join(f"{name} = {value}" for name, value in report.sizes.items())
    yield report.where
    yield f"sizes    {sizes}"
    yield f"machine  {report.machine.name}, {report.threads} thread{'s' if report.threads > 1 else ''}"
    yield from (f"L{level.level}       {_geometry(level)}" for level in report.levels)
    work = ", ".join(f"{count:,} {kind}" for kind, count in report.operations.items())
    yield f"work     {work or 'no'} operations"
    yield ""
    yield from _source(report)
    yield from _footprints(report)
    yield from _reuse(report)
    yield from _lanes(report)
    for form in report.forms:
        yield from _form(report, form)
        yield ""
    yield from _tiles(report)
    yield ""
    yield f"{report.seconds:.2f} s"


def _source(report: ReportValues) -> Iterator[str | Table]:
    """Yields the lines of the source at which the loops and statements stand that the report names."""
    yield "── where loops and statements stand ".ljust(WIDTH, "─")
    columns: list[Column[SourcePlace]] = [
        Column("name", lambda each: each.name, is_left=True),
        Column("line", lambda each: str(each.line or "")),
        Column("source", lambda each: each.text if len(each.text) <= WIDTH else f"{each.text[: WIDTH - 3]}...", is_left=True),
    ]
    yield table(columns, source_places(report.forms[0].form.scop))
    yield ""


def _geometry(level: CacheLevel) -> str:
    """Returns the size of a cache and how it works, in words."""
    ways = "fully associative" if level.sets == 1 else f"{level.ways} ways"
    words = [level.replacement, f"write {level.writes}", *([] if level.contents == "independent" else [level.contents])]
    if level.shared_by != 1:
        words.append(f"shared by {level.shared_by or 'all'}")
    return f"{shown(level.size_bytes, 'size')}, {ways}, lines of {level.line_bytes} bytes, {', '.join(words)}"


def _footprints(report: ReportValues) -> Iterator[str | Table]:
    yield "── footprints of the source's loops ".ljust(WIDTH, "─")
    columns: list[Column[tuple[IterationFootprints, Footprint]]] = [
        Column("of", lambda row: f"one {', '.join(row[0].loops)}" if row[0].loops else "all", is_left=True),
        Column("array", lambda row: row[1].array, is_left=True),
        Column("elements", lambda row: _amount(report, row[1].elements)),
        Column("lines", lambda row: _amount(report, row[1].lines)),
        *map(_share, report.levels),
        Column("accuracy", lambda row: row[1].lines.accuracy),
    ]
    yield table(columns, ((level, each) for level in report.footprints for each in level.footprints))
    yield ""
    yield "least that any order of the instances moves, in elements (S: of the fast memory):"
    yield from (f"  {line}" for line in report.bound.text(report.sizes).splitlines())
    size = max(a.element.size_bytes for a in report.forms[0].form.scop.arrays.values())
    for level in report.levels:
        elements = level.size_bytes // size
        yield f"  into L{level.level}, S = {elements:,}: {report.bound.total(report.sizes, elements):,}"
    yield ""


def _reuse(report: ReportValues) -> Iterator[str | Table]:
    if report.reuses is None:
        return
    yield "── reuse in the source's loops ".ljust(WIDTH, "─")
    form = report.forms[0].form
    columns: list[Column[_ReuseRow]] = [
        Column("reference", lambda row: reference_text(form, row.reference), is_left=True),
        Column("used last by", lambda row: row.of(lambda each: reference_text(form, each.source)) or row.problem, is_left=True),
        Column("kind", lambda row: row.of(lambda each: each.kind), is_left=True),
        Column("carried by", lambda row: row.of(lambda each: each.carried or "the same iteration"), is_left=True),
        Column("uses", lambda row: row.of(lambda each: f"{each.uses:,}")),
        Column("lines between", lambda row: row.of(_distance)),
        Column("found in", lambda row: row.of(lambda each: ", ".join(_places(report, each)))),
    ]
    yield table(columns, _reuse_rows(report.reuses))
    estimated = any(found.in_the_middle for found in report.reuses.references.values())
    yield "  exact for fully associative caches with LRU" + (
        ", of iterations in the middle; counts are estimates" if estimated else ""
    )
    yield from (f"  {reference_text(form, each.reference)}: {each}" for each in report.advice)
    yield ""


@dataclass(frozen=True)
class _ReuseRow:
    """A row of the table of reuse is a reference with some of its uses, or with the problem why nothing is known of them.

    each: a group of the reference's uses, with the reference that used their cache lines before, and the loop in an earlier
        iteration of which it did; None where there is a problem.
    """

    reference: ArrayReference
    each: ReuseClass | None
    problem: str = ""

    def of(self, cell: Callable[[ReuseClass], str]) -> str:
        """Returns the text that `cell` makes of the row's uses; "" where nothing is known of them."""
        return "" if self.each is None else cell(self.each)


def _reuse_rows(reuses: Reuses) -> Iterator[_ReuseRow]:
    for reference, found in reuses.references.items():
        if found.problem:
            yield _ReuseRow(reference, None, found.problem)
        yield from (_ReuseRow(reference, each) for each in found.classes)


def _distance(each: ReuseClass) -> str:
    """Returns as text a reuse distance: how many other lines are used between two uses of a line, as a formula and as numbers."""
    range_ = f" = {each.least:,}" if each.least == each.greatest else f": {each.least:,} to {each.greatest:,}"
    return f"{formula_text.text(each.distance)}{range_}"


def _places(report: ReportValues, each: ReuseClass) -> Iterator[str]:
    """Yields the names of the cache levels, "memory" last, in which some of the uses find their line."""
    yield from (f"L{level.level}" for level, hits in zip(report.levels, each.hits) if hits)
    if each.hits[-1]:
        yield "memory"


def _lanes(report: ReportValues) -> Iterator[str | Table]:
    yield "── lanes in the source's loops ".ljust(WIDTH, "─")
    columns: list[Column[Lanes]] = [
        Column("loop", lambda each: each.loop, is_left=True),
        Column("lanes", lambda each: "yes" if each.is_legal else "no", is_left=True),
        Column("efficiency", lambda each: f"{each.efficiency:.0%}", is_left=True),
        Column("strides", _strides, is_left=True),
        Column("because", lambda each: each.reason, is_left=True),
    ]
    yield table(columns, report.lanes)
    yield "  legality is exact; efficiency is an estimate from the strides"
    yield ""


def _strides(each: Lanes) -> str:
    """Returns the arrays by how lanes access them, as text, such as "contiguous: A, B"."""
    kinds: dict[str, list[str]] = {}
    for move in each.moves:
        kind = move.kind if move.kind != "strided" else f"strided {move.bytes:,} bytes"
        kinds.setdefault(kind, []).append(move.reference.array)
    return "; ".join(f"{kind}: {', '.join(dict.fromkeys(arrays))}" for kind, arrays in kinds.items())


def _share(level: CacheLevel) -> Column[tuple[IterationFootprints, Footprint]]:
    """Returns the column of the table of footprints that says what fraction of a cache level each one fills."""
    return Column(f"of L{level.level}", lambda row: _percent(row[1].share(level)))


def _percent(share: float | None) -> str:
    """Returns a share as a percentage, from ten times the whole on as "12x"; "?" where it is not known."""
    return "?" if share is None else f"{share:.3g}x" if share >= 10 else f"{share:.1%}"


def _amount(report: ReportValues, amount: Amount) -> str:
    """Returns an amount as text, its formula and its value; "?" for a value that is not known."""
    value = "?" if amount.value is None else f"{amount.value:,}"
    formula = amount.text(report.sizes)
    return value if formula.partition(" where ")[0] == str(amount.value) else f"{formula} = {value}"


def _tiles(report: ReportValues) -> Iterator[str | Table]:
    found = report.tiles
    yield "── tiles of the source's loops ".ljust(WIDTH, "─")
    best, chosen = found.best, found.chosen
    if best is None or chosen is None:
        yield f"none: {found.problem}"
        return
    simulated = bool(found.simulated)
    columns: list[Column[Candidate]] = [
        Column(f"sizes of {', '.join(found.loops)}", lambda each: _sizes(each.sizes), is_left=True),
        Column("lines", lambda each: f"{each.lines:,}"),
        *(_misses(found, level, number) for number, level in enumerate(report.levels)),
        Column("predicted", lambda each: time_text(each.seconds) if simulated else "?"),
    ]
    if not simulated:
        yield table(columns, [best])
        yield f"  estimates from footprints, of {len(found.candidates):,} candidates; {found.seconds:.2f} s"
    else:
        yield table(columns, dict.fromkeys([*found.simulated[:3], chosen]))
        yield (
            f"  {len(found.simulated)} of {len(found.candidates):,} candidates simulated, {found.window:,} instances at most; "
            f"fewest misses, by the levels' bandwidths, first; {len(found.predicted)} predicted; {found.seconds:.2f} s"
        )
    yield f"  {tiling(found, chosen.sizes)}"


def _misses(found: Tiles, level: CacheLevel, number: int) -> Column[Candidate]:
    """Returns the column of a level's misses per instance: simulated ones, or estimates where nothing was simulated.

    number: the level's position among the machine's levels, from 0.
    """

    def cell(each: Candidate) -> str:
        if not found.simulated:
            return f"{each.estimates[number] / found.instances:.3g}"
        return "?" if each.misses is None else f"{each.misses[number]:.3g}"

    return Column(f"L{level.level} misses per instance", cell)


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def tiling(found: Tiles, sizes: Sequence[int]) -> str:
    """Returns the schedule script, as text, that tiles the source's loops with tiles of these sizes.

    sizes: of each nest from its outermost loop on
    """
    steps = (f".tile({dict(zip(nest, sizes))})" for nest in found.nests)
    return f'k.schedule("source", ...){"".join(steps)}'


def _form(report: ReportValues, each: FormReport) -> Iterator[str | Table]:
    yield f"── {_title(each.form)} ".ljust(WIDTH, "─")
    if each.misses is None or each.roofline is None:
        yield each.problem
        return
    found, memory = each.misses, local_memory(each.form.program, report.sizes, report.threads)
    if memory.apart_bytes:
        yield f"  local arrays: {memory.peak_bytes:,} bytes at once; apart, they would take {memory.apart_bytes:,}"
        yield ""
    for number, level in enumerate(report.levels):
        totals = [*((array, found.of_array(array, number)) for array in found.arrays), ("all", found.total(number))]
        yield table([Column(f"L{level.level} lines", lambda row: row[0], is_left=True), *_counts(found)], totals)
        yield ""
    columns: list[Column[tuple[ArrayReference, Counts]]] = [
        Column("reference", lambda row: reference_text(each.form, row[0]), is_left=True),
        Column("", lambda row: "write" if row[0].is_write else "read", is_left=True),
        Column("accesses", lambda row: f"{row[1].accesses:,}"),
        *(_misses_of_reference(level, number) for number, level in enumerate(report.levels)),
    ]
    yield table(columns, found.counts.items())
    yield f"  {ENGINE}: {found.accuracy}; {found.seconds:.2f} s"
    if any(found.of_array(array, number).conflict < 0 for array in found.arrays for number in range(len(report.levels))):
        yield f"  {NEGATIVE}"
    begin = (f"{array} {place.address:,}" for array, place in found.simulation.places.items() if array in found.arrays)
    yield f"  conflicts depend on where arrays begin, in bytes: {', '.join(begin)}"
    yield ""
    excess = (f"L{level.level} {times:.3g}" for level, times in zip(report.levels, each.excess))
    yield f"  fetched, to be read or written, in times the least of any order: {', '.join(excess)}"
    yield ""
    yield from _roofline(each.roofline)
    yield from _prediction(each.prediction)
    if each.measured is not None:
        yield f"  measured {time_text(each.measured)}: the least of several calls with copies of the arguments"


def _title(form: Form) -> str:
    """Returns the heading of a variant of the kernel."""
    return {"source": "the source's order", "polyml": "polyml's schedule", "given": "the schedule given"}.get(form.name, form.name)


def _counts(found: Misses) -> Iterator[Column[tuple[str, MissTotal]]]:
    """Yields a column for each field of MissTotal; that of coherence only where coherent caches were simulated."""
    for each in fields(MissTotal):
        if each.name != "coherence" or found.coherent:
            yield Column(_COUNT_HEADS.get(each.name, each.name), _count(each.name))


def _count(name: str) -> Callable[[tuple[str, MissTotal]], str]:
    return lambda row: f"{getattr(row[1], name):,}"


def _misses_of_reference(level: CacheLevel, number: int) -> Column[tuple[ArrayReference, Counts]]:
    return Column(f"L{level.level} misses", lambda row: f"{row[1].misses[number]:,}")


def reference_text(form: Form, reference: ArrayReference) -> str:
    """Returns a reference as the text "A[i, k] of S0": the access as its statement has it, and the statement."""
    statement = form.program.scop.statements[reference.statement]
    return f"{access_text(reads_and_write(statement)[reference.position])} of {reference.statement}"


def roofline_table(found: Roofline) -> Table:
    """Returns the table of a roofline's roofs, with their amounts, intensities, rates and times."""
    kinds = [(roof, "operations") for roof in found.work] + [(roof, "bandwidth") for roof in found.traffic]
    columns: list[Column[tuple[Roof, str]]] = [
        Column("roof", lambda row: row[0].place, is_left=True),
        Column("amount", lambda row: f"{row[0].amount:,} {'bytes' if row[1] == 'bandwidth' else 'operations'}"),
        Column("intensity", lambda row: _intensity(found, row[0]) if row[1] == "bandwidth" else ""),
        Column("rate", lambda row: rate_text(*row)),
        Column("time", lambda row: time_text(row[0].seconds)),
    ]
    return table(columns, kinds)


def _intensity(found: Roofline, roof: Roof) -> str:
    intensity = found.intensity(roof.place)
    return "" if intensity is None else f"{intensity:.3g} per byte"


def _roofline(found: Roofline) -> Iterator[str | Table]:
    yield roofline_table(found)
    if found.seconds is None:
        yield "  no time is predicted: `polyml machine --measure` measures the machine's rates"
    else:
        yield f"  bound by {found.bound}: at least {time_text(found.seconds)}, the highest roof"


def _prediction(found: Prediction | None) -> Iterator[str]:
    if found is not None:
        moves = "".join(f", {place} {time_text(seconds)}" for place, seconds in found.moves.items())
        yield f"  predicted {time_text(found.seconds)}: instructions {time_text(found.instructions)}{moves}; an estimate"


def rate_text(roof: Roof, kind: str) -> str:
    """Returns the rate of a roof as text, with how it is known, such as "(measured)"; "not known" where there is none.

    kind: what the rate counts per second, "operations" or "bandwidth" (bytes), which decides its unit.
    """
    if roof.rate is None:
        return "not known"
    lanes = "" if roof.lanes == 1 else f", {roof.lanes:.0%} of the lanes"
    return f"{shown(roof.rate.value, kind)} {_origin(roof.rate)}{lanes}"


def _origin(figure: Figure) -> str:
    return f"({figure.origin})"


def time_text(seconds: float | None) -> str:
    """Returns a time with three digits and its unit; "?" where it is not known."""
    if seconds is None:
        return "?"
    unit, factor = next(((u, f) for u, f in (("s", 1), ("ms", 1e3), ("us", 1e6)) if seconds * f >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}"
