"""The pictures of a report, by name."""

from __future__ import annotations

from polyml.drawing.style import picture
from polyml.drawing.svg import Font, Svg, text
from polyml.errors import ConfigError
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.report.pictures.array import Scene
from polyml.systolic.report.pictures.fold_map import fold_map_svg, unit_counts
from polyml.systolic.report.pictures.spacetime import spacetime_svg
from polyml.systolic.report.pictures.utilisation import utilisation_svg
from polyml.systolic.report.pictures.wavefronts import wavefronts_svg
from polyml.systolic.report.values import SystolicReportValues
from polyml.systolic.simulate.activity import activity
from polyml.systolic.simulate.frames import Frames
from polyml.systolic.simulate.snapshots import frames


def pictures(report: SystolicReportValues) -> dict[str, str]:
    """Returns the SVG pictures of each nest's best mapping by name, which ends with the nest's name where there are several."""
    found: dict[str, str] = {}
    for nest in report.nests:
        suffix = f"-{nest.nest.name.replace(', ', '-')}" if len(report.nests) > 1 else ""
        found |= {name + suffix: text for name, text in pictures_of(nest.best).items()}
    return found


def pictures_of(plan: Plan) -> dict[str, str]:
    """Returns the SVG pictures of a plan by name: "wavefronts", "utilisation", "array" in the cycle in which most PEs run an
    instance, and "spacetime" for an array of one dimension.

    Of an array that is too large to draw with what moves in it, "array" shows how many instances each PE runs in the first fold, and "spacetime" is
    left out.
    """
    found = {"wavefronts": wavefronts_svg(plan), "utilisation": utilisation_svg(plan, activity(plan))}
    try:
        shown = frames(plan, 1)
    except ConfigError as problem:
        counts = unit_counts(plan)
        return {"array": _refusal(problem) if counts is None else fold_map_svg(plan, counts), **found}
    return {"array": array_svg(shown), **found, **({"spacetime": spacetime_svg(shown)} if len(shown.shape) == 1 else {})}


def array_svg(shown: Frames, cycle: int | None = None) -> Svg:
    """Returns the SVG picture of the array in a cycle; None stands for the first one in which most PEs run an instance.

    Raises: ConfigError for a cycle that is not in the frames.
    """
    last = len(shown.frames) - 1
    if cycle is None:
        cycle = max(range(last + 1), key=lambda n: shown.frames[n].active)
    if not 0 <= cycle <= last:
        raise ConfigError(f"there is no cycle {cycle}", notes=[f"expected one of 0 to {last}"])
    frame = shown.frames[cycle]
    return Scene(shown, [frame]).svg(frame)


def _refusal(problem: ConfigError) -> Svg:
    """Returns an SVG picture with the text of an error, in place of a picture that would be too large."""
    lines = [problem.message, *problem.notes]
    parts = [text(14, 26 + 20 * n, line, font=Font(13)) for n, line in enumerate(lines)]
    return picture(parts, 40 + 7 * max(map(len, lines)), 26 + 20 * len(lines), problem.message, "array")
