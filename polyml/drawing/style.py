"""Colours of pictures, light and dark, as style sheets: elements have classes, so that they follow the reader's colour scheme."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polyml.drawing.svg import Font, Svg, document, text

ROOT = "polyml-picture"  # class of every picture: style sheets of pictures in a page are the whole page's
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHARACTER = 7.3  # pixels of one that is 12 high

COLOURS = {  # name -> (light, dark); units have a fill and a border
    "paper": ("#ffffff", "#14181d"),
    "ink": ("#1b1f24", "#e7ebef"),
    "faint": ("#59636e", "#9aa5b1"),
    "line": ("#c3cad1", "#434c56"),
    "idle": ("#f4f6f8", "#1c2127"),
    "idle border": ("#d5dade", "#363e47"),
    "wrong": ("#c8102e", "#ff5c72"),
    "active": ("#d8eafb", "#16395a"),
    "active border": ("#3d7fb8", "#5aa5e0"),
    "preload": ("#fcedc8", "#4a3a10"),
    "preload border": ("#b98a1d", "#d3a63a"),
    "drain": ("#d9f1de", "#173f25"),
    "drain border": ("#3f8f56", "#5fbf7b"),
}
ELEMENTS = (  # colours of elements by lane, again from the first where there are more
    ("#a1400d", "#ffa478"), ("#0a5c85", "#7cc7f2"), ("#2d6b2d", "#8fd88f"),
    ("#6f2f86", "#dda5f0"), ("#7a5b00", "#e0c060"), ("#a3265b", "#ff9abf"),
)  # fmt: skip
LANES = len(ELEMENTS)
ACCENT = ELEMENTS[1]
PHASES = {"active": "runs an instance", "idle": "idle", "preload": "shifted in", "drain": "shifted out"}


@dataclass(frozen=True)
class Palette:
    """A palette has the colours of one scheme, light or dark.

    colours: {name of a use, such as "paper" or "ink": its colour}.
    lanes: the colours of the values in pictures of a systolic array, one for each stream (the values of one operand).
    accent: the colour of what is pointed at.
    """

    colours: dict[str, str]
    lanes: tuple[str, ...]
    accent: str

    @staticmethod
    def of(scheme: int) -> Palette:
        """Returns the palette of a scheme, 0: light, 1: dark."""
        colours = {name: both[scheme] for name, both in COLOURS.items()}
        return Palette(colours, tuple(both[scheme] for both in ELEMENTS), ACCENT[scheme])


LIGHT, DARK = Palette.of(0), Palette.of(1)


def style() -> str:
    """Returns the style sheet of a picture as an SVG element; it follows the reader's scheme, light or dark."""
    rules, dark = _rules(LIGHT), _rules(DARK)
    return f"<style>{rules}@media (prefers-color-scheme: dark){{{dark}}}</style>"


def variables(palette: Palette) -> str:
    """Returns a page's colours as the text of CSS variables, such as "--paper: #ffffff;"."""
    named = {name: palette.colours[name] for name in ("paper", "ink", "faint", "line")} | {"accent": palette.accent}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())


def _rules(palette: Palette) -> str:
    """Returns the rules of a picture's style sheet for one scheme, as CSS text."""
    colours = palette.colours
    rules = {
        ".paper": f"fill:{colours['paper']}",
        "text": f"fill:{colours['ink']}",
        ".faint": f"fill:{colours['faint']}",
        ".line": f"stroke:{colours['line']};fill:none",
        ".axis": f"stroke:{colours['faint']};fill:none",
        ".wire": f"stroke:{colours['line']};fill:none;stroke-width:1",
        ".mono": f"font-family:{MONOSPACE}",
        ".held": "opacity:.75",
        ".edge": "font-weight:bold",
        ".halo": f"paint-order:stroke;stroke:{colours['paper']};stroke-width:7px;stroke-linejoin:round",
        ".on-dark": "fill:#ffffff",
        ".on-light": "fill:#14181d",
        ".now": f"stroke:{colours['ink']};stroke-width:1.5",
    }
    rules["circle.point"] = f"fill:{colours['active border']};stroke:{colours['active border']};stroke-width:1.2"
    rules[".point.outside"] = f"fill:{colours['idle']};stroke:{colours['faint']}"
    rules[".plain>rect"] = f"fill:{colours['paper']};stroke:{colours['line']}"
    rules[".point.later+text"] = f"fill:{colours['faint']}"
    rules[".point.later"] = "fill-opacity:.04!important"
    rules[".in-group"] = f"fill:{colours['paper']}"
    rules[".arrow"] = "fill:none;stroke-width:1.4"
    rules[".tile"] = f"fill:none;stroke:{colours['ink']};stroke-width:1.4"
    rules[".cell"] = f"stroke:{colours['line']};stroke-width:.6;fill:{colours['paper']}"
    rules[".cell.read"] = f"fill:{colours['active']};stroke:{colours['active border']}"
    rules[".cell.written"] = f"fill:{colours['preload border']};stroke:{colours['preload border']}"
    rules[".cell.both"] = f"fill:{palette.accent};stroke:{palette.accent}"
    rules[".time-bar"] = f"fill:{colours['active border']}"
    rules[".group>rect"] = f"fill:{colours['idle']};stroke:{colours['idle border']}"
    rules[".group.fused>rect"] = f"stroke:{palette.accent};stroke-width:2.6"
    rules[".nest-box>rect"] = f"fill:{colours['active']};stroke:{colours['active border']}"
    rules[".edge-line"] = f"fill:none;stroke:{palette.accent};stroke-width:1.6"
    rules[".inverse"] = f"fill:{colours['paper']}"
    rules[".shared-box>rect"] = f"fill:{colours['preload']};stroke:{colours['preload border']}"
    rules[".heat"] = f"fill:{palette.accent}"
    rules[".outline-back"] = f"fill:none;stroke:{colours['paper']};stroke-width:5.4;stroke-linecap:square"
    rules[".outline"] = f"fill:none;stroke:{colours['ink']};stroke-width:2.4;stroke-linecap:square"
    rules[".roof"] = f"fill:none;stroke:{colours['ink']};stroke-width:1.4"
    rules[".curve"] = "fill:none;stroke-width:1.6"
    rules[".mark"] = f"stroke-width:2;fill:{colours['paper']}"
    rules[".mark.small"] = "fill:none;stroke-width:1.4"
    for number, colour in enumerate(palette.lanes):
        rules[f".mark.m{number}"] = f"stroke:{colour}"
        rules[f".mark.measured.m{number},.{ROOT} .mark.bound.m{number}"] = f"fill:{colour};stroke:{colour}"
        rules[f".arrow.a{number},.{ROOT} .curve.a{number}"] = f"stroke:{colour}"
        rules[f".point.s{number}"] = f"fill:{colour};stroke:{colour}"
    rules[".arrow.wrong"] = f"stroke:{colours['wrong']};stroke-width:2.2"
    rules[".wrong-head"] = f"fill:{colours['wrong']}"
    for phase in PHASES:
        fill, border = colours[phase], colours[f"{phase} border"]
        rules[f".{phase}>rect"] = f"fill:{fill};stroke:{border}"
        rules[f".bar.{phase}"] = f"fill:{border}"
    for number, colour in enumerate(palette.lanes):
        rules[f".s{number}"] = f"fill:{colour}"
        rules[f".on.w{number}"] = f"stroke:{colour};stroke-width:2"
    return "".join(f".{ROOT} {selector}{{{rule}}}" for selector, rule in rules.items())


def heading(title: str, caption: str) -> list[str]:
    """Returns the title and the caption of a picture as SVG texts."""
    return [text(14, 22, title, "title", font=Font(15, bold=True)), text(14, 41, caption, "caption faint", font=Font(13))]


def picture(parts: Iterable[str], width: float, height: float, label: str, kind: str, role: str = "img") -> Svg:
    """Returns an SVG picture with the style sheet, a background and these parts.

    parts: SVG texts.
    width, height: in pixels.
    label: what it shows, as its accessible name.
    kind: a CSS class of its root element.
    role: the ARIA role of its root element.
    """
    paper = f'<rect class="paper" width="{width:g}" height="{height:g}"/>'
    return document([style(), paper, *parts], width, height, attributes=f' class="{ROOT} {kind}"', label=label, role=role)


def heading_width(title: str, caption: str) -> float:
    """Returns about how wide a heading is, with the picture's margins, in pixels."""
    return 28 + 0.55 * max(15 * len(title), 13 * len(caption))


def lane(number: int) -> int:
    """Returns which of the colours `Palette.lanes` a stream of a systolic array has, from 0; they repeat where there are more
    streams.
    """
    return number % LANES
