"""A page without other files: the array with a slider that steps through the cycles, for each of a nest's mappings; the other
pictures; the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

from polyml.drawing.style import DARK, LANES, LIGHT, lane, variables
from polyml.errors import ConfigError
from polyml.report.html import page as tables
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.report.pictures.array import Scene, unit_text
from polyml.systolic.report.pictures.collection import pictures_of
from polyml.systolic.report.pictures.utilisation import scale, utilisation_svg
from polyml.systolic.report.text import mapping_text, moves_text, name_text, parts
from polyml.systolic.report.values import NestReport, SystolicReportValues
from polyml.systolic.simulate.activity import of_frames
from polyml.systolic.simulate.frames import Frames
from polyml.systolic.simulate.snapshots import frames

SPEEDS = (("slow", 1400), ("normal", 700), ("fast", 250))  # milliseconds of a cycle
FRAME = 1000  # pixels of its height in notebooks


class Page(str):
    """A Page is the text of an HTML page, which notebooks show as a page within theirs."""

    def _repr_html_(self) -> str:
        """Returns the page in an HTML frame."""
        return f'<iframe srcdoc="{escape(self)}" width="100%" height="{FRAME}" style="border: 0"></iframe>'


def page(report: SystolicReportValues) -> Page:
    """Returns an HTML page that needs no other files: the array of each nest with a slider that steps through its cycles, pictures,
    and tables.

    Raises: ConfigError where nothing runs, or nothing is small enough to be drawn.
    """
    if not report.nests:
        raise ConfigError(f"nothing of {report.kernel} runs for these arguments: there is no array to draw")
    drawn = {nest.nest.name: _drawn(nest) for nest in report.nests}
    if not any(shown for shown, _ in drawn.values()):
        _, refused = next(iter(drawn.values()))
        assert refused is not None  # a nest has plans, of which none was drawn
        raise refused
    sizes = ", ".join(f"{name} = {value}" for name, value in report.sizes.items())
    array = " x ".join(map(str, report.shape))
    fields = {
        "TITLE": escape(f"{report.kernel} on {array} units"),
        "HEAD": f'<p class="faint">{escape(", ".join(filter(None, (report.where, sizes))))}</p>',
        "PLAYERS": "\n".join(line for nest in report.nests for line in _nest(nest, *drawn[nest.nest.name])),
        "PICTURES": "\n".join(line for nest in report.nests for line in _pictures(report, nest)),
        "TABLES": tables(parts(report)),
        "SCRIPT": _file("player.js"),
        "LIGHT": variables(LIGHT),
        "DARK": variables(DARK),
    }
    return Page(re.sub("@([A-Z]+)@", lambda found: fields[found[1]], _file("page.html")))


@cache
def _file(name: str) -> str:
    """Returns the text of a file beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _nest(nest: NestReport, drawn: list[Frames], refused: ConfigError | None) -> Iterator[str]:
    """Yields the HTML lines of one nest: a heading, a menu of its mappings where several are drawn, and for each of them the array
    with its slider.

    drawn: for each mapping that is drawn, what each PE does.
    refused: the error that says why a mapping is not drawn; None where all are.
    """
    yield f'<section class="nest" aria-label="{escape(nest.nest.name)}">'
    yield f"<h2>{escape(nest.nest.heading)}</h2>"
    if refused:
        yield f"<p>{escape(refused.message)}; {escape('; '.join(refused.notes))}</p>"
    if len(drawn) == 1:
        yield f"<p><code>{escape(_said(drawn[0].plan))}</code></p>"
    if len(drawn) > 1:
        options = (f'<option value="{n}">{escape(_said(each.plan))}</option>' for n, each in enumerate(drawn))
        yield f'<label>mapping <select class="plan">{"".join(options)}</select></label>'
    for number, each in enumerate(drawn):
        yield from _player(each, number)
    yield "</section>"


def _drawn(nest: NestReport) -> tuple[list[Frames], ConfigError | None]:
    """Returns (frames, error): what each PE does under the best plan of each dataflow, and why one of these plans is not drawn; the
    error is None where all are drawn.

    Further plans of a dataflow look much the same and are left out; so are those for arrays of another number of dimensions than
    the nest's best plan has.
    """
    found: dict[str, Frames] = {}
    refused = None
    for plan in nest.plans:
        if plan.dataflow in found or len(plan.mapping.space) != len(nest.best.mapping.space):
            continue
        try:
            found[plan.dataflow] = frames(plan)
        except ConfigError as problem:
            refused = refused or problem
    return list(found.values()), refused


def _said(plan: Plan) -> str:
    """Returns a plan as text: its dataflow, mapping and cycles."""
    return ": ".join(filter(None, (name_text(plan), mapping_text(plan)))) + f", {plan.folds.cycles:,} cycles"


def _player(shown: Frames, number: int) -> Iterator[str]:
    """Yields HTML lines with the array, the slider and buttons that step through its cycles, and their data; number: that of the
    mapping.
    """
    scene, last = Scene(shown, shown.frames), shown.frames[-1].cycle
    hidden = " hidden" if number else ""
    yield f'<div class="player" data-plan="{number}"{hidden}>'
    if not shown.is_whole:
        yield f'<p class="faint">{shown.scope_text}</p>'
    yield '<div class="controls">'
    yield '<button type="button" class="play">▶ Play</button>'
    yield '<button type="button" class="back" aria-label="one cycle back">◀</button>'
    yield '<button type="button" class="forth" aria-label="one cycle on">▶</button>'
    yield f'<input type="range" min="0" max="{last}" value="0" step="1" aria-label="cycle">'
    yield "<output>cycle 0</output>"
    speeds = (f'<option value="{pause}"{" selected" * (word == "normal")}>{word}</option>' for word, pause in SPEEDS)
    yield f'<select class="speed" aria-label="speed">{"".join(speeds)}</select></div>'
    yield f'<div class="scroll">{scene.svg(shown.frames[0], focusable=True)}</div>'
    yield '<div class="details" role="status" aria-live="polite">'
    yield "Point at a unit, or move to it with Tab, for what it runs and has."
    yield "Arrow keys step through the cycles, the space bar plays.</div>"
    yield f'<div class="scroll">{utilisation_svg(shown.plan, of_frames(shown), marked=True)}</div>'
    text = json.dumps(_data(scene), separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    yield f'<script type="application/json">{text}</script>'
    yield "</div>"


def _data(scene: Scene) -> dict[str, object]:
    """Returns the data of all cycles that the page's script shows, for JSON.

    Each different (text, CSS class) that PEs or elements show is once in the list `words`; everywhere else its position in that
    list stands for it.
    """
    shown, words = scene.frames, _Words()
    nest, (first, step) = shown.plan.recurrence.nest, scale(len(shown.frames))
    found = []
    for frame in shown.frames:
        state = scene.state(frame)
        texts = [(round(t.x), round(t.y), words[t.text, ""], lane(t.lane)) for t in state.texts]
        cells = {n: (words[head, phase], *(words[line] for line in lines)) for n, (phase, head, lines) in state.cells.items()}
        found.append({"title": state.title, "caption": state.caption, "cells": cells, "wires": state.wires, "texts": texts})
    return {
        "mapping": mapping_text(shown.plan),
        "statement": nest.name,
        "units": [unit_text(unit) for unit in scene.units],
        "lanes": [(stream.use.text, moves_text(shown.plan, stream)) for stream in shown.lanes],
        "colours": LANES,
        "first": first,
        "step": step,
        "words": list(words),
        "frames": found,
    }


class _Words(dict):
    """A _Words is a dictionary that numbers pairs (text, CSS class) in the order in which they are first looked up."""

    def __missing__(self, word: tuple[str, str]) -> int:
        """Returns the next number, and keeps it for this text and class."""
        self[word] = len(self)
        return self[word]


def _pictures(report: SystolicReportValues, nest: NestReport) -> Iterator[str]:
    """Yields HTML lines with the pictures of a nest's best mapping that the slider does not show."""
    yield f'<section aria-label="pictures of {escape(nest.nest.name)}"><div class="beside">'
    for name, text in pictures_of(nest.best).items():
        if name not in ("array", "utilisation"):
            yield f'<div class="scroll">{text}</div>'
    yield "</div></section>"
