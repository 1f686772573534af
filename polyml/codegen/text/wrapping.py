"""Long lines of C, broken before an operator or behind a comma.

A[i] = first + second*(third + fourth);   ->   A[i] = first
                                                   + second*(third + fourth);
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WIDTH = 120  # characters of a line, its indentation aside
_STEP = "    "
_BREAKS = re.compile(r" (?=(?:[-+*/?:]|&&|\|\|) )|(?<=,) |(?<= [-+*/]=) |(?<= =) ")


def wrapped(line: str) -> Iterator[str]:
    """Yields the line, or, where it is longer than WIDTH, several lines of the same meaning, all but the first one further indented. A
    line is broken at the outermost operator or comma in its second half, and where there is none, at any; comments stay whole.
    """
    indent = line[: len(line) - len(line.lstrip())]
    begin = indent
    while (cut := _cut(line, len(begin))) is not None:
        yield line[:cut]
        begin = indent + _STEP
        line = begin + line[cut + 1 :]
    yield line


def _cut(line: str, indent: int) -> int | None:
    """Returns the position of the blank where a line is broken: of those that are possible the one that is in the fewest parentheses,
    and of these the last one. None where there is none, or where the line is short enough. indent: how many blanks it begins with.
    """
    code = line.partition("//")[0].rstrip()
    if len(code) - indent <= WIDTH:
        return None
    depths, depth = [], 0
    for character in code:
        depth += (character in "([") - (character in ")]")
        depths.append(depth)
    places = [found.start() for found in _BREAKS.finditer(code, indent + 1)]
    near = [place for place in places if indent + WIDTH // 2 <= place <= indent + WIDTH] or places
    return min(near, key=lambda place: (depths[place], -place), default=None)
