"""What a picture of a nest says in words: its title, its caption, and the lines of its legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import sub

from polyml.drawing.style import LANES
from polyml.model.references.direct import KINDS
from polyml.pictures.nest_values import DEPENDENCES, SCHEDULE, STEP, THREADS, TILES, WAVEFRONTS, Arrow, NestPicture
from polyml.pictures.panels import DRAWN, Panel, is_numbered

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
SHAPES = "●■▲◆✚▼"  # of points whose groups are told by shapes, one for each colour
_MOST_DISTANCES = 4
_JOINT = ",\u00a0"  # between the numbers of a vector, which stays on one line


def title(shown: NestPicture) -> str:
    """Returns the title of a picture; of one of several orders, with the step that led to it."""
    name = f"{_TITLES[shown.subject]} of {shown.kernel}"
    return f"{shown.caption}: {name[0].lower()}{name[1:]}" if shown.caption else name


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
    return f"{count:,} instance{'s' if count != 1 else ''}{more}{f' for {sizes}' if sizes else ''}".rstrip(",")


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def legend(shown: NestPicture, panels: Sequence[Panel]) -> Iterator[tuple[str, str]]:
    """Yields what stands before each line of the legend, a kind of arrow or "", and the line."""
    if shown.subject == STEP:
        yield from _of_step(shown)
    else:
        yield from _of_arrows(shown)
    if shown.subject == SCHEDULE:
        numbers = "numbers: places in the order, from 0; " if any(is_numbered(each, shown) for each in panels) else ""
        yield "", f"{numbers}the fainter, the earlier"
    if shown.subject in (TILES, STEP) and shown.tiles:
        full = sum(each.is_full for each in shown.tiles)
        yield "", f"{_count(len(shown.tiles), 'tile')}: {full} full (solid), {len(shown.tiles) - full} partial (dashed)"
        if any(each.is_layer or len(each.iterators) == DRAWN for each in panels):
            yield "", "a tile of three loops has an outline in each layer, an iteration of the outermost loop, that it is in"
    if shown.subject == TILES and shown.tiles:
        yield "", "the fainter a point, the earlier it runs"
    elif shown.subject == TILES:
        yield "", "the schedule has no loop over tiles"
    if shown.subject in (THREADS, WAVEFRONTS):
        yield from _of_groups(shown, all(is_numbered(each, shown) for each in panels))
    for statement in dict.fromkeys(each.statement for each in panels if each.is_layer):
        yield "", f"{statement.name}: {statement.text}"
    for each in panels:
        if each.fixed and each.statement.points and not each.is_layer:
            names = each.statement.iterators[: len(each.fixed)]
            told = ", ".join(f"{name} = {value}" for name, value in zip(names, each.fixed))
            yield "", f"{each.statement.name} is drawn for {told} alone"
    if shown.meanings:
        yield "", f"sizes: {', '.join(shown.meanings)}"


def _of_arrows(shown: NestPicture) -> Iterator[tuple[str, str]]:
    found: dict[str, list[Arrow]] = {kind: [] for kind in KINDS}
    for arrow in shown.arrows:
        found[arrow.kind].append(arrow)
    for kind, own in found.items():
        if own:
            yield kind, f"{_MEANING[kind]}: {'; '.join(_distances(own, shown.shared))}"
    missing = [kind for kind, own in found.items() if not own]
    if shown.subject == DEPENDENCES and missing:
        yield "", f"there is no {' or '.join(filter(None, (', '.join(missing[:-1]), missing[-1])))} dependence"
    if shown.arrows:
        yield "", "direct ones: no other write to the element lies between; all others follow from them"


def _of_step(shown: NestPicture) -> Iterator[tuple[str, str]]:
    yield "", "the fainter, the earlier in the order"
    if shown.arrows:
        verb = "is" if len(shown.arrows) == 1 else "are"
        yield (
            BROKEN,
            f"{_count(len(shown.arrows), 'dependence')} {verb} broken by this order: {'; '.join(_distances(shown.arrows, shown.shared))}",
        )
    else:
        yield "", "this order keeps every dependence between these instances"


def _of_groups(shown: NestPicture, have_numbers: bool) -> Iterator[tuple[str, str]]:
    """Yields what groups are. have_numbers: whether all points have the numbers of their groups beside their colours."""
    count = len({*(shown.groups or {}).values()})
    repeat = "; colours repeat" if count > LANES and have_numbers else ""
    if shown.subject == WAVEFRONTS:
        yield "", f"{_count(count, 'phase')}, numbered in the order in which they run{repeat}"
        yield (
            "",
            "a phase is one run of a parallel loop, whose iterations may run at the same time, or what runs between two of them",
        )
    elif count:
        loops = f"{'loop' if len(shown.parallel) == 1 else 'loops'} {', '.join(shown.parallel)}"
        yield "", f"numbers: iterations of the parallel {loops}, from 0 to {count - 1}, which threads share{repeat}"
    else:
        yield "", "no loop of this schedule is parallel"
    if count and not have_numbers:
        named = ", ".join(f"{shape} {number}" for number, shape in zip(range(count), SHAPES))
        yield "", f"points without a number: {named}{f', and so on again from {SHAPES[0]}' if count > LANES else ''}"
    if shown.subject == THREADS and count and len(shown.groups or ()) < sum(len(each.points) for each in shown.statements):
        yield "", "pale instances without a number run outside of parallel loops"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _distances(arrows: Sequence[Arrow], shared: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yields, for each pair of statements, the distances between source and sink in the loops that they share."""
    by_pair: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for _, (source, begin), (sink, end), _ in arrows:
        both = source, sink
        by_pair.setdefault(both, set()).add(tuple(map(sub, end[: shared.get(both, 0)], begin)))
    for both, own in sorted(by_pair.items()):
        found = sorted(own) if shared.get(both, 0) else []
        told = ", ".join(f"({_JOINT.join(map(str, d))})" for d in found[:_MOST_DISTANCES])
        more = f" and {len(found) - _MOST_DISTANCES} more" if len(found) > _MOST_DISTANCES else ""
        yield f"{' to '.join(both)}{f' at {told}{more}' if told else ''}"
