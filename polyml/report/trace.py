"""What each pass of a compilation did, as text and as a page that needs no network: times, differences, and where the code is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from polyml.pipeline.trace import Ran

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #59636e; --line: #d5dade; --plus: #e3f6e6; --minus: #fde8e8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e7ebef; --faint: #9aa5b1; --line: #363e47; --plus: #173f25; --minus: #4a1d1d; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem } .faint, .why { color: var(--faint) } .why { margin: 0.3rem 0 }
details, .same { border-top: 1px solid var(--line); padding: 0.35rem 0 } summary { cursor: pointer }
.name { font-weight: 600; display: inline-block; min-width: 13rem } .time { display: inline-block; min-width: 6rem; text-align: right; margin-right: 1rem }
pre { overflow-x: auto; font: 12.5px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 0.4rem 0 } pre span { display: block; min-height: 1.4em }
.plus { background: var(--plus) } .minus { background: var(--minus) } .hunk { color: var(--faint) }
"""
_CLASSES = {"+": "plus", "-": "minus", "@": "hunk"}


def text(ran: Sequence[Ran]) -> str:
    """Returns what each pass did, one after another, as text: name, milliseconds, place of the code, and a unified diff.

    Consecutive passes that change nothing share one line.
    """
    lines: list[str] = []
    for same, group in groupby(ran, lambda each: not each.difference):
        passes = list(group)
        if same:
            spent = sum(each.own_seconds for each in passes)
            lines += [f"{_names(passes)}: no change, {_milliseconds(spent)}", ""]
            continue
        for each in passes:
            lines += [_heading(each), f"    {each.step.why}", *(f"    {line}" for line in each.difference), ""]
    return "\n".join([*lines, _sum(ran)])


def page(title: str, ran: Sequence[Ran]) -> str:
    """Returns what each pass did as an HTML page that needs no other files. Differences unfold; a pass without one is one line."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join([f"<h1>{escape(title)}</h1>", f'<p class="faint">{escape(_sum(ran))}</p>', *map(_part, ran)])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _heading(each: Ran) -> str:
    return f"{each.step.name}  {_milliseconds(each.own_seconds)}  {each.kinds}  {_place(each)}"


def _part(each: Ran) -> str:
    """Returns one run of a pass as an HTML element of the page."""
    step = each.step
    head = (
        f'<span class="name">{escape(step.name)}</span><span class="time">{_milliseconds(each.own_seconds)}</span>'
        f'<span class="faint">{escape(each.kinds)} &middot; {escape(_place(each))}</span>'
    )
    if not each.difference:
        return f'<div class="same">{head} <span class="faint">&middot; no change</span></div>'
    return "\n".join(
        [
            f"<details><summary>{head}</summary>",
            f'<p class="why">{escape(step.why)}</p>',
            f"<pre>{''.join(_lines(each))}</pre></details>",
        ]
    )


def _lines(each: Ran) -> Iterator[str]:
    """Yields the lines of a pass's difference as HTML, coloured where they were removed or added."""
    for line in each.difference:
        kind = "" if each.translates else _CLASSES.get(line[:1], "")
        yield f'<span class="{kind}">{escape(line)}</span>' if kind else f"<span>{escape(line)}</span>"


def _names(passes: Sequence[Ran]) -> str:
    """Returns the names of passes as text, each with how often it ran in a row."""
    counted = [(name, sum(1 for _ in group)) for name, group in groupby(each.step.name for each in passes)]
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in counted)


def _place(each: Ran) -> str:
    """Returns the file and the line of a pass as text, from the package's folder on."""
    file, line = each.step.place
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return f"{os.path.relpath(file, root)}:{line}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _sum(ran: Sequence[Ran]) -> str:
    """Returns a line on how many passes ran, how many made a difference, and how long all took."""
    changing = sum(1 for each in ran if each.difference)
    return f"{len(ran)} passes ran, {changing} of them made a difference, {_milliseconds(sum(each.own_seconds for each in ran))} together"
