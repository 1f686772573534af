"""The report on one call of a kernel."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polyml.caches.hierarchy import checked
from polyml.errors import PolymlValueError
from polyml.hardware import Cpu
from polyml.machine import CacheLevel
from polyml.model.interface import value
from polyml.report.forms import Call, Form, forms
from polyml.report.misses import Misses, misses
from polyml.report.roofline import Roofline, roofline
from polyml.report.work import operations


@dataclass(frozen=True)
class FormReport:
    """problem: why nothing is known of its misses, "" where it is."""

    form: Form
    misses: Misses | None
    roofline: Roofline | None
    problem: str = ""


@dataclass(frozen=True)
class Report:
    """sizes: of the kernel's parameters. levels: the caches. operations: by type. seconds: what all of it took."""

    kernel: str
    where: str
    sizes: Mapping[str, int]
    machine: Cpu
    levels: tuple[CacheLevel, ...]
    threads: int
    operations: Mapping[str, int]
    forms: tuple[FormReport, ...]
    seconds: float = field(compare=False)

    def __str__(self) -> str:
        from polyml.report.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from polyml.report.html import html

        return html(self)

    def data(self) -> dict[str, object]:
        """For JSON; `version` says of which form."""
        from polyml.report.data import data

        return data(self)


def report(
    call: Call,
    arguments: Mapping[str, object],
    where: str,
    machine: Cpu,
    levels: Sequence[CacheLevel] = (),
    tile: Sequence[int] = (),
    threads: int = 0,
) -> Report:
    """arguments: of the call, by name. levels: in place of the machine's. threads: whose rates bound it, 0: all of the machine."""
    start = time.perf_counter()
    caches = checked(levels or machine.machine.caches)
    used = threads or machine.parts
    compared = [*forms(call, tile)]
    sizes = {p.name: value(p, arguments) for form in compared for p in form.scop.parameters}
    found = tuple(_of(form, sizes, caches, machine, used) for form in compared)
    work = operations(compared[0].scop, sizes)
    return Report(call.kernel.name, where, sizes, machine, caches, used, work, found, time.perf_counter() - start)


def _of(form: Form, sizes: Mapping[str, int], levels: tuple[CacheLevel, ...], machine: Cpu, threads: int) -> FormReport:
    try:
        found = misses(form, sizes, levels)
    except PolymlValueError as problem:
        return FormReport(form, None, None, problem.message)
    lanes = {kind: machine.machine.lanes(size) for kind, size in (("f64", 8), ("i64", 8), ("f32", 4), ("i32", 4))}
    return FormReport(form, found, roofline(form, found, sizes, machine, threads, lanes))
