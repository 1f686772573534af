"""Every kind of fault that is tried, in the order of the table."""

from __future__ import annotations

from tests.faults import cache, input, passes, proportions, signals, sizes
from tests.faults.campaign import Fault

FAULTS: tuple[Fault, ...] = (
    *sizes.FAULTS, *proportions.FAULTS, *cache.FAULTS, *passes.FAULTS, *signals.FAULTS, *input.FAULTS,
)  # fmt: skip
