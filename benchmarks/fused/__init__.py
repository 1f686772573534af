"""Programs of several array operations, of which one nest is enough: their bytes and their times, beside the nest written by hand.

programs()["conv_bn_relu"].arguments("FULL")
"""

from __future__ import annotations

from benchmarks.fused.program import PROGRAMS, Program


def programs() -> dict[str, Program]:
    """Returns all of them by name."""
    from benchmarks.fused import attention, images, layers, products, statistics  # noqa: F401  they register themselves

    return dict(PROGRAMS)
