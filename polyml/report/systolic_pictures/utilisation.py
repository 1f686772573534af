"""How many units run an instance, cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from polyml.report.svg import Svg, path, rect, text
from polyml.report.systolic_pictures.style import heading, picture
from polyml.report.systolic_text import mapping_text
from polyml.schedule.dataflows import Plan
from polyml.simulate.frames import Frames

WIDTH, HEIGHT = 720, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 58, 48
TICKS = (1, 2, 5)


@dataclass(frozen=True)
class Course:
    """phases and active units of each cycle. starts: in which folds begin. of: what cycles these are, in words."""

    phases: tuple[str, ...]
    active: tuple[int, ...]
    starts: tuple[int, ...]
    of: str


def course(frames: Frames) -> Course:
    starts = tuple(next(folds).cycle for _, folds in groupby(frames.frames, key=lambda f: f.fold))
    return Course(tuple(f.phase for f in frames.frames), tuple(f.active for f in frames.frames), starts, frames.said)


def first_course(plan: Plan) -> Course:
    """Of the first fold, by isl: for sizes of which not every instance is enumerated."""
    active, folds = plan.folds.active, plan.folds.number
    of = f"the first of {folds:,} folds, from its first instance to its last" if folds > 1 else ""
    return Course(("compute",) * len(active), active, (0,), of)


def utilisation_svg(plan: Plan, found: Course, *, marked: bool = False) -> Svg:
    """marked: with a line that shows a cycle."""
    units, cycles = plan.folds.units, len(found.active)
    share = sum(found.active) / (units * cycles)
    words = ", ".join(filter(None, (f"{share:.1%} of {units:,} units in {cycles:,} cycles", found.of)))
    parts = [*heading("Units that run an instance", words), *_axes(units, cycles)]
    for phase, first, last in _runs(found.phases):
        if phase != "compute":
            parts.append(_band(phase, first, last, cycles))
    parts.append(path(_area(found.active, units), "bar active"))
    for start in found.starts[1:]:
        parts.append(path(f"M{_x(start, cycles):.1f},{TOP} V{HEIGHT - BOTTOM}", "axis", dashes="3 4"))
    if marked:
        line = f'<path d="M0,{TOP - 4} V{HEIGHT - BOTTOM + 4}"/>'
        parts.append(f'<g class="now" transform="translate({_x(0.5, cycles):.2f},0)">{line}</g>')
    return picture(parts, WIDTH, HEIGHT, f"{mapping_text(plan)}: units that run an instance, {words}", "utilisation")


def scale(cycles: int) -> tuple[float, float]:
    """(where the middle of cycle 0 is, pixels of a cycle)"""
    return _x(0.5, cycles), (WIDTH - LEFT - RIGHT) / cycles


def _x(cycle: float, cycles: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * cycle / cycles


def _y(active: float, units: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * active / units


def _axes(units: int, cycles: int) -> Iterator[str]:
    for value in _parts(units) or _ticks(units, 4):
        y = _y(value, units)
        yield path(f"M{LEFT},{y:.1f} H{WIDTH - RIGHT}", "line")
        yield text(LEFT - 8, y + 4, f"{value:,}", "faint", anchor="end")
    for value in _ticks(cycles, 8):
        x = _x(value, cycles)
        yield path(f"M{x:.1f},{HEIGHT - BOTTOM} v4", "axis")
        yield text(x, HEIGHT - BOTTOM + 18, f"{value:,}", "faint", anchor="middle")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "cycles", size=13, anchor="middle")


def _parts(most: int) -> list[int]:
    """From 0 to the most, in two to five equal parts, if there are such."""
    step = next((most // n for n in (4, 5, 3, 2) if most % n == 0), 0)
    return list(range(0, most + 1, step)) if step else []


def _ticks(most: int, about: int) -> list[int]:
    """Round numbers from 0 on, about so many."""
    step = next(t * 10**power for power in range(12) for t in TICKS if t * 10**power * about >= most)
    return list(range(0, most + 1, step))


def _runs(phases: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """(phase, its first cycle, the one behind its last)"""
    begin = 0
    for phase, run in groupby(phases):
        end = begin + len(list(run))
        yield phase, begin, end
        begin = end


def _band(phase: str, first: int, last: int, cycles: int) -> str:
    x, end = _x(first, cycles), _x(last, cycles)
    return f'<g class="{phase}">{rect(x, TOP, end - x, HEIGHT - BOTTOM - TOP)}</g>'


def _area(active: Sequence[int], units: int) -> str:
    """The outline, a step at each change."""
    cycles, at = len(active), 0
    path = f"M{LEFT},{HEIGHT - BOTTOM}"
    for count, run in groupby(active):
        at += len(list(run))
        path += f" V{_y(count, units):.1f} H{_x(at, cycles):.1f}"
    return f"{path} V{HEIGHT - BOTTOM} Z"
