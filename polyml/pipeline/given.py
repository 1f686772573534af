"""Schedules that are given, from files and scripts: proved, and generated as they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import islpy as isl

from polyml.codegen.ir.program import CannotRunTogether
from polyml.errors import ScheduleError
from polyml.frontend import syntax
from polyml.model.core.call_interface import SizeRelation
from polyml.pass_manager import Pass
from polyml.pipeline.generate import CallFacts, CodeCandidate, Generated, generate
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import CompileRequest, Model, ModelRequest, form_of, modelled
from polyml.polyhedra import BudgetExceeded
from polyml.schedule.compute import Scheduled
from polyml.schedule.script import printer
from polyml.schedule.script.file import Saved, check_name, tree_of
from polyml.schedule.script.problem import Problem
from polyml.schedule.script.schedule import OBJECTS, TEXT, Schedule
from polyml.schedule.tree.loop_tree import loops, read


def _proved(given: Saved, problem: Problem) -> isl.Schedule:
    """Returns the schedule tree of a saved schedule, after the proof that it keeps all dependences of the problem.

    Raises IllegalSchedule where it breaks one.
    """
    tree = tree_of(given, problem.scop)
    problem.prove(tree)
    return tree


GIVEN = Pass("schedule", _proved, "in place of one that is looked for", stage="schedule")


def compiled_as_given(
    given: Saved, model: Model, wanted: CompileRequest, related: tuple[str, ...], runner: PassRunner, emits: str = OBJECTS
) -> Generated:
    """Proves that a saved schedule is legal for a model, and returns the code in its order.

    wanted: the types, layouts, sizes and settings.
    related: relations between sizes that the code may take for granted, as texts.
    emits: how much is made, as for `generate`.
    """
    model = form_of({s.name for s in given.statements}, model, wanted.options, runner)
    problem = problem_of(model, wanted, given.sized, related, nullcontext)
    tree = runner.run(GIVEN, given, problem)
    return _generated(problem, model, tree, wanted, runner, emits)


def schedule_from(
    kernel: syntax.Kernel, given: Saved, wanted: CompileRequest, alone: Callable[[], AbstractContextManager], with_code: bool = True
) -> Schedule:
    """Returns a saved schedule for a kernel and argument types, once it is proved legal for these.

    given: the saved schedule.
    wanted: the types, layouts and settings.
    alone: makes a context in which no other thread uses isl.
    with_code: whether code is generated too, so that directives that cannot be followed raise ScheduleError.
    """
    check_name(given, kernel.name)
    runner = PassRunner()
    model = modelled(kernel, wanted.types, ModelRequest(wanted.options, sizes=dict(given.sizes) or None), runner)
    model = form_of({s.name for s in given.statements}, model, wanted.options, runner)
    problem = problem_of(model, wanted, given.sized, given.related, alone)
    tree = tree_of(given, problem.scop)
    (problem.check if with_code else problem.prove)(tree)
    return Schedule(problem, tree, given)


def problem_of(
    model: Model, wanted: CompileRequest, sized: bool, related: tuple[str, ...], alone: Callable[[], AbstractContextManager]
) -> Problem:
    """Returns the Problem that a schedule's steps are checked with: the model, and a function that generates code for a schedule
    tree.

    wanted: the types, layouts and settings.
    sized: whether code may depend on sizes.
    related: relations between sizes that the code may take for granted, as texts.
    alone: makes a context in which no other thread uses isl.
    """

    def of_tree(tree: isl.Schedule, emits: str = TEXT) -> Generated:
        return _generated(problem, model, tree, wanted, PassRunner(), emits)

    sizes = model.typical if sized or model.expands else None
    types = model.typed.types
    problem = Problem(model.scop, model.dependences, model.reductions, types, wanted.layouts, sizes, sized, related, of_tree, alone)
    return problem


def _generated(
    problem: Problem, model: Model, tree: isl.Schedule, wanted: CompileRequest, runner: PassRunner, emits: str
) -> Generated:
    """Returns the code of a given schedule: with vectors, or without them where code with vectors cannot be generated.

    No other schedule is tried.

    emits: how much is made, as for `generate`.
    Raises ScheduleError for directives that settings forbid or that cannot be followed.
    """
    options = wanted.options
    asked = [loop.directives for _, loop in loops(read(tree, problem.scop.statements))]
    settings = {
        "parallel": any(a.parallel for a in asked),
        "tile": any(a.tile for a in asked),
        "vectorize": any(a.of_code for a in asked),
    }
    for name, is_used in settings.items():
        if is_used and not getattr(options, name):
            raise ScheduleError(f"the schedule has loops that the setting {name}=False forbids")
    if options.schedule == "source":
        raise ScheduleError('the setting schedule="source" forbids a schedule of one\'s own')
    printed = printer.text(problem.scop, read(tree, problem.scop.statements))
    notes = ("the schedule given:", *(f"  {line}" for line in printed.splitlines()))
    related = _relations_of(problem)
    plain = replace(wanted, aliased=False, sizes=None)
    call = CallFacts(plain, problem.sizes if problem.sized else None, related)
    for together in (True, False) if options.vectorize else (False,):
        candidate = CodeCandidate("the schedule given", model, False, together)
        try:
            scheduled = Scheduled(tree, notes, problem.sized, related=bool(related))
            made = generate(candidate, scheduled, call, runner, emits)
            return replace(made, sized=bool(related))  # else one form is for all sizes
        except (BudgetExceeded, CannotRunTogether, isl.Error) as reason:
            if settings["vectorize"] or not together:
                raise ScheduleError(f"there is no code for the schedule: {reason}") from reason
            notes += (f"vectors given up: {reason}",)
    raise AssertionError("unreachable")


def _relations_of(problem: Problem) -> tuple[SizeRelation, ...]:
    """Returns the relations between sizes that the problem's code may take for granted.

    Raises ScheduleError for a text that is no relation, or that names sizes which the kernel's arrays do not have.
    """
    found = []
    known = {(p.array, p.dim) for p in problem.scop.parameters if p.is_size}
    for text in problem.related:
        try:
            each = SizeRelation.parse(text)
        except ValueError:
            raise ScheduleError(f"the schedule is damaged: `{text}` relates no sizes") from None
        if not {(each.name, each.dim), (each.other, each.other_dim)} <= known:
            raise ScheduleError(f"the schedule is for other sizes: `{problem.scop.name}` has none of `{text}`")
        found.append(each)
    return tuple(found)
