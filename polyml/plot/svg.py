"""Pictures as SVG texts: the document around their parts, texts and paths."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Svg(str):
    """A text that notebooks show as the picture."""

    def _repr_html_(self) -> str:
        return str(self)


def document(parts: Iterable[str], width: float, height: float, *, attributes: str = "", label: str = "", role: str = "img") -> Svg:
    """label: the accessible name."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    named = f' role="{role}" aria-label="{escape(label)}"' if label else ""
    return Svg("\n".join([f'{head} font-family="sans-serif" font-size="11"{attributes}{named}>', *parts, "</svg>"]))


def text(x: float, y: float, words: str, kind: str = "", *, size: int = 12, anchor: str = "", bold: bool = False) -> str:
    """kind: its classes. anchor: "middle" or "end" where x is not its beginning."""
    weight = ' font-weight="bold"' if bold else ""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{_class(kind)} x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight}{placed}>{escape(words)}</text>'


def path(way: str, kind: str, *, hint: str = "", dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    head = f'<path{_class(kind)} d="{way}"{dashed}'
    return f"{head}><title>{escape(hint)}</title></path>" if hint else f"{head}/>"


def rect(x: float, y: float, width: float, height: float, *, round: float = 0) -> str:
    corners = f' rx="{round:g}"' if round else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{corners}/>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
