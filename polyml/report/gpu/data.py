"""A report on a GPU as plain data, for JSON. Every number has its accuracy near it."""

from __future__ import annotations

from polyml.gpu.launches import CountedAccess, Launches
from polyml.gpu.register_estimate import RULE
from polyml.report.data import VERSION, roofline_data
from polyml.report.gpu.text import axis_name, place_of, tile_text
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.report.plain import plain


def data(report: GpuReportValues) -> dict[str, object]:
    """Returns all that a report on a GPU knows as plain data for JSON."""
    return {
        "version": VERSION,
        "target": report.target,
        "kernel": report.kernel,
        "where": report.where,
        "sizes": dict(report.sizes),
        "machine": report.machine.name,
        "block": list(report.block),
        "operations": {"by_type": dict(report.operations), "accuracy": "exact"},
        "forms": [_form(form) for form in report.forms],
        "seconds": report.seconds,
    }


def _form(form: GpuVariant) -> dict[str, object]:
    return {
        "name": form.name,
        "is_source": form.is_source,
        "launches": [_launches(each) for each in form.launches],
        "roofline": roofline_data(form.roofline),
        "seconds": form.seconds,
        "accuracy": "estimate",
    }


def _launches(each: Launches) -> dict[str, object]:
    """Returns the launches of one kernel as plain data for JSON."""
    nest = each.mapped.nest
    return {
        "kernel": each.name,
        "statements": list(nest.statements),
        "host_loops": [loop.name for loop in nest.host],
        "launches": each.launches,
        "serial": nest.serial,
        "axes": [
            {"loop": axis_name(axis), "block": axis.threads, "items": axis.items, "blocks": blocks}
            for axis, blocks in zip(each.axes, each.grid)
        ],
        "threads_per_block": each.threads.count,
        "blocks": each.blocks,
        "active_lanes": each.lanes,
        "registers": {"per_thread": each.registers, "accuracy": RULE},
        "shared": {"bytes_per_block": each.shared_bytes, "wavefronts": each.wavefronts, "conflicts": each.conflicts, "accuracy": "exact"},
        "occupancy": {**plain(each.occupancy), "accuracy": "exact by the rules of the CUDA occupancy calculator, for the registers estimated"},
        "accesses": [_access(counted, each) for counted in each.accesses],
        "gathers": list(each.gathers),
        "l2": {"sectors": each.sectors, "requested": each.requested, "l1_keeps_what_blocks_use_again": each.is_filtered, "accuracy": "estimate"},
        "memory": {"bytes": each.memory_bytes, "accuracy": "estimate"},
        "roofline": roofline_data(each.roofline),
    }  # fmt: skip


def _access(counted: CountedAccess, each: Launches) -> dict[str, object]:
    touch = counted.access.touch
    return {
        "text": touch.text,
        "array": touch.array,
        "memory": "shared" if touch.is_shared else "global",
        "is_write": touch.is_write,
        "is_copy": touch.is_copy,
        "where_data_say_so": touch.may,
        "held": list(touch.held),
        "in": place_of(counted.access, each),
        "tile": tile_text(touch),
        "bytes_to_next_thread": counted.step,
        **plain(counted.requests),
    }
