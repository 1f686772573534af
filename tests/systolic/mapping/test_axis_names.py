"""What coordinates of nests are called, and that mappings are written by these names."""

import pytest

import polyml
from polyml.errors import ConfigError
from polyml.systolic.mapping.axis_names import axis_names, interleavings
from tests.systolic.designs import zeros
from tests.systolic.joint import jacobi_2d, lu, trsm

STENCIL = (4, zeros(6, 5), zeros(6, 5))


def nest_of(function, *args, **options):
    (found,) = polyml.kernel(function, cache=False).report(*args, target="systolic", array=(4, 4), **options).nests
    return found


def alternating(T, A, B):
    for t in range(T):
        for t_turn in range(1, A.shape[0] - 1):
            B[t_turn] = A[t_turn - 1] + A[t_turn] + A[t_turn + 1]
        for t_turn in range(1, A.shape[0] - 1):
            A[t_turn] = B[t_turn - 1] + B[t_turn] + B[t_turn + 1]


def test_a_loop_along_which_statements_take_turns_has_a_name_of_its_own():
    nest = nest_of(jacobi_2d, *STENCIL).nest
    assert axis_names(nest) == ("t_turn", "i", "j")
    assert list(interleavings(nest)) == ["t_turn = 2*t of S0, 2*t + 1 of S1"]


def test_the_name_is_no_other_loop_s():
    nest = nest_of(alternating, 3, zeros(8), zeros(8)).nest
    assert axis_names(nest) == ("t_turn_", "t_turn")


def test_loops_without_turns_keep_their_names():
    nest = nest_of(lu, zeros(6, 6)).nest
    assert axis_names(nest) == nest.loops and list(interleavings(nest)) == []


def test_mappings_are_written_with_that_name():
    found = nest_of(jacobi_2d, *STENCIL, mapping="t = t_turn, x = i, y = j")
    (plan,) = found.plans
    assert plan.recurrence.text(plan.mapping) == "S0: t = 2*t, x = i, y = j; S1: t = 2*t + 1, x = i, y = j"
    with pytest.raises(ConfigError, match="`t = t, x = i, y = j` is no mapping") as refused:
        nest_of(jacobi_2d, *STENCIL, mapping="t = t, x = i, y = j")
    assert "t_turn" in str(refused.value)


def test_reports_of_simulations_say_which_statement_runs_when():
    text = str(polyml.kernel(jacobi_2d, cache=False).compare(*STENCIL, array=(4, 4)))
    assert "── S0[t, i, j], S1[t, i, j] ─" in text and "t_turn = 2*t of S0, 2*t + 1 of S1" in text
    assert "S0: A[i, j] " in text and "S1: B[i, j] " in text


def test_operands_of_several_statements_tell_when_they_enter():
    report = polyml.kernel(trsm, cache=False).compare(zeros(5, 5), zeros(5, 4), array=(4, 4))
    entered = [line for line in str(report).splitlines() if " operand " in line and "t = " in line]
    assert entered and all(line.startswith(("S0: ", "S1: ")) for line in entered)
