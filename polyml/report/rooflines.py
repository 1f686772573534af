"""The roofline of several variants of a kernel as an SVG picture: how far each may come, is predicted to come, and came.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM
2009.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from polyml.drawing.labels import Box, FreeRoom, Place
from polyml.drawing.log_axes import LogAxes
from polyml.drawing.style import heading, picture
from polyml.drawing.svg import Font, Svg, path, text
from polyml.machines.roofline import Roofline
from polyml.machines.units import shown

WIDTH, TOP = 470, 52
AXES = Box(76, TOP + 8, WIDTH - 20, TOP + 288)
SMALL = Font(11)
SHAPES = (  # of the marks of variants, around (0, 0)
    "M-6,0 a6,6 0 1,0 12,0 a6,6 0 1,0 -12,0 z",
    "M-5.5,-5.5 h11 v11 h-11 z",
    "M0,-7 L6.5,5 H-6.5 z",
    "M0,-7.5 L7.5,0 L0,7.5 L-7.5,0 z",
)
DASHES = ("", "7 3", "2 3", "9 3 2 3")  # of the roofs of bandwidths


@dataclass(frozen=True)
class Variant:
    """A variant is a kernel in one order of its instances, with its times for the same operations.

    roofline: its roofs, whose least time nothing can beat.
    predicted: the time that a model expects, in seconds; None: not known.
    measured: the time that it took, in seconds; None: not measured.
    """

    name: str
    roofline: Roofline
    predicted: float | None = None
    measured: float | None = None

    @property
    def times(self) -> dict[str, float]:
        """The times that are known, in seconds, by what they are."""
        every = {"bound": self.roofline.seconds, "predicted": self.predicted, "measured": self.measured}
        return {what: seconds for what, seconds in every.items() if seconds}


def rooflines_svg(given: Sequence[Variant]) -> str:
    """Returns rooflines as one SVG picture; "" where no rates are known.

    The axes are logarithmic: operations per second over operations per byte of main memory's traffic. Roofs are each level's
    bandwidth and the peak. A variant has a short line where its own roofs bound it, a hollow mark where its time is predicted,
    and a full one where it was measured.
    """
    named = [each for each in given if each.roofline.seconds and each.roofline.intensity("memory")]
    kinds = [roof.rate.value for each in given for roof in each.roofline.work if roof.rate is not None]
    return _Picture(named, max(kinds)).svg() if kinds and any(each.roofline.seconds for each in given) else ""


class _Picture:
    """A picture of some variants under a peak, in operations per second."""

    def __init__(self, variants: Sequence[Variant], peak: float):
        self._variants, self._peak = variants, peak
        found = [roof for each in variants for roof in each.roofline.traffic if roof.rate is not None]
        self._bandwidths = {roof.place: roof.rate.value for roof in found if roof.rate is not None}
        ridges = [peak / rate for rate in self._bandwidths.values()]
        xs = [_intensity(each) for each in variants] + ridges or [1.0]
        ys = [each.roofline.operations / seconds for each in variants for seconds in each.times.values()] + [peak]
        self._axes = LogAxes(min(xs) / 4, max(xs) * 4, min(ys) / 4, max(ys) * 2, AXES)
        self._labels: list[str] = []
        self._left_out: list[tuple[str, str]] = []

    def svg(self) -> Svg:
        """Returns the picture."""
        title, caption = "Roofline", "nothing runs above the lines; marks are variants of the kernel"
        marks = [mark for number, each in enumerate(self._variants) for mark in self._marks(number, each)]
        room = FreeRoom(Box(AXES.left + 2, AXES.top, WIDTH - 2, AXES.bottom - 2), [*(box for box, _ in marks), *self._lines()])
        parts = [*heading(title, caption)]
        parts += self._axes.frame("operations per byte of memory traffic (FLOP/B)", "operations per second (FLOP/s)", _short)
        parts += [part for number, place in enumerate(self._bandwidths) for part in self._bandwidth(number, place, room)]
        parts += self._peak_line(room)
        parts += self._distances()
        parts += [part for _, part in marks]
        parts += self._labels
        parts += self._legend()
        words = [f"{each.name}: {_times_text(each)}" for each in self._variants]
        roofs = [f"{place} {shown(rate, 'bandwidth')}" for place, rate in self._bandwidths.items()]
        label = f"{title}. {caption}. Peak {shown(self._peak, 'operations')}; {'; '.join([*roofs, *words])}."
        lines = len(self._variants) + 1 + len(self._left_out)
        width = max([float(WIDTH), *(56 + 6.2 * len(line) for line in words)])
        return picture(parts, width, below(lines) + 4, label, "roofline")

    def _bandwidth(self, number: int, place: str, room: FreeRoom) -> Iterator[str]:
        """Yields the roof of a level's bandwidth, and places its label along it."""
        rate, axes = self._bandwidths[place], self._axes
        begin, end = max(axes.low_x, axes.low_y / rate), self._peak / rate
        label, dashes = f"{place} {shown(rate, 'bandwidth')}", DASHES[number % len(DASHES)]
        yield path(
            _way([(axes.x(begin), axes.y(begin * rate)), (axes.x(end), axes.y(self._peak))]), "roof", hint=label, dashes=dashes
        )
        ratio = math.log(end / begin)
        angle = math.degrees(math.atan2(axes.y(end * rate) - axes.y(begin * rate), axes.x(end) - axes.x(begin)))
        along = [begin * math.exp(ratio * share / 20) for share in (10, 9, 11, 8, 12, 7, 13, 6, 14, 5, 15, 4, 16, 3, 17, 2, 18)]
        sides = ((x, shift) for shift in (-8.5, 16) for x in along)
        turn = math.radians(angle)
        places = [
            Place(axes.x(x) - shift * math.sin(turn), axes.y(x * rate) + shift * math.cos(turn), "middle", angle)
            for x, shift in sides
        ]
        self._label(label, places, room, dashes)

    def _lines(self) -> Iterator[Box]:
        """Yields small boxes along the roofs, which labels must not cover."""
        axes = self._axes
        for rate in self._bandwidths.values():
            begin, end = max(axes.low_x, axes.low_y / rate), self._peak / rate
            x, y = axes.x(begin), axes.y(begin * rate)
            to_x, to_y = axes.x(end), axes.y(self._peak)
            for step in range(101):
                at_x, at_y = x + (to_x - x) * step / 100, y + (to_y - y) * step / 100
                yield Box(at_x - 1, at_y - 1, at_x + 1, at_y + 1)
        begin = min((self._peak / rate for rate in self._bandwidths.values()), default=axes.low_x)
        yield Box(axes.x(begin), axes.y(self._peak) - 1, AXES.right, axes.y(self._peak) + 1)

    def _peak_line(self, room: FreeRoom) -> Iterator[str]:
        axes, peak = self._axes, self._peak
        label = f"peak {shown(peak, 'operations')}"
        begin = min((peak / rate for rate in self._bandwidths.values()), default=axes.low_x)
        yield path(_way([(axes.x(begin), axes.y(peak)), (axes.x(axes.high_x), axes.y(peak))]), "roof", hint=label)
        right, y = AXES.right, axes.y(peak)
        self._label(label, [Place(right, y - 6, "end"), Place(right, y + 15, "end"), Place(axes.x(begin), y - 6)], room, "")

    def _label(self, words: str, candidates: Sequence[Place], room: FreeRoom, dashes: str) -> None:
        """Places the label of a roof; the legend has it where there is no room. dashes: of its line."""
        found = room.placed(words, candidates, SMALL)
        if found is None:
            self._left_out.append((words, dashes))
        elif found.angle:
            turned = f'transform="translate({found.x:.1f},{found.y:.1f}) rotate({found.angle:.1f})"'
            self._labels.append(f'<text class="label" {turned} font-size="11" text-anchor="middle">{escape(words)}</text>')
        else:
            self._labels.append(text(found.x, found.y, words, "label", anchor=found.anchor, font=SMALL))

    def _distances(self) -> Iterator[str]:
        """Yields a dotted line between the marks of each variant."""
        for each in self._variants:
            ys = [self._axes.y(each.roofline.operations / seconds) for seconds in each.times.values()]
            x = self._axes.x(_intensity(each))
            if len(ys) > 1:
                yield path(_way([(x, min(ys)), (x, max(ys))]), "axis", dashes="1 3")

    def _marks(self, number: int, each: Variant) -> Iterator[tuple[Box, str]]:
        """Yields the marks of a variant, each with its box."""
        x = self._axes.x(_intensity(each))
        for what, seconds in each.times.items():
            rate = each.roofline.operations / seconds
            y = self._axes.y(rate)
            hint = f"{each.name}: {shown(rate, 'operations')} {what}"
            yield Box(x - 9, y - 8, x + 9, y + 8), mark(number, what, (x, y), hint, each.name)

    def _legend(self) -> Iterator[str]:
        """Yields the lines of the legend: the variants, what their marks mean, and labels for which the picture has no room."""
        for number, each in enumerate(self._variants):
            yield mark(number, "measured" if each.measured else "predicted" if each.predicted else "bound", (24, below(number) - 4))
            yield text(40, below(number), f"{each.name}: {_times_text(each)}")
        meaning = {"bound": "short line: bound by its own roofs", "predicted": "hollow: predicted", "measured": "full: measured"}
        found = [text for what, text in meaning.items() if any(what in each.times for each in self._variants)]
        yield text(18, below(len(self._variants)), "; ".join(found), "faint")
        for number, (words, dashes) in enumerate(self._left_out, len(self._variants) + 1):
            yield path(f"M14,{below(number) - 4:.1f} h22", "roof", dashes=dashes)
            yield text(40, below(number), words)


def below(number: int) -> float:
    """Returns the base line of a line of the legend."""
    return AXES.bottom + 64 + 19 * number


def mark(number: int, what: str, at: tuple[float, float], hint: str = "", name: str = "") -> str:
    """Returns a mark of a variant. number: its place among the variants, which decides on the shape and the colour."""
    kind = number % len(SHAPES)
    shape = "M-9,0 H9" if what == "bound" else SHAPES[kind]
    told = f' data-variant="{escape(name)}" data-what="{what}"' if name else ""
    head = f'<path class="mark {what} m{kind}" transform="translate({at[0]:.1f},{at[1]:.1f})" d="{shape}"{told}'
    return f"{head}><title>{escape(hint)}</title></path>" if hint else f"{head}/>"


def _times_text(each: Variant) -> str:
    rates = (f"{what} {_short(each.roofline.operations / seconds)}" for what, seconds in each.times.items())
    return f"{', '.join(rates)}FLOP/s"


def _intensity(each: Variant) -> float:
    found = each.roofline.intensity("memory")
    assert found is not None
    return found


def _way(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _short(value: float) -> str:
    return f"{value:g}" if value < 1 else shown(value, "operations").replace("FLOP/s", "").strip()
