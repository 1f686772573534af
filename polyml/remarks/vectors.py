"""Whether the iterations of a loop of the source are lanes of vectors, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.remarks.facts import Facts
from polyml.remarks.lanes import DEPENDS, LanePrice
from polyml.remarks.performed import Run
from polyml.remarks.source_loops import SourceLoop, among
from polyml.remarks.values import ANALYSIS, MISSED, PASSED, VECTORIZED, Remark


def vectorized(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and lanes."""
    found = [run for run in facts.runs_of(loop) if loop.positions[run.statement] in run.moved]
    lanes = [run for run in found if loop.positions[run.statement] in run.lanes]
    if lanes:
        return _passed(facts, loop, found, lanes)
    if not found:
        return Remark(ANALYSIS, VECTORIZED, "the program has no loop for it")
    scalar = [run for run in found if not run.lanes]
    if not scalar or all(any(other.lanes for other in found if other.statement == run.statement) for run in scalar):
        return _by_others(facts, loop, found)
    return _missed(facts, loop, scalar)


def around_a_region(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop around regions and lanes."""
    runs = (run for run in facts.runs_of(loop) if loop.positions[run.statement] in run.lanes)
    lanes = next((run.lanes[loop.positions[run.statement]][0] for run in runs), 0)
    if lanes:
        return Remark(PASSED, VECTORIZED, f"its iterations are lanes: {lanes} go their own ways together")
    return Remark(ANALYSIS, VECTORIZED, "its iterations run one by one")


def _passed(facts: Facts, loop: SourceLoop, found: Sequence[Run], lanes: Sequence[Run]) -> Remark:
    """Returns the remark on a loop whose iterations are lanes, maybe not for all of its statements."""
    count, vectors = max((run.lanes[loop.positions[run.statement]] for run in lanes), key=lambda each: each[0] * each[1])
    skewed = any(loop.positions[run.statement] in run.skewed for run in lanes)
    text = f"its iterations are lanes: {vectors} vector{'s' if vectors > 1 else ''} of {count}"
    text += ", along the diagonals of it and another loop (skewed)" if skewed else ""
    text += _order(facts, loop, lanes)
    factors = {factor for run in lanes for position, factor in run.jams.items() if position != loop.positions[run.statement]}
    if factors:
        text += f", for {' or '.join(map(str, sorted(factors)))} iterations around at once"
    text += _by_versions(lanes, [run for run in found if not run.lanes])
    names, anywhere = {run.statement for run in lanes}, {run.statement for run in found if run.lanes}
    left = [run for run in found if run.statement not in anywhere and _is_innermost(facts, loop, run.statement)]
    others = [name for name in loop.statements if name in anywhere - names]
    if others:
        text += f"; not those of {facts.told(others)}, which have lanes along another loop"
    if not left:
        return Remark(PASSED, VECTORIZED, text)
    missed = _missed(facts, loop, left)
    scalar = facts.told(dict.fromkeys(run.statement for run in left))
    return replace(missed, text=f"{text}; not those of {scalar}: {missed.text}")


def _order(facts: Facts, loop: SourceLoop, lanes: Sequence[Run]) -> str:
    """Returns the words that say how dependences between iterations that are lanes are kept; "" where there are none."""
    if any(run.scans for run in lanes):
        return ", each of which continues from the one before, in steps (a scan)"
    for run in lanes:
        if run.in_order:
            price = facts.price_of(run, loop.positions[run.statement])
            return f", in order: {price.order}" if price is not None and price.order else ", in order"
    return ""


def _by_versions(lanes: Sequence[Run], scalar: Sequence[Run]) -> str:
    """Returns the words that say when iterations are lanes and when they run one by one, where arguments decide; else ""."""
    wide, narrow = (
        dict.fromkeys(" and ".join(run.versions) for run in runs if run.versions) for runs in (lanes, scalar)
    )  # no call has both
    if not wide or not narrow or wide.keys() & narrow.keys():
        return ""
    return f", if {' or '.join(wide)}; one by one if {' or '.join(narrow)}"


def _is_innermost(facts: Facts, loop: SourceLoop, statement: str) -> bool:
    """Returns whether no other loop of the source is between the loop and the statement."""
    return all(len(other.path) <= len(loop.path) for other in facts.loops if statement in other.positions)


def _by_others(facts: Facts, loop: SourceLoop, found: Sequence[Run]) -> Remark:
    """Returns the remark on a loop whose statements run in lanes of other loops."""
    names = dict.fromkeys(facts.scop.statements[run.statement].iterators[position] for run in found for position in run.lanes)
    jams = sorted({run.jams[loop.positions[run.statement]] for run in found if loop.positions[run.statement] in run.jams})
    text = f"the lanes are those of {', '.join(names)}"
    if jams:
        text += f"; {' or '.join(map(str, jams))} iterations of this loop run together, unrolled and jammed"
    return Remark(ANALYSIS, VECTORIZED, text)


def _missed(facts: Facts, loop: SourceLoop, scalar: Sequence[Run]) -> Remark:
    """Returns the remark on a loop some of whose statements run one by one."""
    if not facts.options.vectorize:
        return Remark(MISSED, VECTORIZED, "the setting vectorize=False keeps lanes out", advice="leave out vectorize=False")
    if facts.aliased:
        text = "this form is for arguments that share memory, so it runs one element at a time"
        return Remark(MISSED, VECTORIZED, text, advice="pass arrays that do not overlap")
    prices = {run.statement: price for run in scalar if (price := facts.price_of(run, loop.positions[run.statement])) is not None}
    names = [*dict.fromkeys(run.statement for run in scalar)]
    broken = among(loop.carried(facts.relaxed), names)
    if broken.is_empty() and any(price.why == DEPENDS for price in prices.values()):
        broken = loop.carried(facts.dependences.validity)
    if not broken.is_empty() and (not prices or any(price.why for price in prices.values())):
        found = facts.conflict(broken)
        return Remark(MISSED, VECTORIZED, f"its iterations depend on each other: {found}", found, advice=_ORDER)
    ruled = {name: price for name, price in prices.items() if price.why and price.why != DEPENDS}
    if ruled:
        name, price = next(iter(ruled.items()))
        return Remark(MISSED, VECTORIZED, f"{_of(facts, loop, name)}{price.why}", cost=_terms(price), advice=_advice(price))
    priced = {name: price for name, price in prices.items() if price.cycles is not None}
    if priced:
        name, price = next(iter(priced.items()))
        text = f"{_of(facts, loop, name)}lanes would take {price.cycles:.3g} cycles for each iteration, one by one they take {price.scalar_cycles:.3g}"
        return Remark(MISSED, VECTORIZED, text, cost=_terms(price), advice=_COST)
    if prices:
        name, price = next(iter(prices.items()))
        return Remark(MISSED, VECTORIZED, f"{_of(facts, loop, name)}{price.why}, in the order of the schedule", cost=_terms(price))
    if any(loop.statements[0] in each.iterators for each in facts.scheduled) and _has_inner(facts, loop):
        return Remark(ANALYSIS, VECTORIZED, "there are other loops inside it, which lanes are looked for in")
    return Remark(MISSED, VECTORIZED, "its statements run one by one, and what lanes would take is not known")


_ORDER = "an order in which another loop is innermost may have lanes: k.schedule().interchange(...)"
_COST = "elements that are next to each other in memory along the loop make lanes cheap"


def _advice(price: LanePrice) -> str:
    if "distance" in price.why:
        return "subscripts that are linear in the loop's variable let lanes load them"
    if "condition" in price.why:
        return "np.where(condition, a, b) in place of `if` computes both in lanes"
    return ""


def _of(facts: Facts, loop: SourceLoop, statement: str) -> str:
    return f"{facts.told([statement])}: " if len(loop.statements) > 1 else ""


def _terms(price: LanePrice) -> dict[str, float]:
    found = {"cycles one by one": price.scalar_cycles}
    return found if price.cycles is None else {**found, "cycles in lanes": price.cycles}


def _has_inner(facts: Facts, loop: SourceLoop) -> bool:
    return any(other.path[: len(loop.path)] == loop.path and other.path != loop.path for other in facts.loops)
