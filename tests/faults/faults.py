"""Every kind of fault that is tried, in the order of the table."""

from __future__ import annotations

from tests.faults import cache, input, proportions, signals, sizes
from tests.faults.campaign import Fault

FAULTS: tuple[Fault, ...] = (*sizes.FAULTS, *proportions.FAULTS, *cache.FAULTS, *signals.FAULTS, *input.FAULTS)
