"""What becomes of the setting `libraries` in each launch: which products a library may compute, and why it does not compute others.

launches of C[i, j] += A[i, k] * B[k, j]   ->   "gemm_0: by cuBLAS where its sums have at least 134,217,728 terms together"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.codegen.gpu.program import Launch
from polyml.pipeline.gpu.device import Device
from polyml.schedule.gpu.mapping import Mapped


def library_notes(pairs: Sequence[tuple[Launch, Mapped]], device: Device, is_given: bool) -> Iterator[str]:
    """Yields the lines that say what the setting `libraries` does in the launches.

    pairs: the launches, each with how its loops are mapped to threads.
    is_given: whether the launches are those of a given schedule.
    """
    if not device.libraries:
        return
    if device.dialect != "cuda":
        yield "libraries changes nothing: cuBLAS is for CUDA devices alone"
    elif is_given:
        yield "libraries changes nothing: the launches are those of a given schedule"
    else:
        found = [f"{launch.name}: {mapped.by_library}" for launch, mapped in pairs if mapped.by_library]
        yield from found or ["libraries changes nothing: no launch has a product of two matrices"]
