"""Every kind of fault that is tried, in the order of the table."""

from __future__ import annotations

from tests.faults import input, proportions
from tests.faults.campaign import Fault

FAULTS: tuple[Fault, ...] = (*proportions.FAULTS, *input.FAULTS)
