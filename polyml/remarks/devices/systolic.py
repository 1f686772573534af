"""Remarks on a call that was simulated on a systolic array: which loops of the source are spread over its units, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml.remarks.collect import of_order, on_changes
from polyml.remarks.facts import OrderFacts
from polyml.remarks.parallel import in_order
from polyml.remarks.source_loops import SourceLoop, among
from polyml.remarks.values import ANALYSIS, MISSED, PARALLEL, PASSED, Remark, Remarks


@dataclass(frozen=True)
class ArrayPlace:
    """An array place says where and when the array runs the instances of a statement.

    statement: its name in the source's SCoP.
    outer: the positions of the iterators of loops outside of the space-time mapping: the array runs again for each iteration.
    time: the positions of the iterators that the cycle depends on.
    space: for each coordinate of the array, x first, the positions of the iterators that it depends on.
    folds: how many parts of the nest the array runs one after another, since it has too few units for all.
    """

    statement: str
    outer: tuple[int, ...]
    time: tuple[int, ...]
    space: tuple[tuple[int, ...], ...]
    folds: int


@dataclass(frozen=True, eq=False)
class ArrayFacts(OrderFacts):
    """What is known of a simulated call.

    places: of all statements that the array ran; of one that was cut into phases, those of each.
    """

    places: tuple[ArrayPlace, ...]


def remarks(facts: ArrayFacts, where: str, signature: str) -> Remarks:
    """Returns all remarks on a simulated call. where, signature: as for `polyml.remarks.collect.remarks`."""
    return of_order(facts, where, signature, {PARALLEL: parallel}, arrays=tuple(on_changes(facts)))


def parallel(facts: ArrayFacts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and the units of the array."""
    spread: dict[str, list[str]] = {}  # how units share iterations, of which statements
    in_turn: dict[str, list[str]] = {}  # how iterations follow one another, of which statements
    for place in facts.places:
        position = loop.positions.get(place.statement)
        if position is not None:
            told = _spread(place, position)
            names = (spread if told else in_turn).setdefault(told or _in_turn(place, position), [])
            if place.statement not in names:
                names.append(place.statement)
    how = _joined(facts, in_turn, len(spread) + len(in_turn) > 1)
    if spread:
        return _passed(facts, loop, [*_joined(facts, spread, len(spread) + len(in_turn) > 1), *how], in_turn)
    text = "; ".join(how) or "no nest of the array runs it"
    if (ordered := in_order(facts, loop, text)) is not None:
        return ordered
    return Remark(ANALYSIS, PARALLEL, f"its iterations are independent, and {text}: the mapping has other loops along the array")


def _passed(facts: ArrayFacts, loop: SourceLoop, told: Sequence[str], in_turn: dict[str, list[str]]) -> Remark:
    """Returns the remark on a loop whose iterations units share, at least for some statements."""
    left = [name for names in in_turn.values() for name in names]
    broken = among(loop.carried(facts.relaxed), left)
    if broken.is_empty():
        if not loop.carried(facts.dependences.validity).is_empty():
            told = [*told, "an iteration starts when the units have handed on what it needs of others"]
        return Remark(PASSED, PARALLEL, "; ".join(told))
    found = facts.conflict(broken)
    return Remark(MISSED, PARALLEL, f"{'; '.join(told)}, since they depend on each other: {found}", found)


def _spread(place: ArrayPlace, position: int) -> str:
    """Returns along which coordinates of the array the iterations of a loop are spread; "" where they are not."""
    along = [letter for letter, positions in zip("xy", place.space) if position in positions]
    if not along:
        return ""
    others = any(len(positions) > 1 for positions in place.space if position in positions)
    folds = f", in {place.folds:,} folds" if place.folds > 1 else ""
    return (
        f"units along {' and '.join(along)} share its iterations{', together with those of other loops' if others else ''}{folds}"
    )


def _in_turn(place: ArrayPlace, position: int) -> str:
    """Returns how the iterations of a loop follow one another that no units share."""
    if position in place.outer:
        return "the whole array runs them one after another"
    return "a unit runs them one after another" if position in place.time else "all of them run at once"


def _joined(facts: ArrayFacts, told: dict[str, list[str]], with_names: bool) -> list[str]:
    return [f"{each} ({facts.told(names)})" if with_names else each for each, names in told.items()]
