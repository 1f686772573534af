"""Two logarithmic axes, with marks at round values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

from polyml.drawing.labels import Box
from polyml.drawing.svg import path, text

_MOST_MARKS = 7  # with numbers along an axis
_STEPS = ((1, 2, 5), (1, 3), (1,))  # in a decade


def marks(low: float, high: float) -> list[float]:
    """Returns round values between two, evenly on a logarithmic axis: at least one wherever the larger is twice the smaller.

    >>> marks(0.8, 70), marks(0.03, 4e6)
    ([1.0, 2.0, 5.0, 10.0, 20.0, 50.0], [1.0, 100.0, 10000.0, 1000000.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for apart in range(1, last - first + 2):
        for steps in _STEPS if apart == 1 else _STEPS[-1:]:
            tens = (power for power in range(first, last + 1) if (power - last) % apart == apart - 1 or apart == 1)
            found = [float(f"{step}e{power}") for power in tens for step in steps]
            shown = [value for value in found if low <= value <= high]
            if len(shown) <= _MOST_MARKS:
                return shown
    return []


@dataclass(frozen=True)
class LogAxes:
    """Two logarithmic axes, which turn values into positions in a picture.

    low_x, high_x, low_y, high_y: the least and the greatest values, positive.
    box: where they are drawn.
    """

    low_x: float
    high_x: float
    low_y: float
    high_y: float
    box: Box

    def x(self, value: float) -> float:
        """Returns the position of a value on the lower axis, in pixels from the left."""
        return self.box.left + (self.box.right - self.box.left) * _share(value, self.low_x, self.high_x)

    def y(self, value: float) -> float:
        """Returns the position of a value on the left axis, in pixels from the top."""
        return self.box.bottom - (self.box.bottom - self.box.top) * _share(value, self.low_y, self.high_y)

    def frame(self, below: str, beside: str, shown: Callable[[float], str]) -> Iterator[str]:
        """Yields the axes with marks, faint lines at them, and the names of both axes.

        below, beside: the names of the lower and the left axis.
        shown: returns the text of a value on the left axis.
        """
        box = self.box
        for value in marks(self.low_x, self.high_x):
            yield path(f"M{self.x(value):.1f},{box.top:.1f} V{box.bottom + 4:.1f}", "wire tick-x")
            yield text(self.x(value), box.bottom + 18, f"{value:g}", "faint mark-x", anchor="middle")
        for value in marks(self.low_y, self.high_y):
            yield path(f"M{box.left - 4:.1f},{self.y(value):.1f} H{box.right:.1f}", "wire tick-y")
            yield text(box.left - 8, self.y(value) + 4, shown(value), "faint mark-y", anchor="end")
        yield path(f"M{box.left:.1f},{box.top:.1f} V{box.bottom:.1f} H{box.right:.1f}", "axis")
        yield text((box.left + box.right) / 2, box.bottom + 38, below, anchor="middle")
        turned = f'transform="translate(18,{(box.top + box.bottom) / 2:.1f}) rotate(-90)"'
        yield f'<text {turned} font-size="12" text-anchor="middle">{escape(beside)}</text>'


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)
