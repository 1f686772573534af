"""Pictures as SVG texts: the document around their parts, texts, paths and rectangles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape, unescape


class Svg(str):
    """The text of an SVG picture, which notebooks show as a picture; an interpreter of Python shows its title.

    >>> document([], 20, 10, label="Instances of double. 4 instances.")
    <picture "Instances of double": str() is its SVG text, 305 characters>
    """

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f'<picture "{title_of(self)}": str() is its SVG text, {len(self):,} characters>'


def title_of(text: str) -> str:
    """Returns the title of the first SVG document in a text; "" where none has one."""
    return unescape(text.partition("<title>")[2].partition("</title>")[0])


def document(parts: Iterable[str], width: float, height: float, *, attributes: str = "", label: str = "", role: str = "img") -> Svg:
    """Returns an SVG document of these parts.

    parts: SVG texts.
    width, height: in pixels.
    attributes: more attributes of the root element, each with a space in front.
    label: the accessible name, whose first sentence is the title; "": none.
    role: the ARIA role of a document that has a label.
    """
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    named = f' role="{role}" aria-label="{escape(label)}"' if label else ""
    said = [f"<title>{escape(label.partition('. ')[0])}</title>", f"<desc>{escape(label)}</desc>"] if label else []
    shown = ' font-family="sans-serif" font-size="11" style="max-width:100%;height:auto"'
    return Svg("\n".join([f"{head}{shown}{attributes}{named}>", *said, *parts, "</svg>"]))


@dataclass(frozen=True)
class Font:
    """The size and weight in which a text is set.

    size: the height of its characters, in pixels.
    """

    size: int = 12
    bold: bool = False


def text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "", font: Font = Font()) -> str:
    """Returns an SVG text element.

    x, y: the beginning of its base line, in pixels.
    kind: its classes.
    anchor: "middle" or "end" where x is not its beginning.
    """
    weight = ' font-weight="bold"' if font.bold else ""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{_class(kind)} x="{x:.1f}" y="{y:.1f}" font-size="{font.size}"{weight}{placed}>{escape(words)}</text>'


def path(way: str, kind: str, *, hint: str = "", dashes: str = "") -> str:
    """Returns an SVG path element.

    way: the commands of its outline, as the attribute `d` has them.
    kind: its classes.
    hint: what shows when the pointer is on it.
    dashes: lengths of dashes and gaps; "": a solid line.
    """
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    head = f'<path{_class(kind)} d="{way}"{dashed}'
    return f"{head}><title>{escape(hint)}</title></path>" if hint else f"{head}/>"


def rect(x: float, y: float, width: float, height: float, *, round: float = 0) -> str:
    """Returns an SVG rectangle element. round: the radius of its corners, in pixels."""
    corners = f' rx="{round:g}"' if round else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{corners}/>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
