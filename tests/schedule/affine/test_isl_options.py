"""isl's options and its budget of operations: set for one schedule, and as before after it, whatever happens."""

import islpy as isl
import pytest

from polyml.machines import catalogue
from polyml.polyhedra import CONTEXT, BudgetExceeded
from polyml.schedule import compute as computing
from polyml.schedule.affine import scheduler
from polyml.schedule.affine.isl_options import isl_options
from polyml.schedule.affine.scheduler import affine_schedule
from polyml.schedule.legality.check import check_legal, check_parallel
from tests.schedule.scheduling import marks, modelled


def options():
    names = [n for n in dir(isl.Context) if n.startswith(("get_schedule_", "get_tile_"))]
    return {name: getattr(CONTEXT, name)() for name in names} | {"operations": CONTEXT.get_max_operations()}


def scheduled(name):
    found = modelled(name)
    return computing.compute(
        found.scop, found.dependences, computing.ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True)
    )


def test_options_hold_inside_the_block_alone():
    before = options()
    with isl_options(schedule_serialize_sccs=1, schedule_max_coefficient=3):
        inside = options()
        assert (inside["get_schedule_serialize_sccs"], inside["get_schedule_max_coefficient"]) == (1, 3)
    assert options() == before != inside


def test_options_that_are_not_named_are_at_isl_s_defaults():
    with isl_options(schedule_outer_coincidence=1):
        with isl_options(schedule_serialize_sccs=1):
            assert options()["get_schedule_outer_coincidence"] == 0
        assert options()["get_schedule_outer_coincidence"] == 1


def test_options_are_restored_after_an_error():
    before = options()
    with pytest.raises(ZeroDivisionError), isl_options(schedule_serialize_sccs=1):
        1 / 0  # noqa: B018
    assert options() == before


def test_an_option_that_isl_does_not_have_is_refused():
    before = options()
    with pytest.raises(ValueError, match="^no such isl option: schedule_fast, schedule_nice$"):
        with isl_options(schedule_nice=1, schedule_fast=2, schedule_serialize_sccs=1):
            pass
    assert options() == before


@pytest.mark.parametrize("name", ["gemm", "lu", "jacobi_2d"])
def test_scheduling_leaves_isl_as_it_was(name):
    before = options()
    scheduled(name)
    assert options() == before


@pytest.mark.parametrize("operations", [1, 500, 4000])
@pytest.mark.parametrize("name", ["gemm", "lu"])
def test_past_the_budget_the_source_s_order_stays_and_a_note_says_so(monkeypatch, name, operations):
    monkeypatch.setattr(computing, "OPERATIONS", operations)
    monkeypatch.setattr(scheduler, "OPERATIONS", operations)
    monkeypatch.setattr(scheduler, "OPERATIONS_PER_STATEMENT", 0)
    before, result = options(), scheduled(name)
    assert str(result.tree) == str(modelled(name).scop.schedule)
    assert result.notes == (f"scheduling given up (isl exceeded {operations} operations): source order",)
    assert options() == before


def test_without_the_operations_for_the_permutable_form_the_parallel_form_stays_and_a_note_says_so(monkeypatch):
    original = scheduler._isl_schedule

    def only_parallel(asked, **options):
        if "schedule_outer_coincidence" not in options:
            raise BudgetExceeded("isl exceeded 500 operations")
        return original(asked, **options)

    monkeypatch.setattr(scheduler, "_isl_schedule", only_parallel)
    notes = scheduled("lu").notes
    assert notes[0] == "loops that may be exchanged: given up (isl exceeded 500 operations)"
    assert any("strips" in note for note in notes[1:])


def test_isl_works_normally_after_the_budget_was_exceeded(monkeypatch):
    wanted = scheduled("lu")
    with monkeypatch.context() as small:
        small.setattr(scheduler, "OPERATIONS", 500)
        small.setattr(scheduler, "OPERATIONS_PER_STATEMENT", 0)
        assert str(scheduled("lu").tree) != str(wanted.tree)
    assert str(scheduled("lu").tree) == str(wanted.tree)


def test_an_error_of_isl_inside_the_scheduler_is_told_from_an_exceeded_budget(monkeypatch):
    monkeypatch.setattr(computing, "affine_schedule", lambda *_: isl.Set("{ this is no set"))
    before, result = options(), scheduled("gemm")
    assert str(result.tree) == str(modelled("gemm").scop.schedule)
    (note,) = result.notes
    assert note.startswith("isl's scheduler failed (") and note.endswith("): source order")
    assert options() == before


def test_a_schedule_is_the_same_whatever_isl_s_options_are_outside():
    found = modelled("lu")
    wanted = str(affine_schedule(found.scop, found.dependences)[0])
    with isl_options(schedule_max_coefficient=0, schedule_maximize_coincidence=1, schedule_whole_component=1):
        assert str(affine_schedule(found.scop, found.dependences)[0]) == wanted


@pytest.mark.parametrize("name", ["gemm", "k2mm", "fdtd_2d", "deriche", "adi"])
def test_what_isl_takes_too_long_for_is_scheduled_component_by_component_with_loops_of_the_source(monkeypatch, name):
    monkeypatch.setattr(scheduler, "OPERATIONS", 1)
    monkeypatch.setattr(scheduler, "OPERATIONS_PER_STATEMENT", 0)
    found = modelled(name)
    made = computing.compute(
        found.scop, found.dependences, computing.ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True)
    )
    assert made.notes[0].startswith("components are scheduled one by one")
    assert any("the source's loops" in note for note in made.notes)
    check_legal(made.tree, found.scop, found.dependences)
    check_parallel(made.tree, found.scop, found.dependences)
    assert any("parallel" in marks(made.tree, s) for s in found.scop.statements)
