"""Schedules of kernels for GPUs: the one that is found, with its mapping as marks, and those that are given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import islpy as isl

from polyml.codegen.gpu.asked_copies import check_copies, with_copies
from polyml.codegen.gpu.program import GpuProgram
from polyml.errors import ScheduleError
from polyml.frontend import syntax
from polyml.pass_manager import Pass
from polyml.pipeline.gpu import passes
from polyml.pipeline.gpu.device import Device
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import CompileRequest, Model, ModelRequest, form_of, modelled
from polyml.polyhedra import BudgetExceeded
from polyml.schedule.gpu.launch_plan import planned_as_given, planned_tree, written_tree
from polyml.schedule.gpu.mapping import Mapped
from polyml.schedule.gpu.marks import marked
from polyml.schedule.script import schedule as script
from polyml.schedule.script.file import Saved, check_name, tree_of
from polyml.schedule.script.problem import Problem
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree.loop_tree import Node, read, write

Alone = Callable[[], AbstractContextManager[object]]


def _proved(given: Saved, problem: Problem) -> isl.Schedule:
    """Returns the schedule tree of a saved schedule, after the proof that it keeps all dependences of the problem, also on threads."""
    tree = tree_of(given, problem.scop)
    problem.prove(tree)
    return tree


_GIVEN = Pass("schedule", _proved, "in place of one that is looked for", stage="launches")


def launches_as_given(
    given: Saved, model: Model, wanted: CompileRequest, device: Device, runner: PassRunner
) -> tuple[tuple[Mapped, ...], GpuProgram]:
    """Returns the launches of a saved schedule, which is proved, and the program that makes them.

    Raises ScheduleError where it asks for what cannot be done, IllegalSchedule where it breaks a dependence.
    """
    model = form_of({s.name for s in given.statements}, model, wanted.options, runner)
    problem = _problem(model, wanted, device, nullcontext)
    return _launches(runner.run(_GIVEN, given, problem), model, device, runner)


def _launches(tree: isl.Schedule, model: Model, device: Device, runner: PassRunner) -> tuple[tuple[Mapped, ...], GpuProgram]:
    """Returns the launches of a schedule tree, and the program that makes them."""
    scop = model.scop
    try:
        mapped = planned_as_given(read(tree, scop.statements), scop, model.dependences, model.reductions, device.traits)
        program = runner.run(passes.GPU_BUILD, scop, mapped, device.instructions(model))
        check_copies(mapped, program)
    except BudgetExceeded as reason:
        raise ScheduleError(f"there is no code for the schedule: {reason}") from reason
    return mapped, program


def schedule_of(kernel: syntax.Kernel, wanted: CompileRequest, start: str, alone: Alone, device: Device) -> Schedule:
    """Returns a kernel's schedule for GPUs, to which a script's steps can be applied.

    start: "auto" for the schedule that `compile_for_gpu` finds, whose mapping is in marks; "source" for the source's order.
    alone: makes a context in which no other thread uses isl.
    """
    runner = PassRunner()
    model = modelled(kernel, wanted.types, ModelRequest(wanted.options, sizes=wanted.sizes), runner)
    tree = read(model.scop.schedule, model.scop.statements) if start == "source" else _mapped_tree(model, device, runner)
    return script.schedule(_problem(model, wanted, device, alone), write(model.scop.domain, tree))


def _mapped_tree(model: Model, device: Device, runner: PassRunner) -> Node:
    """Returns the loops of the schedule that `compile_for_gpu` finds, with its mapping as marks."""
    scop, problem = model.scop, None
    for plan in (planned_tree, written_tree):
        try:
            tree, mapped = plan(scop, model.dependences, model.reductions, device.traits)
            return marked(tree, with_copies(mapped, runner.run(passes.GPU_BUILD, scop, mapped, device.instructions(model))))
        except BudgetExceeded as reason:
            problem = reason
    raise ScheduleError("all loops run on one thread, since no mapping to a GPU is found in time", notes=[str(problem)])


def schedule_from(
    kernel: syntax.Kernel, given: Saved, wanted: CompileRequest, alone: Alone, with_code: bool, device: Device
) -> Schedule:
    """Returns a saved schedule for a kernel and argument types, once it is proved legal for these.

    given: the saved schedule.
    alone: makes a context in which no other thread uses isl.
    with_code: whether code is generated too, so that copies that cannot be made raise ScheduleError.
    """
    check_name(given, kernel.name)
    runner = PassRunner()
    model = modelled(kernel, wanted.types, ModelRequest(wanted.options, sizes=dict(given.sizes) or None), runner)
    model = form_of({s.name for s in given.statements}, model, wanted.options, runner)
    problem = _problem(model, wanted, device, alone)
    tree = tree_of(given, problem.scop)
    (problem.check if with_code else problem.prove)(tree)
    return Schedule(problem, tree, given)


def _problem(model: Model, wanted: CompileRequest, device: Device, alone: Alone) -> Problem:
    """Returns the Problem that a schedule's steps are checked with: the model, and a function that generates launches for a tree."""

    def of_tree(tree: isl.Schedule) -> GpuProgram:
        return _launches(tree, model, device, PassRunner())[1]

    sizes = model.typical if model.expands else None
    return Problem(
        model.scop, model.dependences, model.reductions, model.typed.types, wanted.layouts, sizes, False, (), of_tree, alone, True
    )
