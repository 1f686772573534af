"""The report on one call of a kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from polyml import polyhedra
from polyml.caches.analytic.footprints import footprints
from polyml.caches.analytic.reuse_classes import Reuses, reuse
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses
from polyml.caches.analytic.set_conflicts import strided_walks
from polyml.caches.simulator.simulate import Counts
from polyml.caches.simulator.trace import references
from polyml.codegen.ir.array_layout import Placed, check_addresses, placed
from polyml.codegen.ir.program import Program
from polyml.errors import ConfigError, PolymlValueError
from polyml.machines.cache_spec import checked
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Cpu
from polyml.model.core.call_interface import value
from polyml.model.core.scop import Scop
from polyml.model.counting.io_lower_bound import LowerBound, lower_bound
from polyml.model.counting.operation_counts import instances, operations
from polyml.performance.cache_misses import Misses, misses
from polyml.performance.conflict_advice import Advice, advice
from polyml.performance.ecm import prediction
from polyml.performance.roofline import roofline
from polyml.performance.variants import Form, KernelCall, forms, source_schedule
from polyml.performance.vectorizability import lanes
from polyml.report.values import FormReport, ReportValues
from polyml.runtime.calling.bounds_errors import violation
from polyml.runtime.storage.records import record
from polyml.tune.tiles.choose import tiles
from polyml.tune.tiles.search import Rates

REUSE_SECONDS = 0.5  # time to look for reuse
TILE_SECONDS = 1.0  # time to look for tiles
MOST_INSTANCES = 10**11  # that are simulated, which takes hours


@dataclass(frozen=True)
class Report(ReportValues):
    """The report on one call of a kernel, which prints, draws and writes itself. Its fields are those of `ReportValues`.

    >>> import numpy as np, polyml
    >>> from polyml.measure.lookup import find
    >>> @polyml.kernel
    ... def double(A):
    ...     for i in range(A.shape[0]):
    ...         A[i] *= 2.0
    >>> report = double.report(np.ones(64), machine=find("avx2"), threads=1)
    >>> print(report)
    double (<doctest ...>:1)
    sizes    A_0 = 64
    machine  avx2, 1 thread
    ...
    """

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Returns the report as text, as `print` shows it. width: the most characters of a line; None: any.

        >>> import numpy as np, polyml
        >>> from polyml.measure.lookup import find
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> report = double.report(np.ones(64), machine=find("avx2"), threads=1, simulate=False)
        >>> max(len(line) for line in report.text(80).splitlines()) <= 80
        True
        """
        from polyml.report.text import text

        return text(self, width)

    def _repr_html_(self) -> str:
        from polyml.report.html import page
        from polyml.report.text import parts

        return page(parts(self), *self.pictures().values())

    def pictures(self) -> dict[str, str]:
        """Returns the report's pictures as SVG texts by name, "" where there is nothing to draw.

        >>> import numpy as np, polyml
        >>> from polyml.measure.lookup import find
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> list(double.report(np.ones(64), machine=find("avx2"), threads=1, simulate=False).pictures())
        ['roofline', 'tiles']
        """
        from polyml.report.charts import roofline_svg, tiles_svg

        return {"roofline": roofline_svg(self), "tiles": tiles_svg(self)}

    def page(self) -> str:
        """Returns the report as a page of HTML that needs no other file.

        >>> import numpy as np, polyml
        >>> from polyml.measure.lookup import find
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> double.report(np.ones(64), machine=find("avx2"), threads=1, simulate=False).page()[:15]
        '<!doctype html>'
        """
        from polyml.report.html import document

        return document(self.kernel, self._repr_html_())

    def data(self) -> dict[str, object]:
        """Returns the report as plain data for JSON; its "version" says in which format.

        >>> import numpy as np, polyml
        >>> from polyml.measure.lookup import find
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> double.report(np.ones(64), machine=find("avx2"), threads=1, simulate=False).data()["operations"]
        {'by_type': {'f64': 64}, 'accuracy': 'exact'}
        """
        from polyml.report.data import data

        return data(self)


@dataclass(frozen=True)
class CacheSetup:
    """The caches that a report simulates, and how they are used.

    levels: the caches, nearest first.
    threads: how many threads run the kernel.
    simulate: whether the caches are simulated; if not, the report says nothing of misses.
    coherent: whether lines that one thread writes leave the caches of others.
    addresses: array -> the byte at which it begins; the other arrays follow one another.
    """

    levels: tuple[CacheLevel, ...]
    threads: int = 1
    simulate: bool = True
    coherent: bool = False
    addresses: Mapping[str, int] = field(default_factory=dict)


def report(
    call: KernelCall, arguments: Mapping[str, object], where: str, machine: Cpu, setup: CacheSetup, tile: Sequence[int] = ()
) -> Report:
    """Returns the report on a call: it compiles the variants, simulates their misses and looks for tiles, which takes seconds.

    Raises ConfigError for coherent caches of one thread or without a simulation, and for addresses of arrays that do not exist
    or would overlap.

    arguments: those of the call, by name.
    where: the kernel's name, file and line, as the first line of the report shows them.
    setup: the caches to simulate.
    tile: sizes of tiles of the source's loops, which are another variant; (): none.
    """
    start = time.perf_counter()
    caches, used, addresses = checked(setup.levels), setup.threads, setup.addresses
    setup = replace(setup, levels=caches)
    if setup.coherent and (used == 1 or not setup.simulate):
        reason = "one thread has nobody to share lines with" if used == 1 else "nothing is simulated"
        raise ConfigError(f"coherent caches are not for this report: {reason}", notes=["expected several threads, simulated"])
    compared = [*forms(call, tile)]
    sizes = {p.name: value(p, arguments) for form in compared for p in form.scop.parameters}
    scop = compared[0].scop
    _check_bounds(scop, sizes)
    for form in compared:
        check_addresses(addresses, placed(form.program, sizes, addresses=addresses, threads=used), form.program)
    work, used_of = operations(scop, sizes), footprints(scop, None, sizes, line_bytes=caches[0].line_bytes)
    bound = lower_bound(scop)
    subject = _Subject(sizes, machine, setup, bound)
    reason = _why_not_simulated(scop, sizes) if setup.simulate else "not simulated"
    found = tuple(FormReport(form, None, None, None, reason) if reason else _form_report(form, subject) for form in compared)
    source = source_schedule(call)
    best = tiles(source, sizes, caches, rates(caches, machine, 1), 0.0 if reason else TILE_SECONDS, addresses)
    places = placed(compared[0].program, sizes, addresses=addresses)
    reuses, crowded = _reuse(found[0], sizes, places, caches)
    together = lanes(
        source, {**places, **placed(Program(source.problem.scop, ()), sizes, addresses=addresses)}, machine.machine.vector_bytes
    )
    seconds = time.perf_counter() - start
    return Report(
        call.kernel.name, where, sizes, machine, caches, used, work, used_of, bound, reuses, together, crowded, best, found, seconds
    )


def _reuse(
    source: FormReport, sizes: Mapping[str, int], places: Mapping[str, Placed], levels: tuple[CacheLevel, ...]
) -> tuple[Reuses | None, tuple[Advice, ...]]:
    """Returns the reuse of lines in the source's order, and advice on references most of whose misses in some level are conflict
    misses.

    The reuse is None where data decide which elements are used.
    """
    form = source.form
    try:
        known = references(form.program)
    except PolymlValueError:
        return None, ()
    accesses = ScheduledAccesses(form.scop, form.scop.schedule, known, sizes, places)
    counts = {} if source.misses is None else source.misses.counts
    crowded = advice(strided_walks(accesses, levels)) if counts else ()
    found = (each for each in crowded if _are_conflicts(counts[each.reference], levels.index(each.level)))
    return reuse(accesses, levels, seconds=REUSE_SECONDS, whole=False), tuple(found)


def _check_bounds(scop: Scop, sizes: Mapping[str, int]) -> None:
    """Raises BoundsError where the call of these sizes would leave an array, as the compiled kernel does."""
    for check in scop.checks:
        if check.kind == "bounds" and not check.may and not polyhedra.fix(check.violated, sizes).is_empty():
            raise violation(record(check), sizes)


def _why_not_simulated(scop: Scop, sizes: Mapping[str, int]) -> str:
    """Returns why the accesses of a call are not simulated; "" where they are."""
    runs = sum(instances(statement, sizes) for statement in scop.statements.values())
    if runs <= MOST_INSTANCES:
        return ""
    return (
        f"not simulated: there are {runs:,} instances of statements, and at most {MOST_INSTANCES:,} are; smaller sizes have fewer"
    )


def _are_conflicts(counts: Counts, level: int) -> bool:
    """Returns whether more than half of a reference's misses of a level are conflicts."""
    return 2 * counts.conflict(level) > counts.misses[level]


def rates(levels: Sequence[CacheLevel], machine: Cpu, threads: int) -> Rates | None:
    """Returns the time of a miss of each cache level, the clock and the length of vectors, by which the times of tiles are
    predicted.

    A miss of a level takes as long as a line at the bandwidth of the next level. None is returned where a bandwidth or the clock is
    not known.
    """
    places = [*(f"L{level.level}" for level in levels[1:]), "memory"]
    read, clock = [machine.read(place, threads) for place in places], machine.frequency_hz.of(threads, machine.parts)
    known = [rate.value for rate in read if rate is not None]
    if clock is None or len(known) < len(read):
        return None
    misses = tuple(level.line_bytes / rate for level, rate in zip(levels, known))
    return Rates(misses, clock.value, machine.machine.vector_bytes)


@dataclass(frozen=True)
class _Subject:
    """A subject holds the sizes, the machine and the caches for which all variants of the kernel in one report are simulated.

    sizes: the values of the kernel's parameters.
    setup: the caches.
    least: a lower bound on what any order of the instances moves between memory and a fast memory.
    """

    sizes: Mapping[str, int]
    machine: Cpu
    setup: CacheSetup
    least: LowerBound


def _form_report(form: Form, on: _Subject) -> FormReport:
    """Returns the report on a variant: its simulated misses, roofline and predicted time, or why it cannot be simulated.

    on: the sizes, machine and caches
    """
    setup = on.setup
    try:
        found = misses(form, on.sizes, setup.levels, setup.threads, setup.coherent, setup.addresses)
    except PolymlValueError as problem:
        return FormReport(form, None, None, None, problem.message)
    bound = roofline(form, found, on.sizes, on.machine, setup.threads)
    expected = prediction(form, bound, on.sizes, found.simulation.places, on.machine, setup.threads)
    return FormReport(form, found, bound, expected, excess=tuple(_excess(form, found, on.sizes, on.least)))


def _excess(form: Form, found: Misses, sizes: Mapping[str, int], least: LowerBound) -> Iterator[float]:
    """Yields for each level the bytes that the variant fetches into it, divided by the least that any order of the instances
    fetches.

    That least is estimated in two ways, of which the larger counts: a lower bound on loads plus the lines of arrays that are only
    written, and all different lines that are used.
    """
    smallest = min((a.element.size_bytes for a in form.scop.arrays.values() if a.shape), default=1)
    read = {reference.array for reference in found.counts if not reference.is_write}
    for number, level in enumerate(found.levels):
        written = sum(found.of_array(array, number).compulsory for array in found.arrays if array not in read)
        loads = least.loads(sizes, level.size_bytes // smallest) * smallest
        bound = max(loads + written * level.line_bytes, found.total(number).compulsory * level.line_bytes)
        yield found.total(number).misses * level.line_bytes / max(bound, 1)
