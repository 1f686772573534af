"""Whether the iterations of a loop of the source go to threads, and why not."""

from __future__ import annotations

from polyml.remarks.facts import Facts, OrderFacts
from polyml.remarks.scheduled import ScheduledLoop, carried
from polyml.remarks.source_loops import SourceLoop, among
from polyml.remarks.values import ANALYSIS, MISSED, PARALLEL, PASSED, Remark

_SUM = "the order of its updates is free, so threads could add up partial results: `parallel` in a schedule script takes `partial`"


def parallel(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and threads."""
    threaded = [each for each in facts.running(loop) if each.loop.directives.parallel]
    if threaded:
        return _passed(facts, loop, threaded)
    if _is_ended(facts, loop):
        return Remark(ANALYSIS, PARALLEL, "data end it: each iteration decides whether there is another one")
    broken = loop.carried(facts.dependences.validity)
    left = loop.carried(facts.relaxed)
    if not left.is_empty():
        found = facts.conflict(left)
        return Remark(MISSED, PARALLEL, f"its iterations depend on each other: {found}", found, advice=advice(found.kind))
    outer = _around(facts, loop)
    if outer is not None:
        text = f"it runs inside the schedule's loop `{outer.loop.name}`, whose iterations go to threads already"
        if not broken.is_empty():
            found = facts.conflict(broken)
            return Remark(ANALYSIS, PARALLEL, f"it updates a sum ({found}), and {text}", found)
        return Remark(ANALYSIS, PARALLEL, f"its iterations are independent, and {text}")
    if not broken.is_empty():
        found = facts.conflict(broken)
        return Remark(MISSED, PARALLEL, f"its iterations update a sum: {found}", found, advice=_SUM)
    return _not_chosen(facts, loop)


def _is_ended(facts: Facts, loop: SourceLoop) -> bool:
    """Returns whether a region in a loop may end it."""
    statements = ((facts.scop.statements[name], position) for name, position in loop.positions.items())
    return any(
        statement.region is not None and statement.iterators[p] in statement.region.leaves[1:] for statement, p in statements
    )


def _passed(facts: Facts, loop: SourceLoop, threaded: list[ScheduledLoop]) -> Remark:
    """Returns the remark on a loop that loops for threads run, maybe not for all of its statements."""
    told: dict[str, list[str]] = {}
    for name in loop.statements:
        mine = next((each for each in threaded if name in each.runs(loop)), None)
        if mine is not None:
            told.setdefault(_share(facts, loop, mine), []).append(name)
    text = next(iter(told)) if len(told) == 1 else "; ".join(f"{each} ({facts.told(names)})" for each, names in told.items())
    left = [name for name in loop.statements if not any(name in each.runs(loop) for each in threaded)]
    if not left:
        return Remark(PASSED, PARALLEL, text)
    broken = among(loop.carried(facts.relaxed), left)
    if broken.is_empty():
        return Remark(PASSED, PARALLEL, f"{text}; not those of {facts.told(left)}")
    found = facts.conflict(broken)
    text = f"{text}; not those of {facts.told(left)}, which depend on each other: {found}"
    return Remark(MISSED, PARALLEL, text, found, advice=advice(found.kind))


def _share(facts: Facts, loop: SourceLoop, first: ScheduledLoop) -> str:
    """Returns how a loop's iterations go to threads by a loop of the schedule."""
    sizes = first.tile_sizes
    share = f", {' or '.join(map(str, sizes))} at a time" if sizes else ""
    partial = first.loop.directives.partial
    results = f", each with partial results of {', '.join(partial)}" if partial else ""
    what = (
        "its iterations go"
        if first.only(loop)
        else f"the schedule's loop `{first.loop.name}`, which counts it together with others, goes"
    )
    return f"{what} to threads{share}{results}{_inside(facts, loop, first)}"


def _inside(facts: Facts, loop: SourceLoop, first: ScheduledLoop) -> str:
    """Returns inside of which loops of the schedule the iterations go to threads: those that count the loop too, or, where iterations of
    the loop depend on each other, all that keep them in order; "" for none.
    """
    outside = [each for each in facts.scheduled if each.path != first.path and each.path == first.path[: len(each.path)]]
    own = {each.path for each in facts.running(loop)}
    around = [each.loop.name for each in outside if each.path in own]
    if not around and not among(loop.carried(facts.relaxed), first.runs(loop)).is_empty():
        around = [each.loop.name for each in outside]
    return f", within an iteration of the schedule's {' and '.join(f'`{name}`' for name in around)}" if around else ""


def in_order(facts: OrderFacts, loop: SourceLoop, how: str) -> Remark | None:
    """Returns the remark on a loop of a device whose iterations run one after another for a dependence or a sum; None where neither
    stands against running them at once.

    how: in which way they do so.
    """
    left = loop.carried(facts.relaxed)
    if not left.is_empty():
        found = facts.conflict(left)
        return Remark(
            MISSED, PARALLEL, f"its iterations depend on each other, and {how}: {found}", found, advice=advice(found.kind)
        )
    broken = loop.carried(facts.dependences.validity)
    if not broken.is_empty():
        found = facts.conflict(broken)
        return Remark(ANALYSIS, PARALLEL, f"it updates a sum, and {how}: {found}", found)
    return None


def advice(kind: str) -> str:
    """Returns what the user could change where a dependence of this kind stands against threads."""
    if kind == "flow":
        return "a value that an iteration needs from another one sets the order: split the loop, or carry the value in another way"
    return "write to another array than the one that is read, or to an element of its own per iteration"


def _around(facts: Facts, loop: SourceLoop) -> ScheduledLoop | None:
    """Returns a parallel loop of the schedule around all statements of the loop; None where there is none."""
    for each in facts.scheduled:
        if each.loop.directives.parallel and all(name in each.iterators for name in loop.statements):
            return each
    return None


def _not_chosen(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop whose iterations are independent in the source's order, and yet do not go to threads."""
    if not any(loop.positions.get(run.statement) in run.moved for run in facts.runs_of(loop)):
        return Remark(ANALYSIS, PARALLEL, "it has one iteration, and the program has no loop for it")
    if not facts.options.parallel:
        text = "its iterations are independent, and the setting parallel=False keeps one thread"
        return Remark(MISSED, PARALLEL, text, advice="leave out parallel=False")
    if facts.aliased:
        text = "its iterations are independent, and this form is for arguments that share memory, so it keeps the source's order"
        return Remark(MISSED, PARALLEL, text, advice="pass arrays that do not overlap")
    for each in facts.running(loop):
        pairs = carried(facts.tree, loop, each, facts.scop, facts.dependences.validity)
        if not pairs.is_empty():
            found = facts.conflict(pairs)
            text = f"its iterations are independent in the source's order, but not those of the schedule's loop `{each.loop.name}`, which runs it with others: {found}"
            return Remark(MISSED, PARALLEL, text, found, advice='another schedule keeps it apart: see k.schedule("source")')
    inside = _nested_parallel(facts, loop)
    if inside is not None:
        return Remark(
            ANALYSIS,
            PARALLEL,
            f"its iterations are independent, and threads share the schedule's loop `{inside.loop.name}` instead",
        )
    if all(each.startswith("source order") for each in facts.notes[:1]) and facts.notes:
        return Remark(MISSED, PARALLEL, f"its iterations are independent; the program keeps the {facts.notes[0]}")
    text = "its iterations are independent, but no loop of the schedule that runs it was given to threads"
    return Remark(MISSED, PARALLEL, text, advice="k.schedule().parallel(...) gives a loop to threads")


def _nested_parallel(facts: Facts, loop: SourceLoop) -> ScheduledLoop | None:
    """Returns a parallel loop of the schedule around some of the loop's statements; None where there is none."""
    return next(
        (
            each
            for each in facts.scheduled
            if each.loop.directives.parallel and any(name in each.iterators for name in loop.statements)
        ),
        None,
    )
