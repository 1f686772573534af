"""A report as plain data, for JSON. Every number has its accuracy and the engine that found it near it."""

from __future__ import annotations

from dataclasses import asdict

from polyml.caches.trace import Reference
from polyml.hardware import Figure
from polyml.report.make import FormReport, Report
from polyml.report.misses import ACCURACY, ENGINE, Misses
from polyml.report.roofline import Roof, Roofline
from polyml.report.text import reference_text

VERSION = 1


def data(report: Report) -> dict[str, object]:
    return {
        "version": VERSION,
        "kernel": report.kernel,
        "where": report.where,
        "sizes": dict(report.sizes),
        "machine": report.machine.name,
        "threads": report.threads,
        "levels": [asdict(level) for level in report.levels],
        "operations": {"by_type": dict(report.operations), "accuracy": "exact"},
        "forms": [_form(form) for form in report.forms],
        "seconds": report.seconds,
    }


def _form(each: FormReport) -> dict[str, object]:
    found: dict[str, object] = {"name": each.form.name, "notes": list(each.form.notes)}
    if each.misses is None or each.roofline is None:
        return {**found, "problem": each.problem}
    return {**found, "misses": _misses(each), "roofline": _roofline(each.roofline)}


def _misses(each: FormReport) -> dict[str, object]:
    found: Misses = each.misses
    levels = range(len(found.levels))
    return {
        "engine": ENGINE,
        "accuracy": ACCURACY,
        "seconds": found.seconds,
        "accesses": found.accesses,
        "levels": [
            {"level": found.levels[k].level, "total": asdict(found.total(k)), "arrays": {a: asdict(found.of_array(a, k)) for a in found.arrays}}
            for k in levels
        ],
        "references": [_reference(each, reference, levels) for reference in found.counts],
    }


def _reference(each: FormReport, reference: Reference, levels: range) -> dict[str, object]:
    counts = each.misses.counts[reference]
    return {
        "text": reference_text(each.form, reference),
        **asdict(reference),
        "accesses": counts.accesses,
        "compulsory": counts.cold,
        "levels": [{"misses": counts.misses[k], "capacity": counts.capacity(k), "conflict": counts.conflict(k)} for k in levels],
    }


def _roofline(found: Roofline) -> dict[str, object]:
    return {
        "operations": found.operations,
        "work": [_roof(roof) for roof in found.work],
        "traffic": [{**_roof(roof), "operations_per_byte": found.intensity(roof.place)} for roof in found.traffic],
        "bound": found.bound,
        "seconds": found.seconds,
        "accuracy": "estimate: the highest roof",
    }


def _roof(roof: Roof) -> dict[str, object]:
    return {"place": roof.place, "amount": roof.amount, "per_s": _figure(roof.rate), "seconds": roof.seconds, "lanes": roof.lanes}


def _figure(figure: Figure | None) -> dict[str, object] | None:
    return figure and asdict(figure)
