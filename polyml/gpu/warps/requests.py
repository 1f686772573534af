"""What the requests of warps move: sectors and lines of global memory, passes through the banks of shared memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyml.gpu.warps import bank_conflicts
from polyml.gpu.warps.warp_requests import Measure, WarpCounts, different
from polyml.machines.descriptions import Gpu


@dataclass(frozen=True)
class GlobalRequests:
    """The requests of warps for global memory that one access makes, summed up.

    requests: how many requests there are.
    lanes: threads that take part, of all requests.
    elements: different elements that they access.
    sectors, lines: sectors and lines in which the elements lie, request by request.
    most: sectors of the request with most of them.
    element_bytes, sector_bytes: sizes of each.
    accuracy: "exact", or which iterations were examined.
    """

    requests: int
    lanes: int
    elements: int
    sectors: int
    lines: int
    most: int
    element_bytes: int
    sector_bytes: int
    accuracy: str

    @staticmethod
    def of(counts: WarpCounts, element_bytes: int, machine: Gpu) -> GlobalRequests:
        """Returns the requests that were counted with `sectors`."""
        elements, sectors, lines = counts.amounts
        found = counts.requests, counts.lanes, elements, sectors, lines, counts.most
        return GlobalRequests(*found, element_bytes, machine.sector_bytes, counts.accuracy)

    @property
    def per_request(self) -> float:
        """Returns how many sectors a request has in the mean."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """Returns the bytes of different elements over the bytes of the sectors that are moved for them."""
        return self.elements * self.element_bytes / (self.sectors * self.sector_bytes) if self.sectors else 1.0


@dataclass(frozen=True)
class SharedRequests:
    """The requests of warps for shared memory that one access makes, summed up.

    requests: how many requests there are.
    lanes: threads that take part, of all requests.
    elements: different elements that they access.
    wavefronts: passes through the banks that they take.
    least: what these would be if no two lanes accessed different words of a bank.
    most: wavefronts of the request with most of them.
    accuracy: "exact", or which iterations were examined.
    """

    requests: int
    lanes: int
    elements: int
    wavefronts: int
    least: int
    most: int
    accuracy: str

    @staticmethod
    def of(counts: WarpCounts) -> SharedRequests:
        """Returns the requests that were counted with `banks`."""
        elements, wavefronts, least = counts.amounts
        return SharedRequests(counts.requests, counts.lanes, elements, wavefronts, least, counts.most, counts.accuracy)

    @property
    def per_request(self) -> float:
        """Returns how many wavefronts a request takes in the mean."""
        return self.wavefronts / self.requests if self.requests else 0.0

    @property
    def conflicts(self) -> int:
        """Returns how many wavefronts there are because lanes of a request access different words of a bank."""
        return self.wavefronts - self.least


def sectors(element_bytes: int, machine: Gpu) -> Measure:
    """Returns what is measured of requests for global memory: their different elements, sectors and lines."""

    def measure(addresses: np.ndarray, takes_part: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(different(addresses, takes_part, each) for each in (element_bytes, machine.sector_bytes, machine.line_bytes))

    return measure


def banks(element_bytes: int, machine: Gpu) -> Measure:
    """Returns what is measured of requests for shared memory: their different elements, their wavefronts, and the least number of
    these.
    """

    def measure(addresses: np.ndarray, takes_part: np.ndarray) -> tuple[np.ndarray, ...]:
        groups = np.split(takes_part, bank_conflicts.least(machine, element_bytes), axis=1)
        least = sum(each.any(axis=1).astype(np.int64) for each in groups)
        taken = bank_conflicts.wavefronts(addresses, takes_part, element_bytes, machine)
        return different(addresses, takes_part, element_bytes), taken, np.asarray(least)

    return measure
