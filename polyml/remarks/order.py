"""Whether loops of the source were fused with others and whether they run in another order, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.errors import ScheduleError
from polyml.polyhedra import BudgetExceeded, budget
from polyml.remarks.facts import Facts, OrderFacts
from polyml.remarks.scheduled import ScheduledLoop
from polyml.remarks.source_loops import SourceLoop
from polyml.remarks.values import ANALYSIS, FUSED, INTERCHANGED, MISSED, PASSED, Conflict, Remark
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.legality.check import violated
from polyml.schedule.script import transforms
from polyml.schedule.tree import loop_tree

OPERATIONS = 200_000  # of isl, to see what the fusion of two loops would save


def fused(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and fusion with other loops of the source."""
    joined = list(partners(facts, loop, [each for each in facts.running(loop) if not each.is_tile]))
    if joined:
        apart = [other for other in joined if not _is_one_in_code(facts, loop, other)]
        text = f"one loop with {', '.join(map(called, joined))}"
        if apart:
            text += (
                f"; the code generator runs {', '.join(map(called, apart))} in a loop of its own again, inside what is around both"
            )
        return Remark(PASSED, FUSED, text)
    joined = list(partners(facts, loop, facts.running(loop)))
    if joined:
        return Remark(
            PASSED, FUSED, f"one loop over tiles with {', '.join(map(called, joined))}, and loops of their own inside a tile"
        )
    behind = neighbour(facts, loop)
    if behind is None:
        return Remark(ANALYSIS, FUSED, "no loop stands right behind it")
    return _not_fused(facts, loop, behind)


def _is_one_in_code(facts: Facts, loop: SourceLoop, other: SourceLoop) -> bool:
    """Returns whether some loop of the program counts iterators of both loops of the source."""
    mine, theirs = (
        {counter for run in facts.runs_of(each) for counter, position in run.counters if position == each.positions[run.statement]}
        for each in (loop, other)
    )
    return bool(mine & theirs)


def called(loop: SourceLoop) -> str:
    """Returns the name of a loop with its line of the source, "`i` (line 4)"."""
    return f"`{loop.name}`" + (f" (line {loop.loc.line})" if loop.loc else "")


def partners(facts: OrderFacts, loop: SourceLoop, mine: Sequence[ScheduledLoop]) -> Iterator[SourceLoop]:
    """Yields the other loops of the source that loops of the schedule run too. mine: those that run this one."""
    for other in facts.loops:
        if other.path == loop.path or {*other.statements} & {*loop.statements}:
            continue
        if any(each.runs(other) for each in mine):
            yield other


def neighbour(facts: OrderFacts, loop: SourceLoop) -> SourceLoop | None:
    """Returns the loop right behind this one in the same block of the source; None where there is none."""
    behind = [
        other
        for other in facts.loops
        if other.path and loop.path and other.path[:-1] == loop.path[:-1] and other.path[-1] == loop.path[-1] + 1
    ]
    return behind[0] if behind else None


def _not_fused(facts: Facts, loop: SourceLoop, other: SourceLoop) -> Remark:
    found = refused(facts, loop, other)
    if found is not None:
        text = f"not with {called(other)}: one loop would break a dependence: {found}"
        return Remark(MISSED, FUSED, text, found, advice='shift one of them: k.schedule("source").shift(...).fuse(...)')
    if facts.options.fusion == "no":
        text = f'not with {called(other)}: the setting fusion="no" keeps loops apart'
        return Remark(MISSED, FUSED, text, advice='fusion="model" or "max"')
    try:
        with budget(OPERATIONS):
            return _priced(facts, loop, other)
    except BudgetExceeded as problem:
        return Remark(MISSED, FUSED, f"not with {called(other)}: legal, at a gain that is not known ({problem})")


def _priced(facts: Facts, loop: SourceLoop, other: SourceLoop) -> Remark:
    """Returns the remark on two loops that might be one: how many bytes that would save, by the model that decides on fusion."""
    traffic = Traffic(facts.scop, facts.sizes)
    apart = traffic.of(loop.statements) + traffic.of(other.statements)
    saved = apart - traffic.of((*loop.statements, *other.statements))
    cost = {"bytes of two loops": apart, "bytes that one loop saves": saved}
    if saved <= 0:
        text = f"not with {called(other)}: one loop would save no traffic of {apart:,} bytes{traffic.note}"
        return Remark(ANALYSIS, FUSED, text, cost=cost)
    text = f"not with {called(other)}: legal, and one loop may save up to {saved:,} of {apart:,} bytes{traffic.note}"
    return Remark(MISSED, FUSED, text, cost=cost, advice='k.schedule("source").fuse(...), or fusion="max"')


def refused(facts: OrderFacts, loop: SourceLoop, other: SourceLoop) -> Conflict | None:
    """Returns a dependence that breaks where two neighbours in the source's order become one loop; None where none does."""
    tree = loop_tree.read(facts.scop.schedule, facts.scop.statements)
    try:
        one = transforms.fuse(tree, (loop.name, other.name))
    except ScheduleError:
        return None
    order = loop_tree.write(facts.scop.domain, one).get_map().intersect_domain(facts.scop.domain)
    broken = violated(order, facts.relaxed)
    return None if broken.is_empty() else facts.conflict(broken)


def interchanged(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and its place in its nest."""
    moved: dict[str, None] = {}
    for run in facts.runs_of(loop):
        own = loop.positions[run.statement]
        if list(run.order) != sorted(run.order) and own in run.order:
            names = facts.scop.statements[run.statement].iterators
            if _changed(run.order, own):
                others = "" if len(run.order) == len(names) else ", among the loops that count one of its iterators"
                order = ", ".join(names[p] for p in run.order)
                moved[f"{facts.told([run.statement])} runs in the order {order}{others}"] = None
    if moved:
        return Remark(PASSED, INTERCHANGED, "; ".join(moved))
    outer = next((each for each in facts.loops if loop.path[:-1] == each.path and loop.path), None)
    if outer is None:
        return Remark(ANALYSIS, INTERCHANGED, "it stays where it is, and no loop is right around it")
    try:
        broken = interchange_breaks(facts, outer, loop)
    except ScheduleError:
        return Remark(ANALYSIS, INTERCHANGED, f"it stays inside {called(outer)}, which has other statements or bounds it needs")
    if broken is not None:
        text = f"it cannot be exchanged with {called(outer)} around it: {broken}"
        return Remark(
            MISSED, INTERCHANGED, text, broken, advice='skewing may let them be exchanged: k.schedule("source").skew(...)'
        )
    return Remark(ANALYSIS, INTERCHANGED, f"it may be exchanged with {called(outer)}, and the schedule keeps the source's order")


def _changed(order: tuple[int, ...], own: int) -> bool:
    """Returns whether a position has another one on the other side of it than in ascending order."""
    place = order.index(own)
    return any(p > own for p in order[:place]) or any(p < own for p in order[place + 1 :])


def interchange_breaks(facts: Facts, outer: SourceLoop, inner: SourceLoop) -> Conflict | None:
    """Returns a dependence that breaks where two loops of the source are exchanged; None where none does."""
    tree = loop_tree.read(facts.scop.schedule, facts.scop.statements)
    made = transforms.interchange(tree, outer.name, inner.name)
    order = loop_tree.write(facts.scop.domain, made).get_map().intersect_domain(facts.scop.domain)
    broken = violated(order, facts.relaxed)
    return None if broken.is_empty() else facts.conflict(broken)
