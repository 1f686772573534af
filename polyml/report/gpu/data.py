"""A report on a GPU as plain data, for JSON. Every number has its accuracy near it."""

from __future__ import annotations

from polyml.gpu.launches import Launches, MappedAccess, StagedCopy
from polyml.gpu.register_estimate import RULE
from polyml.gpu.warp_requests import Requests
from polyml.report.data import VERSION, roofline_data
from polyml.report.gpu.text import padding_advice
from polyml.report.gpu.values import GpuReportValues, GpuVariant
from polyml.report.plain import plain


def data(report: GpuReportValues) -> dict[str, object]:
    """Returns all that a report on a GPU knows as plain data for JSON."""
    return {
        "version": VERSION,
        "target": "cuda",
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
    found = {"name": form.name, "notes": list(form.notes)}
    if form.problem:
        return {**found, "problem": form.problem}
    return {
        **found,
        "is_source": form.is_source,
        "launches": [_launches(each) for each in form.launches],
        "roofline": roofline_data(form.roofline),
        "seconds": form.seconds,
        "accuracy": "estimate",
    }


def _launches(each: Launches) -> dict[str, object]:
    """Returns the launches of one nest as plain data for JSON."""
    nest = each.kernel.nest
    return {
        "statements": list(nest.statements),
        "host_loops": [loop.name for loop in nest.host],
        "launches": each.kernel.launches,
        "serial": nest.serial,
        "axes": [
            {"loop": axis.loop.name, "block": axis.size, "items": axis.items, "blocks": blocks}
            for axis, blocks in zip(each.mapped.axes, each.grid)
        ],
        "threads_per_block": each.threads.count,
        "blocks": each.blocks,
        "active_lanes": each.lanes,
        "registers": {"per_thread": each.registers, "accuracy": RULE},
        "shared_bytes_per_block": each.shared_bytes,
        "occupancy": {**plain(each.occupancy), "accuracy": "exact by the rules of the CUDA occupancy calculator, for the registers estimated"},
        "accesses": [_access(access) for access in each.accesses],
        "copies": [_copy(each, copy) for copy in each.copies],
        "gathers": list(each.kernel.uses.gathers),
        "l2": {"sectors": each.sectors, "requested": each.requested, "l1_keeps_what_blocks_use_again": each.is_filtered, "accuracy": "estimate"},
        "roofline": roofline_data(each.roofline),
    }  # fmt: skip


def _access(access: MappedAccess) -> dict[str, object]:
    use = access.use
    found = {"text": use.text, "array": use.array, "is_write": use.is_write, "held": list(use.held)}
    found |= {"bytes_to_next_thread": access.step}
    if access.copy is not None:
        return {**found, "copy": access.copy, "requests": access.requests.requests, "wavefronts_per_request": access.wavefronts}
    return {**found, **_requests(access.requests)}


def _requests(made: Requests) -> dict[str, object]:
    return plain(made, {"per_request": "sectors_per_request"})


def _copy(each: Launches, copy: StagedCopy) -> dict[str, object]:
    buffer = copy.buffer
    return {
        "array": buffer.array,
        "box": list(buffer.shape),
        "loop": buffer.loop,
        "tile": buffer.tile,
        "padding": buffer.padding,
        "bytes": buffer.size_bytes,
        **_requests(copy.requests),
        "wavefronts_per_store": copy.stores,
        "wavefronts_per_load": copy.loads,
        "wavefronts_per_load_unpadded": copy.unpadded,
        "advice": padding_advice(each, copy),
    }
