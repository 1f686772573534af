"""A report as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from polyml.caches.analytic.footprints import Amount
from polyml.caches.simulator.trace import Reference
from polyml.codegen.ir.accesses import reads_and_write
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Figure
from polyml.machines.roofline import Roof, Roofline
from polyml.machines.units import shown
from polyml.model.core.printer import access_text
from polyml.model.counting import formula_text
from polyml.performance.cache_misses import ENGINE, Misses, Total
from polyml.performance.ecm import Prediction
from polyml.performance.variants import Form
from polyml.report.values import FormReport, ReportValues
from polyml.tune.tiles.choose import Tiles
from polyml.tune.tiles.estimates import Candidate

WIDTH = 80  # of headings
NEGATIVE = "conflict below 0: sets kept lines that one set of all ways, least recently used out first, would have replaced"
_COHERENCE = "coherence"
_COUNTS = ("accesses", "misses", "compulsory", "capacity", "conflict", _COHERENCE, "written back")


@dataclass(frozen=True)
class Table:
    """left: how many columns are flush left, the others flush right."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1

    def lines(self) -> list[str]:
        every = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*every)]

        def cell(number: int, text: str) -> str:
            return text.ljust(widths[number]) if number < self.left else text.rjust(widths[number])

        return ["  ".join(cell(number, text) for number, text in enumerate(line)).rstrip() for line in every]


def text(report: ReportValues) -> str:
    return lines(parts(report))


def lines(parts: Iterable[str | Table]) -> str:
    found = (part.lines() if isinstance(part, Table) else [part] for part in parts)
    return "\n".join(line for each in found for line in each).rstrip()


def parts(report: ReportValues) -> Iterator[str | Table]:
    """Lines and tables, in order."""
    sizes = ", ".join(f"{name} = {value}" for name, value in report.sizes.items())
    yield report.where
    yield f"sizes    {sizes}"
    yield f"machine  {report.machine.name}, {report.threads} threads"
    yield from (f"L{level.level}       {_geometry(level)}" for level in report.levels)
    work = ", ".join(f"{count:,} {kind}" for kind, count in report.operations.items())
    yield f"work     {work or 'no'} operations"
    yield ""
    yield from _footprints(report)
    yield from _reuse(report)
    yield from _lanes(report)
    for form in report.forms:
        yield from _form(report, form)
        yield ""
    yield from _tiles(report)
    yield ""
    yield f"{report.seconds:.2f} s"


def _geometry(level: CacheLevel) -> str:
    ways = "fully associative" if level.sets == 1 else f"{level.ways} ways"
    words = [level.replacement, f"write {level.writes}", *([] if level.contents == "independent" else [level.contents])]
    if level.shared_by != 1:
        words.append(f"shared by {level.shared_by or 'all'}")
    return f"{shown(level.size_bytes, 'size')}, {ways}, lines of {level.line_bytes} bytes, {', '.join(words)}"


def _footprints(report: ReportValues) -> Iterator[str | Table]:
    yield "── footprints of the source's loops ".ljust(WIDTH, "─")
    rows = []
    for level in report.footprints:
        for each in level.footprints:
            inside = f"one {', '.join(level.loops)}" if level.loops else "all"
            shares = (_percent(each.share(cache)) for cache in report.levels)
            rows.append(
                (inside, each.array, _amount(report, each.elements), _amount(report, each.lines), *shares, each.lines.accuracy)
            )
    yield Table(("of", "array", "elements", "lines", *(f"of L{c.level}" for c in report.levels), "accuracy"), tuple(rows), left=2)
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
    form, rows = report.forms[0].form, []
    for reference, found in report.reuses.references.items():
        name = reference_text(form, reference)
        if found.problem:
            rows.append((name, found.problem, "", "", "", "", ""))
        for each in found.classes:
            carried = each.carried or "the same iteration"
            distance = f"{formula_text.text(each.distance)}" + (
                f" = {each.least:,}" if each.least == each.greatest else f": {each.least:,} to {each.greatest:,}"
            )
            hits = [f"L{level.level}" for level, hit in zip(report.levels, each.hits) if hit] + (
                ["memory"] if each.hits[-1] else []
            )
            rows.append((name, reference_text(form, each.source), each.kind, carried, f"{each.uses:,}", distance, ", ".join(hits)))
    heads = ("reference", "used last by", "kind", "carried by", "uses", "lines between", "found in")
    yield Table(heads, tuple(rows), left=4)
    estimated = any(found.in_the_middle for found in report.reuses.references.values())
    yield "  exact for fully associative caches with LRU" + (
        ", of iterations in the middle; counts are estimates" if estimated else ""
    )
    yield from (f"  {reference_text(form, each.reference)}: {each}" for each in report.advice)
    yield ""


def _lanes(report: ReportValues) -> Iterator[str | Table]:
    yield "── lanes in the source's loops ".ljust(WIDTH, "─")
    rows = []
    for each in report.lanes:
        kinds: dict[str, list[str]] = {}
        for move in each.moves:
            kind = move.kind if move.kind != "strided" else f"strided {move.bytes:,} bytes"
            kinds.setdefault(kind, []).append(move.reference.array)
        moves = "; ".join(f"{kind}: {', '.join(dict.fromkeys(arrays))}" for kind, arrays in kinds.items())
        rows.append((each.loop, "yes" if each.is_legal else "no", f"{each.efficiency:.0%}", moves, each.reason))
    yield Table(("loop", "lanes", "efficiency", "strides", "because"), tuple(rows), left=5)
    yield "  legality is exact; efficiency is an estimate from the strides"
    yield ""


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{share:.3g}x" if share >= 10 else f"{share:.1%}"


def _amount(report: ReportValues, amount: Amount) -> str:
    value = "?" if amount.value is None else f"{amount.value:,}"
    formula = amount.text(report.sizes)
    return value if formula.partition(" where ")[0] == str(amount.value) else f"{formula} = {value}"


def _tiles(report: ReportValues) -> Iterator[str | Table]:
    found = report.tiles
    yield "── tiles of the source's loops ".ljust(WIDTH, "─")
    if found.best is None:
        yield f"none: {found.problem}"
        return
    heads = (
        f"sizes of {', '.join(found.loops)}",
        "lines",
        *(f"L{c.level} misses per instance" for c in report.levels),
        "predicted",
    )
    if not found.simulated:
        best = found.best
        misses = (f"{estimate / found.instances:.3g}" for estimate in best.estimates)
        yield Table(heads, ((_sizes(best.sizes), f"{best.lines:,}", *misses, "?"),))
        yield f"  estimates from footprints, of {len(found.candidates):,} candidates; {found.seconds:.2f} s"
    else:
        rows = [
            (_sizes(each.sizes), f"{each.lines:,}", *_misses(report, each), time_text(each.seconds))
            for each in dict.fromkeys([*found.simulated[:3], found.chosen])
        ]
        yield Table(heads, tuple(rows))
        yield (
            f"  {len(found.simulated)} of {len(found.candidates):,} candidates simulated, {found.window:,} instances at most; "
            f"fewest misses, by the levels' bandwidths, first; {len(found.predicted)} predicted; {found.seconds:.2f} s"
        )
    yield f"  {tiling(found, found.chosen.sizes)}"


def _misses(report: ReportValues, each: Candidate) -> list[str]:
    return ["?"] * len(report.levels) if each.misses is None else [f"{misses:.3g}" for misses in each.misses]


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def tiling(found: Tiles, sizes: Sequence[int]) -> str:
    """The steps that make these tiles."""
    steps = (f".tile({dict(zip(nest, sizes))})" for nest in found.nests)
    return f'k.schedule("source", ...){"".join(steps)}'


def _form(report: ReportValues, each: FormReport) -> Iterator[str | Table]:
    yield f"── {_title(each.form)} ".ljust(WIDTH, "─")
    if each.misses is None:
        yield each.problem
        return
    found = each.misses
    for number, level in enumerate(report.levels):
        rows = [(array, *_counts(found, found.of_array(array, number))) for array in found.arrays]
        rows.append(("all", *_counts(found, found.total(number))))
        heads = (head for head in _COUNTS if head != _COHERENCE or found.coherent)
        yield Table((f"L{level.level} lines", *heads), tuple(rows))
        yield ""
    rows = [
        (reference_text(each.form, r), "write" if r.is_write else "read", f"{c.accesses:,}", *(f"{n:,}" for n in c.misses))
        for r, c in found.counts.items()
    ]
    heads = ("reference", "", "accesses", *(f"L{level.level} misses" for level in report.levels))
    yield Table(heads, tuple(rows), left=2)
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


def _title(form: Form) -> str:
    return {"source": "the source's order", "polyml": "polyml's schedule", "given": "the schedule given"}.get(form.name, form.name)


def _counts(found: Misses, total: Total) -> Iterator[str]:
    coherence = (total.coherence,) if found.coherent else ()
    every = (total.accesses, total.misses, total.compulsory, total.capacity, total.conflict, *coherence, total.written)
    return (f"{n:,}" for n in every)


def reference_text(form: Form, reference: Reference) -> str:
    """As the statement has it: "A[i, k] of S0"."""
    statement = form.program.scop.statements[reference.statement]
    return f"{access_text(reads_and_write(statement)[reference.position])} of {reference.statement}"


def roofline_table(found: Roofline) -> Table:
    rows = [(r.place, f"{r.amount:,} operations", "", rate_text(r, "operations"), time_text(r.seconds)) for r in found.work]
    for roof in found.traffic:
        intensity = found.intensity(roof.place)
        per_byte = "" if intensity is None else f"{intensity:.3g} per byte"
        rows.append((roof.place, f"{roof.amount:,} bytes", per_byte, rate_text(roof, "bandwidth"), time_text(roof.seconds)))
    return Table(("roof", "amount", "intensity", "rate", "time"), tuple(rows))


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
    if roof.rate is None:
        return "not known"
    lanes = "" if roof.lanes == 1 else f", {roof.lanes:.0%} of the lanes"
    return f"{shown(roof.rate.value, kind)} {_origin(roof.rate)}{lanes}"


def _origin(figure: Figure) -> str:
    return f"({figure.origin})"


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    unit, factor = next(((u, f) for u, f in (("s", 1), ("ms", 1e3), ("us", 1e6)) if seconds * f >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}"
