"""Panels of a picture side by side, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar


class _Panel(Protocol):
    """A panel is a frozen dataclass with fields `left` and `top`, in pixels."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def size(self) -> tuple[float, float]:
        """Its width and its height, in pixels."""


Panel = TypeVar("Panel", bound=_Panel)


def in_rows(panels: Sequence[Panel], top: float, widest: float) -> list[Panel]:
    """Returns panels side by side, in as many rows as the width asks for.

    top: of the first row.
    widest: how wide a row is at most, unless a single panel is wider.
    """
    found, left, height = list[Panel](), 0.0, 0.0
    for each in panels:
        width, own = each.size
        if left and left + width > widest:
            left, top, height = 0.0, top + height, 0.0
        found.append(replace(each, left=left, top=top))
        left, height = left + width, max(height, own)
    return found
