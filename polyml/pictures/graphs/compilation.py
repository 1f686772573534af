"""Where the time of a compilation went, as an SVG picture: a bar for each pass, in the order in which passes ran, by stage."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from polyml.drawing.style import heading, picture
from polyml.drawing.svg import Font, Svg, text

MOST = 24  # bars; passes that take least are put together
LEFT, WIDE, TOP, ROW = 176.0, 200.0, 76.0, 18.0  # pixels: of the names, of the longest bar, above all, of a row


def compilation_svg(kernel: str, passes: Mapping[tuple[str, str], float]) -> Svg:
    """Returns the picture of a compilation.

    passes: {(stage, name of a pass): seconds}, in the order in which they ran.
    """
    total, longest = sum(passes.values()), max(passes.values(), default=0.0) or 1.0
    shown = sorted(passes, key=lambda each: -passes[each])[:MOST]
    title = f"Compilation of {kernel}"
    caption = f"{_milliseconds(total)} in {len(passes)} passes, in the order in which they first ran"
    rows = [each for each in passes if each in shown]
    parts = [*heading(title, caption), text(14, TOP - 8, "stage", "faint"), text(72, TOP - 8, "pass", "faint")]
    parts.append(text(LEFT, TOP - 8, "time", "faint"))
    words, last = [], ""
    for number, (stage, name) in enumerate(rows):
        seconds, y = passes[stage, name], TOP + 8 + ROW * number
        told = f"{_milliseconds(seconds)}, {seconds / total:.0%}" if total else _milliseconds(seconds)
        parts += [text(14, y, stage, "faint", font=Font(11))] if stage != last else []
        parts.append(text(72, y, name, font=Font(11)))
        attributes = f'data-stage="{escape(stage)}" data-pass="{escape(name)}" data-seconds="{seconds!r}"'
        parts.append(
            f'<rect class="time-bar" x="{LEFT:.1f}" y="{y - 10:.1f}" width="{max(WIDE * seconds / longest, 0.5):.1f}" height="12" '
            f"{attributes}><title>{escape(f'{name} ({stage}): {told}')}</title></rect>"
        )
        parts.append(text(LEFT + 6 + WIDE * seconds / longest, y, told, font=Font(11)))
        words.append(f"{name} {told}")
        last = stage
    bottom = TOP + 8 + ROW * len(rows)
    others = [each for each in passes if each not in shown]
    if others:
        words.append(f"{len(others)} further passes together: {_milliseconds(sum(passes[each] for each in others))}")
        parts.append(text(14, bottom + 8, words[-1], "faint"))
    legend = "bars: the time of each pass, which counts to a stage; parsing is not among them"
    parts.append(text(14, bottom + 28, legend, "faint", font=Font(11)))
    return picture(parts, LEFT + WIDE + 110, bottom + 40, f"{title}. {caption}. {'; '.join(words)}.", "compilation")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
