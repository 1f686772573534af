"""Peers at their best: no variable of the environment overrides which code a library chooses for this processor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

OVERRIDES = (
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE", "BLIS_MODEL_TYPE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE",
    "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS", "ATEN_CPU_CAPABILITY", "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_DISABLE_JIT", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES",
)  # fmt: skip


@contextmanager
def unhindered() -> Iterator[tuple[str, ...]]:
    """Processes started inside see none of these variables. Gives the names of those that were set."""
    before = {name: os.environ.pop(name) for name in OVERRIDES if name in os.environ}
    try:
        yield tuple(before)
    finally:
        os.environ.update(before)
