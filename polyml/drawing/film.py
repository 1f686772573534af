"""Several pictures in a notebook: side by side, one after the other by a slider, or one whose points appear in their order.

A text is a piece of HTML that needs no other files. Where scripts do not run, all pictures of a film are shown below each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from polyml.drawing.svg import Svg, title_of


class Pictures(str):
    """The text of several pictures as a piece of HTML, which notebooks show; an interpreter of Python shows the first one's title."""

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f'<pictures "{title_of(self)}", ...: str() is their HTML text, {len(self):,} characters>'


@dataclass(frozen=True)
class Frame:
    """A frame of a film is a picture, and what the slider says beside it."""

    label: str
    svg: Svg


def side_by_side(pictures: Sequence[Svg]) -> Pictures:
    """Returns pictures beside each other; in a narrow window the second one is below the first one."""
    cells = "".join(f'<div style="flex:0 1 auto;min-width:min(100%,380px)">{picture}</div>' for picture in pictures)
    return Pictures(f'<div class="polyml-pictures" style="display:flex;flex-wrap:wrap;gap:8px">{cells}</div>')


def film(title: str, frames: Sequence[Frame]) -> Pictures:
    """Returns pictures of which a slider shows one at a time. title: what the slider is for."""
    parts = [
        f'<div data-frame="{number}" data-label="{escape(frame.label)}">{frame.svg}</div>' for number, frame in enumerate(frames)
    ]
    return _with_slider(title, [frame.label for frame in frames], "".join(parts))


def order_film(title: str, svg: Svg, labels: Sequence[str]) -> Pictures:
    """Returns a picture whose points, which have times, a slider shows up to one time.

    title: what the slider is for.
    labels: what is said at each time, from 0.
    """
    return _with_slider(title, labels, str(svg))


def _with_slider(title: str, labels: Sequence[str], inside: str) -> Pictures:
    """Returns a piece of HTML with a slider above it, which has a position for each label."""
    told = json.dumps(list(labels))
    name = f"polyml-film-{sha256((told + inside).encode()).hexdigest()[:12]}"
    slider = (
        f'<input type="range" min="0" max="{len(labels) - 1}" value="0" aria-label="{escape(title)}" style="width:min(100%,360px)">'
    )
    head = f'<p hidden style="margin:4px 14px">{slider}<br><output style="font-family:monospace"></output></p>'
    script = f"<script>{_script().replace('ID', name)}</script>"
    return Pictures(f'<div class="polyml-film" id="{name}" data-labels="{escape(told)}">{head}{inside}{script}</div>')


@cache
def _script() -> str:
    return Path(__file__).with_name("film.js").read_text(encoding="utf-8")
