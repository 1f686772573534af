"""What a report on one call of a kernel knows, as values; the modules beside this one print, draw and write them."""

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
    """problem: why nothing is known of its misses, "" where it is. prediction: None where rates are not known.
    excess: per level, the bytes fetched into it, in times the least that any order of the instances fetches.
    """

    form: Form
    misses: Misses | None
    roofline: Roofline | None
    prediction: Prediction | None
    problem: str = ""
    excess: tuple[float, ...] = ()


@dataclass(frozen=True)
class ReportValues:
    """sizes: of the kernel's parameters. levels: the caches. operations: by type. footprints: of the source's loops. bound: on what
    any order moves. reuses, lanes, advice, tiles: of the source's loops; reuses None where data decide what is used. seconds: what
    all of it took.
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
