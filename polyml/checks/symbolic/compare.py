"""The comparison of two runs on terms (values as the operations that made them): do the same instances see the same values?

Where every instance of the second run reads, operand by operand, what it read in the first, all flow and anti dependences are
kept; where the caller sees the same at the end, so are the output dependences. The first instance of the second run that reads
something else is at fault: everything before it had the values it should have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyml.checks.symbolic.effects import InstanceEvent, Touch
from polyml.checks.symbolic.finding import Finding, element_text, instance_text
from polyml.checks.symbolic.memory import Instance
from polyml.checks.symbolic.runs import Run
from polyml.checks.symbolic.terms import Terms
from polyml.model.core.scop import Role, Scop


@dataclass(frozen=True)
class ThreadNames:
    """A ThreadNames holds what must not be compared because it depends on which thread runs an iteration.

    iterators: names of iterators that are the number of a thread.
    rows: names of arrays with a row for each thread. What is in one row depends on the iterations that its thread ran; only what
        all rows give together does not.
    """

    iterators: Container[str] = ()
    rows: Container[str] = ()


NO_THREADS = ThreadNames()


def origins(before: Scop, after: Scop) -> dict[str, str]:
    """Returns {statement of the second SCoP: the statement of the first that it was made from}; statements that a pass added are
    left out.

    A pass extends the name of the statement that it transforms (`S1` becomes `S1_from_A_tile0`), and appends iterators.
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
    threads: ThreadNames = NO_THREADS,
) -> Finding | None:
    """Returns the first difference between two runs on symbolic values at the same sizes; None where there is none.

    scops: the SCoPs of the two runs.
    terms: the table in which both runs' values have numbers.
    by_point: whether an instance of one run is compared with that of the same statement and iterators in the other; False, for
        passes that number iterations anew: with any instance of the statement that computes the same values.
    threads: what depends on which thread runs an iteration, and is not compared.
    """
    if after.finding is not None:
        return after.finding
    named = origins(*scops)
    if not by_point:
        return _values_differ(before, after, scops, named, terms) or _results_differ(before, after, scops, terms)
    kept = {name: _known_by(s.iterators, threads.iterators) for name, s in scops[0].statements.items()}
    given = [(instance, event) for instance, event in _as_of(before.events, {name: name for name in kept}, kept)]
    old, new = dict(given), list(_as_of(after.events, named, kept))
    return (
        _instances_differ([instance for instance, _ in given], new)
        or _reads_differ(old, new, terms, threads.rows)
        or _results_differ(before, after, scops, terms)
    )


def _known_by(iterators: Sequence[str], threads: Container[str]) -> tuple[int, ...]:
    """Returns the positions, among a statement's iterators, of those that identify an instance: all but the numbers of threads.

    threads: the names of iterators that are the number of a thread.
    """
    return tuple(position for position, name in enumerate(iterators) if name not in threads)


def _as_of(
    events: Sequence[InstanceEvent], named: Mapping[str, str], kept: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[Instance, InstanceEvent]]:
    """Yields (instance, event) for each event whose statement is in `named`. `instance` is the instance of the first SCoP that the
    event stands for: the older statement, and the values of those of its iterators that identify it.

    named: {statement: the statement of the first SCoP that it was made from}.
    kept: {statement of the first SCoP: the positions of the iterators that identify its instances}.
    """
    for event in events:
        name, point = event.instance
        if name in named:
            yield (named[name], tuple(point[position] for position in kept[named[name]])), event


def _instances_differ(before: Sequence[Instance], after: Sequence[tuple[Instance, InstanceEvent]]) -> Finding | None:
    """Returns a finding about the first instance that runs more often, or less often, than before; None where there is none.

    after: (the older instance that it stands for, its event), for each instance that runs now.
    """
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
    before: Mapping[Instance, InstanceEvent], after: Sequence[tuple[Instance, InstanceEvent]], terms: Terms, rows: Container[str]
) -> Finding | None:
    """Returns a finding about the first instance that computes other values than in the run before; None where there is none.

    rows: arrays with a row for each thread; instances that read them are not compared.
    """
    for instance, event in after:
        old = before[instance]
        if sorted(event.values) == sorted(old.values) or any(touch and touch.array in rows for touch in event.reads):
            continue
        pairs = zip(event.reads, old.reads)
        differing = [(new, was) for new, was in pairs if new and was and new.cell.value != was.cell.value]
        return _wrong_value(event, old, differing, terms)
    return None


def _wrong_value(event: InstanceEvent, old: InstanceEvent, differing: Sequence[tuple[Touch, Touch]], terms: Terms) -> Finding:
    """Returns the finding for an instance that does not compute the values that it computed in the run before.

    differing: (read now, read before) for each of its reads that got another value.
    """
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
    """Returns a finding about the first instance whose values occur in one run but not, or less often, in the other; values are
    compared among all instances of a statement. None where each statement computes the same values as often in both runs.

    named: {statement of the second SCoP: the statement of the first that it was made from}.
    """
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
    """Returns a finding about the first array element that the caller can see and that has another value after one run than after
    the other; None where there is none.
    """
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
