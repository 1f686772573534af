"""What polyml shows of a random program, compared with all of its instances, run one after the other: the model, pictures, replays of
schedules, and remarks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from types import FunctionType

from polyml.api.compiling.compile_lock import alone
from polyml.api.plotting.nest import nest_of, order
from polyml.model.core.call_interface import value
from polyml.model.core.scop import Scop
from polyml.pictures.nest_svg import nest_svg
from polyml.pictures.nests import nest_picture, parameters
from polyml.polyhedra.points import instance_text, points
from polyml.remarks.formats import data as remark_data
from polyml.remarks.formats import html
from polyml.remarks.formats import text as remark_text
from polyml.remarks.values import PASSED, QUESTIONS, Remarks
from polyml.schedule.replay.decompose import steps_to
from tests.fuzz.oracle import expected
from tests.fuzz.program import Program, make_arguments
from tests.fuzz.scripts import random_script
from tests.pictures.test_nests import direct, elements
from tests.remarks.brute_force import Instances, carried
from tests.remarks.test_polybench import groups, touches

MOST = 400  # instances of a run that is compared pair by pair
LARGEST = 7  # parameter of a pair that is shown as an example
OBEYED = {"flow": (True, False), "anti": (False, True), "output": (True, True)}


def check(function: FunctionType, program: Program) -> list[str]:
    """Raises AssertionError where what is shown differs from what runs; returns what was compared.

    Raises PolymlError for a program that is not compiled as a whole, and whatever else polyml raises.
    """
    import polyml

    kernel = polyml.kernel(fallback="error", cache=False, threads=2)(function)
    given = make_arguments(program, 0)
    start = kernel.schedule("source", *given)
    scop, compared = start.problem.scop, []
    rng = random.Random(program.seed)
    compared += _remarks(kernel, given, program)
    for chosen in _sizes(scop, program):
        if len(points(scop.domain, **chosen)) > MOST:
            continue
        instances = Instances(scop, chosen)
        compared += _model(kernel.model(*given), instances, chosen)
        compared += _pictures(start, chosen)
        for schedule in (kernel.schedule("auto", *given), random_script(start, rng, steps=5).schedule):
            compared += _replay(schedule, chosen)
        break
    return compared


def _sizes(scop: Scop, program: Program) -> list[Mapping[str, int]]:
    """The values of the parameters in the runs that Python finishes, the smaller runs last."""
    found = []
    for run in range(len(program.sizes)):
        if expected(program, run).error is None:
            given = dict(zip(scop.params, make_arguments(program, run)))
            chosen = {p.name: value(p, given) for p in scop.parameters}
            shapes = [getattr(a, "shape", ()) for a in given.values()]
            if shapes == [getattr(a, "shape", ()) for a in make_arguments(program, 0)] or _is_for_all(scop, chosen):
                found.append(chosen)
    return found


def _is_for_all(scop: Scop, chosen: Mapping[str, int]) -> bool:
    """Whether a call with these parameters passes the checks at entry."""
    from polyml import polyhedra

    return all(polyhedra.fix(each.violated, chosen).is_empty() for each in scop.checks)


def _is_decided_by_data(scop: Scop) -> bool:
    """Whether some accesses happen only for some data, so that the model has more than a run."""
    return any(access.may for each in scop.statements.values() for access in (*each.reads, each.write))


def _model(model, instances: Instances, sizes: Mapping[str, int]) -> list[str]:
    """The relations of `model` are all pairs of instances that touch an element."""
    if {each[0] for each in instances.times} != {each[0] for each in points(model.domain, **sizes)}:
        return []  # the compiler changed the statements, so the source's are not those of the model
    assert {*points(model.domain, **sizes)} == {*instances.times}, "domain"
    wanted: dict[str, set] = {kind: set() for kind in OBEYED}
    for users in instances.touched.values():
        for one, writes in users:
            for other, also in users:
                if instances.times[one] < instances.times[other]:
                    for kind, ends in OBEYED.items():
                        if ends == (writes, also):
                            wanted[kind].add((one, other))
    if _same_accesses(model, instances, sizes):
        assert {*points(model.dependences, **sizes)} == set().union(*wanted.values()), "dependences of the model"
        for kind, pairs in wanted.items():
            assert {*points(getattr(model, kind), **sizes)} == pairs, f"{kind} dependences of the model"
        return ["model"]
    return []


def _same_accesses(model, instances: Instances, sizes: Mapping[str, int]) -> bool:
    touched = {(instance, element) for element, users in instances.touched.items() for instance, _ in users}
    return {*points(model.accesses, **sizes)} == touched


def _pictures(schedule, sizes: Mapping[str, int]) -> list[str]:
    """Points, arrows and times are those of all instances."""
    scop, drawn = schedule.problem.scop, {}
    times = {instance: at for instance, (_, at) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    if not times:
        return []
    drawn_for = {name: sizes[name] for name in parameters(scop)}
    for what in ("domain", "dependences", "schedule"):
        shown = nest_picture(nest_of(schedule, drawn_for), order(schedule), what, most=10_000)
        drawn[what] = nest_svg(shown)
        if any(len(each.iterators) > 3 for each in shown.statements):
            return []
    every = {instance_text(each) for each in times}
    found = {each.get("data-instance") for each in elements(drawn["domain"], "point")}
    assert found == every, f"points: {found ^ every}"
    numbers = {each.get("data-instance"): int(each.get("data-time")) for each in elements(drawn["schedule"], "point")}
    assert numbers == {instance_text(each): number for number, each in enumerate(sorted(times, key=times.get))}, "times"
    if _is_decided_by_data(scop):
        return ["points"]
    arrows = {
        (each.get("data-kind"), each.get("data-source"), each.get("data-sink")) for each in elements(drawn["dependences"], "arrow")
    }
    assert arrows == direct(scop, sizes), f"arrows: {arrows ^ direct(scop, sizes)}"
    return ["points", "arrows"]


def _replay(schedule, sizes: Mapping[str, int]) -> list[str]:
    """The steps, applied one after the other, give the order of the schedule tree."""
    scop = schedule.problem.scop
    replay = steps_to(schedule.tree, scop)
    now = replay.orders[0]
    assert _runs(now.schedule_map(), scop, sizes) == _runs(scop.schedule.get_map(), scop, sizes), "replay begins elsewhere"
    for step in replay.steps:
        now = step.applied(now)
    assert _runs(now.schedule_map(), scop, sizes) == _runs(schedule.tree.get_map(), scop, sizes), "the steps of a replay"
    return ["replay"]


def _runs(relation, scop: Scop, sizes: Mapping[str, int]) -> list:
    """Sets of instances that run at one time, in the order of a map from instances to times."""
    at: dict[tuple, set] = {}
    for instance, (_, time) in points(relation.intersect_domain(scop.domain), **sizes):
        at.setdefault(time, set()).add(instance)
    return [at[time] for time in sorted(at)]


def _remarks(kernel, given: Sequence[object], program: Program) -> list[str]:
    """Each loop has an answer to each question, which its dependences do not contradict, and all formats take the remarks."""
    from polyml import config
    from polyml.api.calls.specialisation import Request
    from polyml.api.explaining.compiled_facts import facts_of
    from polyml.remarks.collect import remarks

    types, layouts, _ = kernel._signature(tuple(given))
    wanted = Request(types, layouts, config.resolve({"cache": False, "threads": 2}))
    with alone():
        facts = facts_of(lambda: kernel._compile(wanted)[0], wanted)
        found = remarks(facts, "", "")
    _formats(found)
    compared = ["remarks"]
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        assert [each.question for each in shown.remarks] == list(QUESTIONS), shown.name
        for remark in shown.remarks:
            if remark.conflict is not None and max(remark.conflict.sizes.values(), default=0) <= LARGEST:
                _conflict(remark, loop, facts)
                compared.append("conflict")
    for chosen in _sizes(facts.scop, program):
        if len(points(facts.scop.domain, **chosen)) <= MOST and not facts.aliased:
            compared += _parallel(facts, found, Instances(facts.scop, chosen), chosen)
            break
    return compared


def _conflict(remark, loop, facts) -> None:
    """A pair that is shown exists, and the loop carries it where that is what is said."""
    conflict = remark.conflict
    sizes = {**{p.name: 3 for p in facts.scop.parameters}, **conflict.sizes}
    instances = Instances(facts.scop, sizes)
    pairs = {(instance_text(a), instance_text(b)) for a, b in instances.dependences()}
    pair = (conflict.source.instance, conflict.sink.instance)
    assert pair in pairs, f"no such pair: {pair} with {sizes}"
    element = (facts.scop.arrays, conflict.element)
    assert touches(instances, conflict.source, element) and touches(instances, conflict.sink, element), conflict.element
    assert OBEYED[conflict.kind] == (conflict.source.writes, conflict.sink.writes), conflict.kind
    if remark.question == "parallel" and "the schedule's loop" not in remark.text.partition(":")[0]:
        own = carried(instances.dependences(), loop, facts.loops)
        assert pair in {(instance_text(a), instance_text(b)) for a, b in own}, f"{loop.name} does not carry {pair}"


def _parallel(facts, found: Remarks, instances: Instances, sizes: Mapping[str, int]) -> list[str]:
    """Loops whose iterations go to threads carry no dependence of a statement on itself but those of sums (statements may be shifted
    against each other); what is carried is what brute force finds.
    """
    with alone():
        relations = [points(loop.carried(facts.dependences.validity), **sizes) for loop in facts.loops]
        sums = points(facts.dependences.validity, **sizes) - points(facts.relaxed, **sizes)
    pairs, compared = instances.dependences(), []
    for loop, shown, relation in zip(facts.loops, found.loops, relations, strict=True):
        assert relation == carried(pairs, loop, facts.loops), f"what {loop.name} carries"
        remark = shown.of("parallel")
        if remark.kind != PASSED:
            continue
        for told, names in groups(remark.text, loop):
            if "within an iteration" not in told and "counts it together" not in told:
                mine = {pair for pair in carried(pairs - sums, loop, facts.loops) if pair[0][0] == pair[1][0] in names}
                assert not mine, f"{loop.name} goes to threads and carries {sorted(mine)[:2]}"
                compared.append("parallel")
    return [*compared, "carried"]


def _formats(found: Remarks) -> None:
    """Remarks are printed in all formats."""
    assert remark_text.text(found) or not found.loops
    json.dumps(remark_data.data(found))
    assert html.document(found).startswith("<!doctype html>")
