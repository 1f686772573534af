"""What a picture of a nest says in words: its title, its caption, and the lines of its legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from polyml.pictures.direct_dependences import KINDS
from polyml.pictures.nest_values import SCHEDULE, STEP, THREADS, TILES, WAVEFRONTS, Arrow, NestPicture
from polyml.pictures.panels import Panel

BROKEN = "broken"
_TITLES = {
    "domain": "Instances",
    "dependences": "Dependences",
    "schedule": "Order of the instances",
    "tiles": "Tiles",
    "threads": "Threads",
    "wavefronts": "Wavefronts",
    "step": "Order of the instances",
}
_MEANING = {"flow": "flow: written, then read", "anti": "anti: read, then written", "output": "output: written twice"}
_MOST_DISTANCES = 4


def title(shown: NestPicture) -> str:
    """Returns the title of a picture."""
    return f"{_TITLES[shown.subject]} of {shown.kernel}"


def caption(shown: NestPicture) -> str:
    """Returns the line below the title: what is drawn, and for which sizes."""
    count = sum(len(each.points) for each in shown.statements)
    strides = {each.stride for each in shown.statements}
    sizes = ", ".join(f"{name} = {value}" for name, value in shown.sizes.items())
    more = ""
    if shown.left_out and max(strides) > 1:
        more = f" of {count + shown.left_out:,}, those of every {_ordinal(max(strides))} iteration,"
    elif shown.left_out:
        more = f", the first of {count + shown.left_out:,} in the source's order,"
    told = f"{count:,} instance{'s' if count != 1 else ''}{more}{f' for {sizes}' if sizes else ''}".rstrip(",")
    return f"{shown.caption}: {told}" if shown.caption else told


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def legend(shown: NestPicture, panels: Sequence[Panel]) -> Iterator[tuple[str, str]]:
    """Yields what stands before each line of the legend, a kind of arrow or "", and the line."""
    if shown.subject == STEP:
        yield from _of_step(shown)
    else:
        yield from _of_arrows(shown.arrows)
    if shown.subject == SCHEDULE:
        yield "", "numbers: places in the order, from 0; the fainter, the earlier"
    if shown.subject in (TILES, STEP) and shown.tiles:
        full = sum(each.is_full for each in shown.tiles)
        yield "", f"{_count(len(shown.tiles), 'tile')}: {full} full (solid), {len(shown.tiles) - full} partial (dashed)"
    elif shown.subject == TILES:
        yield "", "the schedule has no loop over tiles"
    if shown.subject in (THREADS, WAVEFRONTS):
        yield from _of_groups(shown)
    for each in panels:
        if each.fixed:
            names = each.statement.iterators[: len(each.fixed)]
            told = ", ".join(f"{name} = {value}" for name, value in zip(names, each.fixed))
            yield "", f"{each.statement.name} is drawn for {told} alone"


def _of_arrows(arrows: Sequence[Arrow]) -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        own = [each for each in arrows if each.kind == kind]
        if own:
            yield kind, f"{_MEANING[kind]}: {'; '.join(_distances(own))}"
    if arrows:
        yield "", "direct ones: no other write to the element lies between; all others follow from them"


def _of_step(shown: NestPicture) -> Iterator[tuple[str, str]]:
    yield "", "the fainter, the earlier in the order"
    if shown.arrows:
        verb = "is" if len(shown.arrows) == 1 else "are"
        yield (
            BROKEN,
            f"{_count(len(shown.arrows), 'dependence')} {verb} broken by this order: {'; '.join(_distances(shown.arrows))}",
        )
    else:
        yield "", "this order keeps every dependence between these instances"


def _of_groups(shown: NestPicture) -> Iterator[tuple[str, str]]:
    count = len({*(shown.groups or {}).values()})
    if shown.subject == WAVEFRONTS:
        yield "", f"{_count(count, 'phase')}, numbered in the order in which they run; colours repeat"
        yield "", "a phase is one run of a parallel loop, or what runs between two of them"
    elif count:
        yield "", f"numbers: iterations of the parallel loop, {count} at most; colours repeat"
    else:
        yield "", "no loop of this schedule is parallel"
    if shown.subject == THREADS and count and len(shown.groups or ()) < sum(len(each.points) for each in shown.statements):
        yield "", "instances without a number run outside of parallel loops"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _distances(arrows: Sequence[Arrow]) -> Iterator[str]:
    """Yields, for each pair of statements, the distances between source and sink."""

    def pair(each: Arrow) -> tuple[str, str]:
        return each.source[0], each.sink[0]

    for (source, sink), some in groupby(sorted(arrows, key=pair), key=pair):
        found = sorted({tuple(b - a for a, b in zip(each.source[1], each.sink[1])) for each in some} if source == sink else ())
        told = ", ".join(f"({', '.join(map(str, d))})" for d in found[:_MOST_DISTANCES])
        more = f" and {len(found) - _MOST_DISTANCES} more" if len(found) > _MOST_DISTANCES else ""
        yield f"{source} to {sink}{f' at {told}{more}' if told else ''}"
