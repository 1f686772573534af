"""A picture of how many PEs run an instance, cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from polyml.drawing.style import CHARACTER, PHASES, heading, picture
from polyml.drawing.svg import Font, Svg, path, rect, text
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.report.text import mapping_text
from polyml.systolic.simulate.activity import Activity

WIDTH, HEIGHT = 440, 272
LEFT, RIGHT, TOP, BOTTOM = 56, 30, 58, 70
TICKS = (1, 2, 5)
MOST_STARTS = 24  # of folds, that are drawn


def utilisation_svg(plan: Plan, found: Activity, *, marked: bool = False) -> Svg:
    """Returns the SVG picture of how many PEs run an instance in each cycle; marked: with a line that a page moves to a cycle."""
    units, cycles = plan.folds.units, len(found.active)
    share = int(found.active.sum()) / (units * cycles)
    together = -(-cycles // (WIDTH - LEFT - RIGHT))  # cycles of a pixel
    words = ", ".join(
        filter(
            None,
            (
                f"{share:.1%} of {units:,} units in {cycles:,} cycles",
                found.scope_text,
                f"averages of {together} cycles" if together > 1 else "",
            ),
        )
    )
    parts = [*heading("Units that run an instance", words), *_axes(units, cycles)]
    for phase, first, last in found.phases:
        if phase != "compute" and first < last:
            parts.append(_band(phase, first, last, cycles))
    parts.append(path(_area(_averages(found.active, together), units, cycles / together), "bar active"))
    parts += _legend([phase for phase, first, last in found.phases if first < last])
    for start in found.starts[1:] if len(found.starts) <= MOST_STARTS else ():
        parts.append(path(f"M{_x(start, cycles):.1f},{TOP} V{HEIGHT - BOTTOM}", "axis", dashes="3 4"))
    if marked:
        line = f'<path d="M0,{TOP - 4} V{HEIGHT - BOTTOM + 4}"/>'
        parts.append(f'<g class="now" transform="translate({_x(0.5, cycles):.2f},0)">{line}</g>')
    return picture(parts, WIDTH, HEIGHT, f"{mapping_text(plan)}: units that run an instance, {words}", "utilisation")


def scale(cycles: int) -> tuple[float, float]:
    """Returns the horizontal positions of cycles in the picture, in pixels: (the middle of cycle 0, the width of a cycle).

    cycles: how many are drawn.
    """
    return _x(0.5, cycles), (WIDTH - LEFT - RIGHT) / cycles


def _x(cycle: float, cycles: float) -> float:
    """Returns the horizontal position of a cycle, of `cycles` that are drawn."""
    return LEFT + (WIDTH - LEFT - RIGHT) * cycle / cycles


def _y(active: float, units: int) -> float:
    """Returns the vertical position of a number of PEs, of `units` in all."""
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * active / units


def _axes(units: int, cycles: int) -> Iterator[str]:
    """Yields the SVG elements of the axes, with their numbers."""
    for value in _parts(units) or _ticks(units, 4):
        y = _y(value, units)
        yield path(f"M{LEFT},{y:.1f} H{WIDTH - RIGHT}", "line")
        yield text(LEFT - 8, y + 4, f"{value:,}", "faint", anchor="end")
    for value in _ticks(cycles, 8):
        x = _x(value, cycles)
        yield path(f"M{x:.1f},{HEIGHT - BOTTOM} v4", "axis")
        yield text(x, HEIGHT - BOTTOM + 18, f"{value:,}", "faint", anchor="middle")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 36, "cycles", font=Font(13), anchor="middle")


def _parts(most: int) -> list[int]:
    """Returns the numbers from 0 to `most`, both included, in two to five equal steps; [] where `most` cannot be divided so."""
    step = next((most // n for n in (4, 5, 3, 2) if most % n == 0), 0)
    return list(range(0, most + 1, step)) if step else []


def _ticks(most: int, about: int) -> list[int]:
    """Returns about `about` round numbers, from 0 to at most `most`, in equal steps."""
    step = next(t * 10**power for power in range(12) for t in TICKS if t * 10**power * about >= most)
    return list(range(0, most + 1, step))


def _band(phase: str, first: int, last: int, cycles: int) -> str:
    """Returns the SVG element that shades the cycles of a phase other than "compute".

    first, last: its first cycle, and the one behind its last; cycles: how many are drawn.
    """
    x, end = _x(first, cycles), _x(last, cycles)
    return f'<g class="{phase}"><title>{PHASES[phase]}</title>{rect(x, TOP, end - x, HEIGHT - BOTTOM - TOP)}</g>'


def _legend(phases: Sequence[str]) -> Iterator[str]:
    """Yields a sample of the curve and of the bands, with what each means."""
    x, y = 14.0, HEIGHT - 14.0
    for phase in ("active", *(name for name in PHASES if name in phases and name not in ("active", "idle"))):
        yield (
            f'<g class="{phase}">{rect(x, y - 11, 14, 14)}</g>'
            if phase != "active"
            else path(f"M{x},{y - 11}h14v14h-14z", "bar active")
        )
        yield text(x + 20, y, PHASES[phase], "faint")
        x += 40 + CHARACTER * len(PHASES[phase])


def _averages(active: np.ndarray, together: int) -> np.ndarray:
    """Returns the average number of PEs at work in each group of `together` successive cycles; the last group may have fewer.

    active: how many PEs are at work, by cycle.
    """
    starts = np.arange(0, len(active), together)
    return np.add.reduceat(active, starts) / np.diff(starts, append=len(active))


def _area(active: np.ndarray, units: int, bars: float) -> str:
    """Returns the SVG path around the area below a curve with steps: how many PEs are at work over time.

    active: how many PEs are at work, for each bar of the picture.
    units: how many PEs there are.
    bars: how many bars fill the picture's width; a fraction where the last bar stands for fewer cycles than the others, and is
        narrower.
    """
    at, way = 0, f"M{LEFT},{HEIGHT - BOTTOM}"
    for count, run in groupby(active):
        at += len(list(run))
        way += f" V{_y(count, units):.1f} H{_x(min(at, bars), bars):.1f}"
    return f"{way} V{HEIGHT - BOTTOM} Z"
