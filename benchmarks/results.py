"""What the programs here have in common in their reports: means, and rows as JSON with the machine that made them."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np


def geometric_mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.geometric_mean(found) if found else None


def print_geometric_mean(ratios: Iterable[float | None]) -> None:
    mean = geometric_mean(ratio for ratio in ratios if ratio is not None)
    print(f"geometric mean {mean:.2f}" if mean else "nothing was measured")


def write_rows(path: Path | None, rows: Sequence) -> None:
    """Writes the machine and the rows as JSON; nothing without a path."""
    if path:
        path.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


def machine() -> dict[str, object]:
    """Returns what the figures depend on beside the program."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        model = next((text.strip() for key, _, text in lines if key.strip() == "model name"), model)
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
