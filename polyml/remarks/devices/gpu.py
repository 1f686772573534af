"""Remarks on a kernel for a GPU: which threads run a loop of the source, which loops one launch runs, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.remarks.collect import of_order, on_changes
from polyml.remarks.facts import OrderFacts
from polyml.remarks.order import called, neighbour, partners, refused
from polyml.remarks.parallel import in_order
from polyml.remarks.scheduled import ScheduledLoop
from polyml.remarks.source_loops import SourceLoop, among
from polyml.remarks.values import ANALYSIS, FUSED, MISSED, PARALLEL, PASSED, Remark, Remarks
from polyml.schedule.tree.directives import GridPlace, axis_name


def remarks(facts: OrderFacts, where: str, signature: str, notes: tuple[str, ...]) -> Remarks:
    """Returns all remarks on a kernel for a GPU.

    facts: with the schedule's mapping to blocks and threads in marks.
    where, signature: as for `polyml.remarks.collect.remarks`.
    notes: on the launches.
    """
    return of_order(
        facts, where, signature, {PARALLEL: parallel, FUSED: fused}, arrays=(*on_changes(facts), *_on_arrays(facts)), notes=notes
    )


def parallel(facts: OrderFacts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and the threads of a GPU."""
    shared: dict[str, list[str]] = {}  # how threads share iterations, of which statements
    for name in loop.statements:
        if told := _shared(facts, loop, name):
            shared.setdefault(told, []).append(name)
    left = [name for name in loop.statements if not any(name in names for names in shared.values())]
    if not left and len(shared) == 1:
        return Remark(PASSED, PARALLEL, next(iter(shared)))
    text = "; ".join(f"{each} ({facts.told(names)})" for each, names in shared.items())
    if not left:
        return Remark(PASSED, PARALLEL, text)
    others = [f"{facts.told(names)}: {each}" for each, names in _in_order(facts, loop, left).items()]
    if not shared:
        return _not_shared(facts, loop)
    broken = among(loop.carried(facts.relaxed), left)
    if broken.is_empty():
        return Remark(PASSED, PARALLEL, "; ".join([text, *others]))
    found = facts.conflict(broken)
    return Remark(MISSED, PARALLEL, f"{'; '.join([text, *others])}, since they depend on each other: {found}", found)


def _not_shared(facts: OrderFacts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop none of whose iterations are shared by threads."""
    how = " and ".join(_in_order(facts, loop, loop.statements))
    if (ordered := in_order(facts, loop, how)) is not None:
        return ordered
    grids = [each.loop.name for each in facts.scheduled if each.loop.directives.grid and {*each.iterators} & {*loop.statements}]
    if grids:
        named = ", ".join(f"`{name}`" for name in dict.fromkeys(grids))
        return Remark(ANALYSIS, PARALLEL, f"its iterations are independent, and {how}: the launch's threads are those of {named}")
    text = f"its iterations are independent, and {how}"
    return Remark(MISSED, PARALLEL, text, advice='k.schedule("source").grid(...) gives loops to blocks and threads')


def _shared(facts: OrderFacts, loop: SourceLoop, name: str) -> str:
    """Returns how threads share the iterations of a loop that run a statement; "" where they do not."""
    for each in _running(facts, loop, name):
        place, partial = each.loop.directives.grid, each.loop.directives.partial
        if place is not None:
            what = "its iterations go" if each.only(loop) else f"`{each.loop.name}`, which counts it with other loops, goes"
            return f"{what} to threads along {axis_name(place.axis)}{_divided(place)}{_within(facts, loop, each)}"
        if partial:
            results = f"each with partial results of {_source_names(facts, partial)}"
            return f"the threads of a block share its iterations, {results}{_within(facts, loop, each)}"
    return ""


def _within(facts: OrderFacts, loop: SourceLoop, inner: ScheduledLoop) -> str:
    """Returns within which loops of the host threads share iterations, where the source's loop carries dependences that these keep; ""
    where it carries none."""
    around = [each.loop.name for each in facts.scheduled if each.loop.directives.host and each.path == inner.path[: len(each.path)]]
    if not around or loop.carried(facts.relaxed).is_empty():
        return ""
    return f", within an iteration of the host's {' and '.join(f'`{name}`' for name in around)}"


def _divided(place: GridPlace) -> str:
    """Returns how many threads of a block, and iterations of a thread, there are along an axis."""
    threads = f", {place.threads} of a block" if place.threads else ""
    return f"{threads}{f', {place.items} iterations each' if place.items > 1 else ''}"


def _in_order(facts: OrderFacts, loop: SourceLoop, names: Sequence[str]) -> dict[str, list[str]]:
    """Returns how iterations of a loop run one after another, with the statements that do so."""
    found: dict[str, list[str]] = {}
    for name in names:
        hosted = any(each.loop.directives.host for each in _running(facts, loop, name))
        text = "the host makes launches for one after another" if hosted else "a thread runs them one after another"
        found.setdefault(text, []).append(name)
    return found


def _running(facts: OrderFacts, loop: SourceLoop, name: str) -> list[ScheduledLoop]:
    """Returns the loops of the schedule that run a statement's iterations of a loop, outer loops first."""
    return [each for each in facts.running(loop) if name in each.runs(loop)]


def fused(facts: OrderFacts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and other loops that the same loop of the schedule runs, so one launch where threads do."""
    joined = list(partners(facts, loop, facts.running(loop)))
    if joined:
        return Remark(PASSED, FUSED, f"one loop with {', '.join(map(called, joined))}")
    behind = neighbour(facts, loop)
    if behind is None:
        return Remark(ANALYSIS, FUSED, "no loop stands right behind it")
    found = refused(facts, loop, behind)
    if found is not None:
        return Remark(MISSED, FUSED, f"not with {called(behind)}: one loop would break a dependence: {found}", found)
    text = f"not with {called(behind)}: legal, and the mapping that was chosen has a loop for each"
    return Remark(MISSED, FUSED, text, advice='k.schedule("source").fuse(...) makes one of them, to which `grid` gives threads')


def _on_arrays(facts: OrderFacts) -> Iterator[Remark]:
    for each in facts.scheduled:
        if each.loop.directives.shared:
            names = _source_names(facts, each.loop.directives.shared)
            yield Remark(PASSED, "packed", f"blocks copy what iterations of `{each.loop.name}` read of {names} to shared memory")
        if each.loop.directives.partial:
            names = _source_names(facts, each.loop.directives.partial)
            yield Remark(
                PASSED, "partial results", f"the threads of a block add up partial results of {names} behind `{each.loop.name}`"
            )


def _source_names(facts: OrderFacts, arrays: Sequence[str]) -> str:
    return ", ".join(facts.scop.arrays[name].source_name or name for name in arrays)
