"""A page that explores and steers a kernel, as one HTML text without other files."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

from polyml.drawing.style import DARK, LIGHT, Palette, variables
from polyml.explorer.schedule_view import Data

MOST_BYTES = 3_000_000  # of a page
_PART = 400_000  # characters of JSON that a page reads at a time, so that it can be used meanwhile
IN_NOTEBOOK = "notebook"
FRAME = 900  # pixels of its height in notebooks
_OWN = {  # colours that pictures do not have: (light, dark)
    "good": ("#2d6b2d", "#8fd88f"),
    "bad": ("#b3001b", "#ff6b6b"),
    "mark": ("#e3eefb", "#1f3650"),
}


def page(data: Data, live: str = "") -> str:
    """Returns the page as an HTML text of less than MOST_BYTES; where it would be longer, steps lose their LLVM text, then their code.

    data: what `Exploration.data` returns.
    live: the address of the server that answers the page; IN_NOTEBOOK: the notebook in which it is framed answers; "": nothing does.
    """
    fields = {
        "TITLE": escape(f"polyml: explore {data['kernel']}"),
        "LIVE": escape(live),
        "LIGHT": f"{variables(LIGHT)} {_own(LIGHT, 0)}",
        "DARK": f"{variables(DARK)} {_own(DARK, 1)}",
        "STYLE": _file("explorer.css"),
        "SCRIPT": "\n".join(map(_file, ("picture.js", "explorer.js"))),
    }
    for shorter in (data, _without(data, "llvm"), _without(data, "ast", "llvm")):
        at_once, later = _parted(shorter)
        text = _filled({**fields, "DATA": _json(at_once).replace("<", "\\u003c"), "LATER": "\n".join(map(_packed, later))})
        if len(text.encode()) < MOST_BYTES:
            break
    return text


def _filled(fields: Mapping[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda found: fields[found[1]], _file("page.html"))


def packed_data(text: str) -> Data:
    """Returns the data in a page's text, as the page reads them."""
    found = re.search(r'<script type="application/json" id="data">([^<]*)</script>', text)
    assert found is not None, "a page has data"
    data, views = json.loads(found[1]), dict[str, Data]()
    for packed in re.findall(r'<script type="text/plain" class="later">([^<]*)</script>', text):
        views |= json.loads(gzip.decompress(base64.b64decode(packed)))
    steps = [each | ({"view": views[each["step"]]} if each["step"] in views else {}) for each in data["steps"]]
    return {**data, "steps": steps}


def _parted(data: Data) -> tuple[Data, list[Data]]:
    """Returns the data without what there is to show after each step, which a page reads once it can be used, and the latter in parts, {step: view}."""
    steps = data["steps"]
    assert isinstance(steps, list)
    later: list[Data] = []
    size = _PART
    for each in steps:
        if "view" in each:
            if size >= _PART:
                later.append({})
                size = 0
            later[-1][each["step"]] = each["view"]
            size += len(_json(each["view"]))
    return {**data, "steps": [{name: value for name, value in each.items() if name != "view"} for each in steps]}, later


def frame(text: str) -> str:
    """Returns a page within a frame, as notebooks show it."""
    return f'<iframe srcdoc="{escape(text)}" width="100%" height="{FRAME}" style="border: 0"></iframe>'


def _packed(data: Data) -> str:
    """Returns an element of the page that has data, as gzip's bytes in base 64. The text is the same for the same data."""
    packed = base64.b64encode(gzip.compress(_json(data).encode(), compresslevel=9, mtime=0)).decode()
    return f'<script type="text/plain" class="later">{packed}</script>'


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _without(data: Data, *names: str) -> Data:
    """Returns the data in which the code after each step lacks some of its texts, and says so."""
    steps = data["steps"]
    assert isinstance(steps, list)
    return {**data, "steps": [_shortened(step, names) for step in steps]}


def _shortened(step: Data, names: tuple[str, ...]) -> Data:
    view = step.get("view")
    if not isinstance(view, dict) or "code" not in view:
        return step
    kept = {name: value for name, value in view["code"].items() if name not in names}
    kept["left_out"] = "left out, since this file would be longer than 3 MB with it; `polyml explore` without --html shows it"
    return {**step, "view": {**view, "code": kept}}


def _own(palette: Palette, scheme: int) -> str:
    """Returns the page's own colours as CSS variables. scheme: 0: light, 1: dark."""
    kinds = dict(zip(("flow", "anti", "output"), palette.lanes))
    own = {name: both[scheme] for name, both in _OWN.items()}
    colours = {**own, **kinds, "point": palette.colours["active border"]}
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


@cache
def _file(name: str) -> str:
    """Returns the text of a file beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
