"""Colours of the pictures, light and dark, as style sheets: what follows the reader's colour scheme has classes, not colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polyml.report.svg import Svg, document, text

ROOT = "polyml-systolic"  # class of every picture: style sheets of pictures in a page are the whole page's
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHARACTER = 7.3  # pixels of one that is 12 high


@dataclass(frozen=True)
class Palette:
    """phases: fill and border of units. lanes: of elements, again from the first where there are more."""

    paper: str
    ink: str
    faint: str
    line: str
    phases: dict[str, tuple[str, str]]
    lanes: tuple[str, ...]


LIGHT = Palette(
    "#ffffff",
    "#1b1f24",
    "#59636e",
    "#c3cad1",
    {
        "idle": ("#f4f6f8", "#d5dade"),
        "active": ("#d8eafb", "#3d7fb8"),
        "preload": ("#fcedc8", "#b98a1d"),
        "drain": ("#d9f1de", "#3f8f56"),
    },
    ("#a1400d", "#0a5c85", "#2d6b2d", "#6f2f86", "#7a5b00", "#a3265b"),
)
DARK = Palette(
    "#14181d",
    "#e7ebef",
    "#9aa5b1",
    "#434c56",
    {
        "idle": ("#1c2127", "#363e47"),
        "active": ("#16395a", "#5aa5e0"),
        "preload": ("#4a3a10", "#d3a63a"),
        "drain": ("#173f25", "#5fbf7b"),
    },
    ("#ffa478", "#7cc7f2", "#8fd88f", "#dda5f0", "#e0c060", "#ff9abf"),
)
LANES = len(LIGHT.lanes)
PHASES = {"active": "runs an instance", "idle": "idle", "preload": "shifted in", "drain": "shifted out"}


def style() -> str:
    rules, dark = _rules(LIGHT), _rules(DARK)
    return f"<style>{rules}@media (prefers-color-scheme: dark){{{dark}}}</style>"


def _rules(palette: Palette) -> str:
    rules = {
        ".paper": f"fill:{palette.paper}",
        "text": f"fill:{palette.ink}",
        ".faint": f"fill:{palette.faint}",
        ".line": f"stroke:{palette.line};fill:none",
        ".axis": f"stroke:{palette.faint};fill:none",
        ".wire": f"stroke:{palette.line};fill:none;stroke-width:1",
        ".mono": f"font-family:{MONOSPACE}",
        ".held": "opacity:.75",
        ".edge": "font-weight:bold",
        ".halo": f"paint-order:stroke;stroke:{palette.paper};stroke-width:7px;stroke-linejoin:round",
        ".on-dark": "fill:#ffffff",
        ".on-light": "fill:#14181d",
        ".now": f"stroke:{palette.ink};stroke-width:1.5",
    }
    for phase, (fill, border) in palette.phases.items():
        rules[f".{phase}>rect"] = f"fill:{fill};stroke:{border}"
        rules[f".bar.{phase}"] = f"fill:{border}"
    for number, colour in enumerate(palette.lanes):
        rules[f".s{number}"] = f"fill:{colour}"
        rules[f".on.w{number}"] = f"stroke:{colour};stroke-width:2"
    return "".join(f".{ROOT} {selector}{{{rule}}}" for selector, rule in rules.items())


def heading(title: str, caption: str) -> list[str]:
    return [text(14, 22, title, "title", size=15, bold=True), text(14, 41, caption, "caption faint", size=13)]


def picture(parts: Iterable[str], width: float, height: float, label: str, kind: str, role: str = "img") -> Svg:
    """label: what it shows, as its accessible name. kind: a class."""
    paper = f'<rect class="paper" width="{width:g}" height="{height:g}"/>'
    return document([style(), paper, *parts], width, height, attributes=f' class="{ROOT} {kind}"', label=label, role=role)


def heading_width(title: str, caption: str) -> float:
    """About, with the picture's margins."""
    return 28 + 0.55 * max(15 * len(title), 13 * len(caption))


def lane(number: int) -> int:
    """Of the colours."""
    return number % LANES
