"""An array that is too large to draw unit by unit: how many instances each unit runs in one fold, as shades."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Svg, text
from polyml.model.counting.cardinality import CannotCount, count
from polyml.pictures.arrays.array_panels import PlanePanel, extent
from polyml.pictures.arrays.grids import Cell, Grid, grid
from polyml.systolic.folding.folds import fold_points
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.spacetime import linear
from polyml.systolic.report.text import mapping_text

MOST = 2_000  # cells; each stands for several units of a larger array
TOP = 60.0
_STEPS = 2_000  # sums that are made for the formula of a unit's instances at most

Unit = tuple[int, ...]


def unit_counts(plan: Plan) -> dict[Unit, int] | None:
    """Returns how many instances each unit runs in a plan's first fold, by a formula of its coordinates; None where there is none."""
    first = next(fold_points(plan.folds))
    recurrence, shape = plan.recurrence, plan.folds.shape
    names = [*(f"o{k}" for k in range(len(recurrence.outer))), *(f"a{k}" for k in range(len(recurrence.axes)))]
    units = [f"unit{k}" for k in range(len(shape))]
    axes = names[len(recurrence.outer) :]
    places = (f"{linear(row, axes)} - ({corner}) = {unit}" for row, corner, unit in zip(plan.mapping.space, first.corner, units))
    own = isl.Set(f"[{', '.join(units)}] -> {{ [{', '.join(names)}] : {' and '.join(places)} }}")
    try:
        counted = count(first.points.intersect(own), steps=_STEPS)
    except CannotCount:
        return None
    return {index: counted.evaluate(dict(zip(units, index))) for index in _indices(shape)}


def _indices(shape: Unit) -> list[Unit]:
    layout = Grid("", shape)
    return [index for cell in layout.cells() for index in layout.elements(cell)]


def fold_map_svg(plan: Plan, counts: Mapping[Unit, int]) -> Svg:
    """Returns the SVG picture of the instances that each unit runs in the first fold. counts: as `unit_counts` returns them."""
    folds, shape = plan.folds, plan.folds.shape
    which = "the only fold" if folds.number == 1 else f"the first of {folds.number:,} folds"
    title = "Instances of each unit"
    caption = f"{' x '.join(map(str, shape))} units, {which}"
    layout = grid("units", shape, MOST)
    panel = PlanePanel(layout, 0, top=TOP)
    most = max([1, *counts.values()])

    def cell(at: Cell) -> tuple[str, str, str, str]:
        own = [*layout.elements(at)]
        total = sum(counts[unit] for unit in own)
        first, last = (", ".join(f"{axis} = {value}" for axis, value in zip("xy", unit)) for unit in (own[0], own[-1]))
        hint = f"{first}: {total:,} instances" if len(own) == 1 else f"{len(own)} units from {first} to {last}: {total:,} instances"
        told = f' data-units="{len(own)}" data-instances="{total}" style="fill-opacity:{total / len(own) / most:.3f}"'
        return "heat", told, hint, ""

    parts = [*heading(title, caption), *panel.axes(), *panel.cells(cell)]
    width, bottom = extent([panel], TOP)
    words = [
        mapping_text(plan),
        f"{sum(counts.values()):,} instances; shades: 0 to {most:,} of a unit",
        "x is the row, counted downwards, y the column, to the right" if len(shape) == 2 else "x counts units to the right",
        "too large to draw with what moves between units",
    ]
    if layout.step > 1:
        each = f"{layout.step} x {layout.step}" if len(shape) == 2 or layout.is_wrapped else str(layout.step)
        words.insert(1, f"each cell stands for {each} units, with their average")
    for number, line in enumerate(words):
        parts.append(text(18, bottom + 12 + 18 * number, line, "faint"))
    width = max(width, heading_width(title, caption), *(30 + 6.4 * len(line) for line in words))
    return picture(parts, width, bottom + 12 + 18 * len(words), f"{title}. {caption}. {'; '.join(words)}.", "fold-map")
