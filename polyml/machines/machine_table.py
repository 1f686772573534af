"""What a description of a machine has besides its rates, as rows of a table that notebooks show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from polyml.machines.cpu import CacheLevel, CpuMachine
from polyml.machines.units import shown


def facts(machine: Any) -> Iterator[tuple[str, str]]:  # Any: every dataclass has fields
    """Yields each number and word of a description with the name of its field, of a processor those of its caches too.

    machine: a dataclass.
    """
    for field in fields(machine):
        value, what = getattr(machine, field.name), field.name.replace("_", " ")
        if isinstance(value, CpuMachine):
            yield from facts(value)
            yield from ((f"L{level.level}", _cache(level)) for level in value.caches)
        elif isinstance(value, int) and not isinstance(value, bool):
            is_size = field.name.endswith("_bytes") or "_bytes_" in field.name
            yield what, shown(value, "size") if is_size else f"{value:,}"
        elif isinstance(value, (bool, str)) and field.name != "name":
            yield what, str(value)


def _cache(level: CacheLevel) -> str:
    ways = f"{level.ways} ways" if level.ways else "fully associative"
    return f"{shown(level.size_bytes, 'size')}, {ways}, lines of {shown(level.line_bytes, 'size')}"
