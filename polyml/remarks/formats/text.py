"""Remarks as text: loop by loop, and beside the lines of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.remarks.values import ANALYSIS, MISSED, PASSED, Conflict, LoopRemarks, Remark, Remarks
from polyml.source import short_name

_SIGNS = {PASSED: "+", MISSED: "-", ANALYSIS: " "}
_SHORT = 100  # characters of a remark beside a line of the source


def text(found: Remarks) -> str:
    """Returns the remarks as text: each loop with its line of the source, and an answer to each question below it.

    f.py:4 for i in range(n):  # S0
      + parallel      its iterations go to threads, 32 at a time
      - vectorized    its iterations depend on each other: ...
    """
    return "\n".join(lines(found))


def lines(found: Remarks) -> Iterator[str]:
    """Yields the lines of `text`."""
    for loop in found.loops:
        yield f"{heading(loop)}"
        for remark in loop.remarks:
            yield from remark_lines(remark)
    for statement in found.statements:
        if statement.remarks:
            place = f"{short_name(statement.place.file)}:{statement.place.line} " if statement.place else ""
            yield f"{place}{statement.written or statement.text}  # {statement.name}"
            for remark in statement.remarks:
                yield from remark_lines(remark)
    if found.arrays:
        yield "arrays"
        for remark in found.arrays:
            yield from remark_lines(remark)


def heading(loop: LoopRemarks) -> str:
    """Returns a loop's place, its line of the source, and its name where that is not its variable."""
    place = f"{short_name(loop.place.file)}:{loop.place.line} " if loop.place else ""
    written = loop.written or f"a loop over {loop.iterator} that the compiler made"
    return f"{place}{written}  # {loop.name}"


def remark_lines(remark: Remark) -> Iterator[str]:
    """Yields a remark, and what the user could change, as indented lines."""
    yield f"  {_SIGNS[remark.kind]} {remark.question:<13} {remark.text}"
    if remark.conflict is not None and remark.conflict.sizes:
        sizes = ", ".join(f"{name} = {value}" for name, value in remark.conflict.sizes.items())
        ends = f"{remark.conflict.source.instance} and {remark.conflict.sink.instance}"
        yield f"      for example {ends} with {sizes}"
    if remark.advice:
        yield f"      change: {remark.advice}"


def annotated(found: Remarks, source: Sequence[str], first: int, file: str) -> str:
    """Returns the source with one remark for each loop, behind its line.

    source: the lines of the function. first: the number of the first one in the file.
    """
    width = max((len(line) for line in source), default=0)
    by_line: dict[int, list[str]] = {}
    for loop in found.loops:
        if loop.place is not None and loop.place.file == file:
            by_line.setdefault(loop.place.line, []).append(summary(loop))
    for each in found.python:
        if each.place is not None and each.place.file == file:
            by_line.setdefault(each.place.line, []).append(f"plain Python ({each.code}): {_short(each.text)}")
    made = []
    for number, line in enumerate(source, first):
        remarks = by_line.get(number, [])
        beside = f"  # {' | '.join(dict.fromkeys(remarks))}" if remarks else ""
        made.append(f"{number:>5}  {line.ljust(width) if remarks else line}{beside}".rstrip())
    return "\n".join(made)


def summary(loop: LoopRemarks) -> str:
    """Returns the remarks on a loop as one: what was done, and what stands against the first thing that was not.

    parallel, vectorized; not tiled: flow dependence through A[1] (i +1)
    """
    done = ", ".join(each.question for each in loop.remarks if each.kind == PASSED)
    missed = next((each for each in loop.remarks if each.kind == MISSED), None)
    if missed is None:
        return done or _short(loop.remarks[0].text)
    against = f"not {missed.question}: {_short(missed.text) if missed.conflict is None else _against(missed.conflict)}"
    return f"{done}; {against}" if done else against


def _against(found: Conflict) -> str:
    apart = ", ".join(f"{name} {value:+d}" for name, value in found.distance.items() if value)
    return f"{found.kind} dependence through {found.element}{f' ({apart})' if apart else ''}"


def _short(words: str) -> str:
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 3]}..."
