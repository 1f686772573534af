"""Bank conflicts among the lanes of a request for shared memory."""

from __future__ import annotations

import numpy as np

from polyml.machines.descriptions import Gpu

_NONE = np.iinfo(np.int64).max


def wavefronts(addresses: np.ndarray, takes_part: np.ndarray, element_bytes: int, machine: Gpu) -> np.ndarray:
    """Returns how many passes through the banks of shared memory each request takes, as an array [request].

    Successive words are in successive banks, each of which delivers one word per pass; lanes that access the same word share it
    (NVIDIA, CUDA C++ Programming Guide, "Compute Capability 5.x, Shared Memory"). Where lanes access 8 bytes each, a warp's request
    is made in two halves, and with 16 bytes in four quarters (CUDA C Programming Guide 4.2, F.4.3 "64-Bit Accesses"; newer editions
    do not say otherwise), so that it takes at least 2 and 4 passes.

    addresses: in bytes, [request, lane].
    takes_part: which lanes make the access, [request, lane].

    >>> from polyml.measure.lookup import find
    >>> lanes = np.arange(32)[None]
    >>> steps = (4, 4), (8, 4), (128, 4), (0, 4), (8, 8), (256, 8)
    >>> [int(wavefronts(lanes * step, lanes >= 0, size, find("h100"))[0]) for step, size in steps]
    [1, 2, 32, 1, 2, 32]
    """
    groups, words = least(machine, element_bytes), -(-element_bytes // machine.bank_bytes)
    total = np.zeros(len(addresses), np.int64)
    for lanes, part in zip(np.split(addresses, groups, axis=1), np.split(takes_part, groups, axis=1)):
        accessed = lanes[:, :, None] // machine.bank_bytes + np.arange(words)
        accessed = np.sort(np.where(part[:, :, None], accessed, _NONE).reshape(len(addresses), -1), axis=1)
        new = accessed != _NONE
        new[:, 1:] &= accessed[:, 1:] != accessed[:, :-1]
        request, position = np.nonzero(new)
        counts = np.zeros((len(addresses), machine.shared_banks), np.int64)
        np.add.at(counts, (request, accessed[request, position] % machine.shared_banks), 1)
        total += counts.max(axis=1)
    return total


def least(machine: Gpu, element_bytes: int) -> int:
    """Returns how many passes through the banks a request takes at least if all lanes of a warp access different elements."""
    return max(1, machine.threads_per_warp * element_bytes // (machine.shared_banks * machine.bank_bytes))
