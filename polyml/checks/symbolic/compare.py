"""Two runs on terms of one table: whether the same instances ran, and whether each saw the same values.

Where every instance of the second run reads, operand by operand, what it read in the first, all flow and anti dependences
are kept; where what the caller sees at the end is the same, so are the output dependences. The first instance of the second run
that reads something else is the one at fault: everything before it had what it had before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from polyml.checks.symbolic.effects import Event, Touch
from polyml.checks.symbolic.finding import Finding, element_text, instance_text
from polyml.checks.symbolic.memory import Instance
from polyml.checks.symbolic.runs import Run
from polyml.checks.symbolic.terms import Terms
from polyml.model.core.scop import Role, Scop


def origins(before: Scop, after: Scop) -> dict[str, str]:
    """Returns by statement of the second SCoP which one of the first it came from; those that a pass added are left out.

    A pass names what it makes of a statement by the statement's name and more (`S1_from_A_tile0`), and appends iterators.
    """
    return {name: found for name, s in after.statements.items() if (found := _origin(name, s.iterators, before)) is not None}


def _origin(name: str, iterators: tuple[str, ...], before: Scop) -> str | None:
    candidates = [n for n in before.statements if name == n or name.startswith(f"{n}_")]
    longest = max(candidates, key=len, default=None)
    return longest if longest is not None and len(iterators) >= len(before.statements[longest].iterators) else None


def compared(
    before: Run,
    after: Run,
    scops: tuple[Scop, Scop],
    terms: Terms,
    *,
    by_point: bool = True,
    team: Container[str] = (),
    rows: Container[str] = (),
) -> Finding | None:
    """Returns the first difference of two runs at the same sizes; None where there is none.

    by_point: an instance is known by its point; else, where a pass counts iterations anew, by the values it brings.
    team: names of iterators that are numbers of threads, which do not matter.
    rows: arrays with a row for each thread: what is in one depends on which iterations the thread ran, what all make together does not.
    """
    if after.finding is not None:
        return after.finding
    named = origins(*scops)
    if not by_point:
        return _values_differ(before, after, scops, named, terms) or _results_differ(before, after, scops, terms)
    kept = {name: _known_by(s.iterators, team) for name, s in scops[0].statements.items()}
    given = [(instance, event) for instance, event in _as_of(before.events, {name: name for name in kept}, kept)]
    old, new = dict(given), list(_as_of(after.events, named, kept))
    return (
        _instances_differ([instance for instance, _ in given], new)
        or _reads_differ(old, new, terms, rows)
        or _results_differ(before, after, scops, terms)
    )


def _known_by(iterators: Sequence[str], team: Container[str]) -> tuple[int, ...]:
    """Returns the positions of the iterators that tell instances apart."""
    return tuple(position for position, name in enumerate(iterators) if name not in team)


def _as_of(
    events: Sequence[Event], named: Mapping[str, str], kept: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[Instance, Event]]:
    """Yields the events of instances of the first SCoP, by what they were called there."""
    for event in events:
        name, point = event.instance
        if name in named:
            yield (named[name], tuple(point[position] for position in kept[named[name]])), event


def _instances_differ(before: Sequence[Instance], after: Sequence[tuple[Instance, Event]]) -> Finding | None:
    wanted, got = Counter(before), Counter(instance for instance, _ in after)
    for instance in sorted((wanted - got) + (got - wanted)):
        text = instance_text(*instance)
        if not wanted[instance]:
            return Finding(f"{text} runs, which is no instance", text)
        if not got[instance]:
            return Finding(f"{text} never runs", text)
        return Finding(f"{text} runs {got[instance]} times, not {wanted[instance]}", text)
    return None


def _reads_differ(
    before: Mapping[Instance, Event], after: Sequence[tuple[Instance, Event]], terms: Terms, rows: Container[str]
) -> Finding | None:
    for instance, event in after:
        old = before[instance]
        if sorted(event.values) == sorted(old.values) or any(touch and touch.array in rows for touch in event.reads):
            continue
        pairs = zip(event.reads, old.reads)
        differing = [(new, was) for new, was in pairs if new and was and new.cell.value != was.cell.value]
        return _wrong_value(event, old, differing, terms)
    return None


def _wrong_value(event: Event, old: Event, differing: Sequence[tuple[Touch, Touch]], terms: Terms) -> Finding:
    text = instance_text(*event.instance)
    for new, was in sorted(differing, key=lambda pair: pair[0].array != pair[1].array):
        element = element_text(new.array, new.element)
        source = (
            "" if (new.array, new.element) == (was.array, was.element) else f" in place of {element_text(was.array, was.element)}"
        )
        return Finding(f"{text} reads {element}{source} {_left_by(new)}, not {_left_by(was)}", text, element)
    shown = " and ".join(terms.text(v) for v in event.values if v not in old.values) or "nothing"
    wanted = " and ".join(terms.text(v) for v in old.values if v not in event.values) or "nothing"
    return Finding(f"{text} computes {shown}, not {wanted}", text)


def _left_by(touch: Touch) -> str:
    writer = touch.cell.writer
    return "as it is before anything wrote it" if writer is None else f"as {instance_text(*writer)} left it"


def _values_differ(before: Run, after: Run, scops: tuple[Scop, Scop], named: Mapping[str, str], terms: Terms) -> Finding | None:
    wanted = Counter((event.instance[0], tuple(sorted(event.values))) for event in before.events)
    ran = (event for event in after.events if event.instance[0] in named)
    got = Counter((named[event.instance[0]], tuple(sorted(event.values))) for event in ran)
    for event in after.events:
        name = named.get(event.instance[0])
        if name is not None and got[key := (name, tuple(sorted(event.values)))] > wanted[key]:
            text = instance_text(*event.instance)
            shown = " and ".join(map(terms.text, event.values))
            return Finding(f"{text} brings {shown}, as no instance of {name} did, or not so often", text)
    for event in before.events:
        key = event.instance[0], tuple(sorted(event.values))
        if wanted[key] > got[key]:
            text = instance_text(*event.instance)
            return Finding(f"nothing computes what {text} did: {' and '.join(map(terms.text, event.values))}", text)
    return None


def _results_differ(before: Run, after: Run, scops: tuple[Scop, Scop], terms: Terms) -> Finding | None:
    results = {r.array for r in scops[0].results}
    shown = {a.name for a in scops[0].arrays.values() if a.role is not Role.LOCAL} | results
    for place in sorted({*before.visible, *after.visible}):
        if place[0] not in shown:
            continue
        was, now = before.visible.get(place), after.visible.get(place)
        if now is not None and was is not None and now.value == was.value:
            continue
        element = element_text(*place)
        if now is None:
            return Finding(f"{element} is never written", element=element)
        if was is None:
            instance = instance_text(*now.writer) if now.writer else ""
            return Finding(f"{instance} writes {element}, which nothing wrote", instance, element)
        instance, other = (instance_text(*c.writer) if c.writer else "" for c in (now, was))
        texts = terms.text(now.value), terms.text(was.value)
        who = f"as {instance} left it and not as {other}" if instance != other else f"{texts[0]}, not {texts[1]}"
        return Finding(f"{element} is at the end {who}", instance, element)
    return None
