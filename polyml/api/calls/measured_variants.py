"""How long calls of a kernel take in the orders that a report compares, measured on copies of their arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polyml.errors import ConfigError
from polyml.machines.descriptions import Described
from polyml.measure import lookup

if TYPE_CHECKING:
    from polyml.report.report import Report

_SECONDS, _LEAST, _MOST = 0.3, 3, 1_000  # spent on each variant with copies, and calls at least and at most


def check_is_host(machine: Described | None) -> None:
    """Raises ConfigError for another machine than the one that this process runs on; None stands for this one."""
    if machine is not None and machine.name != lookup.find("host").name:
        notes = ["without `measure`, the report says what the kernel is predicted to take there"]
        raise ConfigError(f"times are measured on this computer, not on {machine.name}", notes=notes)


def with_times(report: Report, calls: Mapping[str, Callable[..., object]], arguments: Sequence[object]) -> Report:
    """Returns a report with the least time that each variant took.

    calls: by the name of a variant, what runs it; arguments are copied for each call.
    """
    found = (replace(form, measured=least_seconds(calls[form.form.name], arguments)) for form in report.forms)
    return replace(report, forms=tuple(found))


def least_seconds(call: Callable[..., object], arguments: Sequence[object]) -> float:
    """Returns the least time that a call took, in seconds, of three, or of as many as fit into 0.3 seconds, at most 1,000; one before
    compiles it.
    """

    def copies() -> list[object]:
        return [np.copy(each, order="K") if isinstance(each, np.ndarray) else each for each in arguments]

    call(*copies())
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _LEAST or len(times) < _MOST and time.perf_counter() < end:
        given = copies()
        start = time.perf_counter()
        call(*given)
        times.append(time.perf_counter() - start)
    return min(times)
