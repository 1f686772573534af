"""What a report on one call of a kernel knows, as values. The modules beside this one print, draw and write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyml.caches.analytic.footprints import IterationFootprints
from polyml.caches.analytic.reuse_classes import Reuses
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Cpu
from polyml.machines.roofline import Roofline
from polyml.model.counting.io_lower_bound import LowerBound
from polyml.performance.cache_misses import Misses
from polyml.performance.conflict_advice import Advice
from polyml.performance.ecm import Prediction
from polyml.performance.variants import Form
from polyml.performance.vectorizability import Lanes
from polyml.tune.tiles.choose import Tiles


@dataclass(frozen=True)
class FormReport:
    """A form report says what is known of one variant of a kernel: the kernel with one order of its loops.

    form: the variant: its schedule and its program.
    misses: the misses of each cache; None where they are not known.
    roofline: the rates and bandwidths that bound it; None where misses are not known.
    prediction: the predicted time; None where rates are not known.
    problem: why misses are not known; "" where they are.
    measured: the time that it took, in seconds; None where it was not measured.
    excess: for each level, the bytes fetched into it divided by the least that any order of the instances fetches.
    """

    form: Form
    misses: Misses | None
    roofline: Roofline | None
    prediction: Prediction | None
    problem: str = ""
    excess: tuple[float, ...] = ()
    measured: float | None = None


@dataclass(frozen=True)
class ReportValues:
    """The values of a report on one call of a kernel.

    kernel, where: the kernel's name, and its place.
    sizes: the values of the kernel's parameters.
    machine, levels: the machine, and its caches.
    threads: how many threads run polyml's schedule.
    operations: how many operations the kernel has, by type of number.
    footprints: what the source's loops use of each array.
    bound: a lower bound on what any order of the instances moves between memory and a fast memory.
    reuses: the reuse in the source's order; None where data decide which elements are used.
    lanes: which of the source's loops may be vectors, and at what cost.
    advice: what to do about conflict misses of the source's order.
    tiles: the tiles of the source's loops that were looked at.
    forms: the variants: the source's order, tiles, polyml's schedule.
    seconds: how long the report took.
    """

    kernel: str
    where: str
    sizes: Mapping[str, int]
    machine: Cpu
    levels: tuple[CacheLevel, ...]
    threads: int
    operations: Mapping[str, int]
    footprints: tuple[IterationFootprints, ...]
    bound: LowerBound
    reuses: Reuses | None
    lanes: tuple[Lanes, ...]
    advice: tuple[Advice, ...]
    tiles: Tiles
    forms: tuple[FormReport, ...]
    seconds: float = field(compare=False)
