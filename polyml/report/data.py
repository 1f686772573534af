"""A report as plain data, for JSON. Each number stands near its accuracy and the engine that found it."""

from __future__ import annotations

from polyml.caches.analytic.footprint_measure import Amount
from polyml.caches.analytic.footprints import IterationFootprints
from polyml.caches.analytic.reuse_classes import ReuseClass, Reuses
from polyml.caches.simulator.simulate import Counts
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.local_memory import local_memory
from polyml.machines.descriptions import Figure
from polyml.machines.roofline import Roof, Roofline
from polyml.model.counting import formula_text
from polyml.performance.cache_misses import ENGINE, Misses
from polyml.performance.variants import Form
from polyml.report.plain import plain
from polyml.report.source_places import source_places
from polyml.report.text import reference_text, tiling
from polyml.report.values import FormReport, ReportValues

VERSION = 1


def data(report: ReportValues) -> dict[str, object]:
    """Returns all that a report knows as plain data for JSON."""
    return {
        "version": VERSION,
        "target": "cpu",
        "kernel": report.kernel,
        "where": report.where,
        "sizes": dict(report.sizes),
        "machine": report.machine.name,
        "threads": report.threads,
        "levels": [plain(level) for level in report.levels],
        "source": [plain(each) for each in source_places(report.forms[0].form.scop)],
        "operations": {"by_type": dict(report.operations), "accuracy": "exact"},
        "footprints": [_level(report, level) for level in report.footprints],
        "lower_bound": _bound(report),
        "reuse": None if report.reuses is None else _reuse(report, report.reuses),
        "lanes": {
            "accuracy": "legality exact, efficiency an estimate from the strides",
            "loops": [plain(each, {"is_legal": "legal"}) for each in report.lanes],
        },
        "advice": [{**plain(each), "text": str(each)} for each in report.advice],
        "tiles": _tiles(report),
        "forms": [_form(report, form) for form in report.forms],
        "seconds": report.seconds,
    }


def _level(report: ReportValues, level: IterationFootprints) -> dict[str, object]:
    return {
        "loops": list(level.loops),
        "seconds": level.seconds,
        "arrays": {
            f.array: {
                "elements": _amount(f.elements),
                "lines": _amount(f.lines),
                "bytes": _amount(f.bytes),
                "shares": [f.share(cache) for cache in report.levels],
            }
            for f in level.footprints
        },
    }


def _amount(amount: Amount) -> dict[str, object]:
    return {"formula": amount.text(), "value": amount.value, "accuracy": amount.accuracy, "assumes": amount.assumes}


def _bound(report: ReportValues) -> dict[str, object]:
    size = max(array.element.size_bytes for array in report.forms[0].form.scop.arrays.values())
    elements = [level.size_bytes // size for level in report.levels]
    totals = [report.bound.total(report.sizes, each) for each in elements]
    return {"formula": report.bound.text(), "elements": elements, "totals": totals, "accuracy": "a bound: no order moves less"}


def _reuse(report: ReportValues, reuses: Reuses) -> dict[str, object]:
    form = report.forms[0].form
    return {
        "engine": "distances of reuse",
        "accuracy": "exact for fully associative caches with LRU; estimate where in_the_middle",
        "assumes": list(reuses.facts),
        "unaligned": list(reuses.unaligned),
        "seconds": reuses.seconds,
        "references": [
            {
                "text": reference_text(form, reference),
                **plain(reference),
                "uses": found.uses,
                "first": found.first,
                "in_the_middle": found.in_the_middle,
                "problem": found.problem,
                "classes": [_reuse_class(each) for each in found.classes],
            }
            for reference, found in reuses.references.items()
        ],
    }


def _reuse_class(each: ReuseClass) -> dict[str, object]:
    distance = {"formula": formula_text.text(each.distance), "usual": each.usual, "least": each.least, "greatest": each.greatest}
    found = {"source": plain(each.source), "kind": each.kind, "carried": each.carried, "uses": each.uses}
    return {**found, "distance": distance, "hits": list(each.hits)}


def _tiles(report: ReportValues) -> dict[str, object]:
    found = report.tiles
    return {
        "loops": list(found.loops),
        "candidates": [plain(candidate) for candidate in found.simulated],
        "predicted": [plain(candidate) for candidate in found.predicted],
        "fastest": found.fastest and list(found.fastest.sizes),
        "steps": found.chosen and tiling(found, found.chosen.sizes),
        "considered": len(found.candidates),
        "extents": list(found.extents),
        "instances": found.instances,
        "window": found.window,
        "problem": found.problem,
        "accuracy": "exact for the window; estimates of first uses where all of a window's lines fit a level; times are estimates",
        "seconds": found.seconds,
    }


def _form(report: ReportValues, each: FormReport) -> dict[str, object]:
    found: dict[str, object] = {"name": each.form.name, "notes": list(each.form.notes)}
    if each.misses is None or each.roofline is None:
        return {**found, "problem": each.problem}
    return {
        **found,
        "misses": _misses(each.form, each.misses),
        "roofline": roofline_data(each.roofline),
        "prediction": _prediction(each),
        "measured": each.measured,
        "excess": list(each.excess),
        "local_memory": plain(local_memory(each.form.program, report.sizes, report.threads)),
    }


def _prediction(each: FormReport) -> dict[str, object] | None:
    if each.prediction is None:
        return None
    return {**plain(each.prediction), "accuracy": "estimate: instructions and moves one after the other"}


def _misses(form: Form, found: Misses) -> dict[str, object]:
    levels = range(len(found.levels))
    return {
        "engine": ENGINE,
        "accuracy": found.accuracy,
        "threads": found.threads,
        "coherent": found.coherent,
        "seconds": found.seconds,
        "accesses": found.accesses,
        "levels": [
            {
                "level": found.levels[k].level,
                "total": plain(found.total(k)),
                "arrays": {a: plain(found.of_array(a, k)) for a in found.arrays},
            }
            for k in levels
        ],
        "references": [_reference(form, reference, counts, levels) for reference, counts in found.counts.items()],
    }


def _reference(form: Form, reference: ArrayReference, counts: Counts, levels: range) -> dict[str, object]:
    return {
        "text": reference_text(form, reference),
        **plain(reference),
        "accesses": counts.accesses,
        "compulsory": counts.cold,
        "levels": [
            {
                "misses": counts.misses[k],
                "compulsory": counts.first[k],
                "capacity": counts.capacity(k),
                "conflict": counts.conflict(k),
                "coherence": counts.coherence(k),
            }
            for k in levels
        ],
    }


def roofline_data(found: Roofline) -> dict[str, object]:
    """Returns a roofline as plain data for JSON: its operations, its roofs and its bound."""
    return {
        "operations": found.operations,
        "work": [_roof(roof) for roof in found.work],
        "traffic": [{**_roof(roof), "operations_per_byte": found.intensity(roof.place)} for roof in found.traffic],
        "bound": found.bound,
        "seconds": found.seconds,
        "accuracy": "bound: the highest roof",
    }


def _roof(roof: Roof) -> dict[str, object]:
    return {"place": roof.place, "amount": roof.amount, "per_s": _figure(roof.rate), "seconds": roof.seconds, "lanes": roof.lanes}


def _figure(figure: Figure | None) -> dict[str, object] | None:
    return None if figure is None else plain(figure)
