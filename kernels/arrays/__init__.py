"""Array programs as NumPy users write them: PolyBench's kernels, neural networks, attention, simulation, images and small types.

workloads()["softmax"].kernel(*workloads()["softmax"].arguments("LARGE"))
"""

from __future__ import annotations

from polyml.kernels.arrays._workload import WORKLOADS, Workload


def workloads() -> dict[str, Workload]:
    """All of them by name."""
    from polyml.kernels.arrays import attention, neural, polybench, science, small_types  # noqa: F401  they register themselves

    return dict(WORKLOADS)
