"""A report on a systolic array as plain data, for JSON. Every number has its accuracy near it."""

from __future__ import annotations

from dataclasses import asdict

from polyml.systolic.folding.fold_counts import StreamTraffic, is_stationary
from polyml.systolic.folding.folds import Folds
from polyml.systolic.folding.stalls import Stalled
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import Plan, entry_cycles, kung_design
from polyml.systolic.mapping.ranking import stream_ports
from polyml.systolic.report.memory_traffic import MemoryCosts
from polyml.systolic.report.values import NestReport, SystolicReportValues

VERSION = 1

CYCLES = "exact: folds one after another, no stalls, results that stay leave meanwhile"
PADDED = "exact: every fold charged the whole array"
STALLED = (
    "an estimate: padded folds that overlap, each one's tile from memory at the manual's bandwidth through the queue meanwhile"
)
MEMORIES = "exact counts, by the arrays' types: of memory the tiles of what stays, and each other element once; energies as the machine's table has them"
OVERLAPPED = "exact: each fold as soon as its units are free, what stays brought in and out meanwhile"
TRAFFIC = "exact: elements from and to the buffer; nothing stays in the array from one fold to the next"
WIRES = (
    "exact: units through which elements come and go in some fold; registers of each unit, those for the folds before and after too"
)
BOUND = "a bound: no order of the instances moves less"


def data(report: SystolicReportValues) -> dict[str, object]:
    """Returns a report on mappings as plain data for JSON."""
    return {
        "version": VERSION,
        "target": "systolic",
        **request_data(report),
        "rank": report.rank,
        "overlapped_accuracy": OVERLAPPED,
        "cycles": {"value": report.cycles, "accuracy": CYCLES},
        "utilisation": {"value": report.utilisation, "accuracy": CYCLES},
        "memory": {
            "elements": report.moved,
            "buffer_elements": report.elements,
            "formula": report.bound.text(),
            "accuracy": BOUND,
        },
        "compute_seconds": report.compute_seconds and asdict(report.compute_seconds),
        "memory_seconds": report.memory_seconds and asdict(report.memory_seconds),
        "nests": [_nest(report, nest) for nest in report.nests],
        "seconds": report.seconds,
    }


def request_data(report: SystolicReportValues) -> dict[str, object]:
    """Returns what a report was asked for, as plain data: kernel, sizes, array, links and dataflow."""
    return {
        "kernel": report.kernel,
        "where": report.where,
        "sizes": dict(report.sizes),
        "machine": report.machine and report.machine.name,
        "array": list(report.shape),
        "links": report.links,
        "dataflow": report.dataflow,
    }


def _nest(report: SystolicReportValues, nest: NestReport) -> dict[str, object]:
    """Returns what a report knows of one nest, as plain data."""
    return {
        "statement": nest.nest.name,
        "loops": list(nest.nest.loops),
        "statements": [{"name": p.statement.name, "loops": list(p.statement.iterators)} for p in nest.nest.embeddings],
        "parts": nest.nest.parts,
        "at_the_edge": list(nest.nest.boundary),
        "instances": nest.best.recurrence.instances,
        "mappings": [_plan(report, nest, plan) for plan in nest.plans],
        "seconds": nest.seconds,
    }


def _plan(report: SystolicReportValues, nest: NestReport, plan: Plan) -> dict[str, object]:
    """Returns what a report knows of one mapping, as plain data."""
    recurrence, mapping = plan.recurrence, plan.mapping
    return {
        "dataflow": plan.dataflow,
        "design": kung_design(recurrence, mapping),
        "mapping": recurrence.text(mapping),
        "outer": [axis_names(recurrence.nest)[loop] for loop in recurrence.outer],
        "enters": {text: f"t = {at}" for text, at in entry_cycles(recurrence, mapping).items()},
        "streams": [
            {
                "text": s.use.text,
                "statement": s.use.statement,
                "kind": s.use.kind,
                "stays": is_stationary(mapping, s),
                "moves": [dict(zip(("cycles", "rows", "columns"), mapping.displacement(d))) for d in s.directions],
            }
            for s in recurrence.streams
        ],
        "exact": {**_folds(plan.folds), "accuracy": CYCLES},
        **_memories(report.memories(nest, plan)),
        "padded": {**_folds(plan.padded), "formula": plan.formula and plan.formula.text(), "accuracy": PADDED},
        "drain_cycles": plan.folds.drain_cycles,
        "wires": {
            "accuracy": WIRES,
            "streams": [
                {"text": w.stream.use.text, "in": w.into, "out": w.out, "registers": w.registers} for w in stream_ports(plan.folds)
            ],
        },
        "traffic": {
            "accuracy": TRAFFIC,
            "streams": [_traffic(t) for t in plan.folds.traffic],
        },
    }


def _traffic(traffic: StreamTraffic) -> dict[str, object]:
    """Returns one stream's traffic as plain data."""
    use = traffic.stream.use
    return {"text": use.text, "statement": use.statement, "reads": traffic.reads, "writes": traffic.writes}


def _memories(memories: MemoryCosts | None) -> dict[str, object]:
    """Returns the costs of a mapping in the memories around the array as plain data; each entry is None without a machine."""
    if memories is None:
        return {"stalled": None, "memories": None}
    sums = memories.sums
    return {
        "stalled": _stalled(memories.stalled()),
        "memories": {
            "pace": memories.pace,
            "buffer_bytes": memories.buffer_bytes,
            "accumulator_bytes": memories.accumulator_bytes,
            "memory_bytes": memories.memory_bytes,
            "energy_j": {**memories.energy_j, "all": sum(memories.energy_j.values())} if memories.energy_j else None,
            "sums": sums and {
                "waiting": sums.waiting,
                "order": ["rows", "columns"][sums.order[-1]] if sums.order else None,
                "capacity": memories.capacity,
                "on_chip": memories.on_chip,
                "moved": sums.returns,
                "read_back": _stalled(memories.stalled(on_chip=False)),
            },
            "accuracy": MEMORIES,
        },
    }  # fmt: skip


def _stalled(stalled: Stalled | None) -> dict[str, object] | None:
    """Returns the cycles of folds that wait for memory as plain data."""
    if stalled is None:
        return None
    shares = {"active_share": stalled.active_share, "stall_share": stalled.stall_share, "shift_share": stalled.shift_share}
    return {**asdict(stalled), **shares, "accuracy": STALLED}


def _folds(folds: Folds) -> dict[str, object]:
    """Returns what is counted of a mapping's folds as plain data."""
    return {
        "folds": folds.number,
        "cycles": folds.cycles,
        "overlapped_cycles": folds.overlap and folds.overlap.cycles,
        "utilisation": folds.utilisation,
        "mapping_efficiency": folds.mapping_efficiency,
        "compute_utilisation": folds.compute_utilisation,
        "classes": [asdict(each) for each in folds.classes],
    }
