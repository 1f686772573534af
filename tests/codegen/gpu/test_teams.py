"""Threads that share loops, in three orders on NumPy arrays, against the kernel as plain Python."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.gpu.teams import Barrier
from polyml.codegen.interpreter import launches
from polyml.codegen.interpreter.teams import BarrierDivergence, run_block
from polyml.codegen.ir.program import every
from polyml.schedule.gpu.launch_plan import planned, planned_as_written
from tests.gpu.mapping import problem

RNG = np.random.default_rng(5)


def numbers(*shape):
    return RNG.integers(-9, 9, shape).astype(float)  # sums of these are exact in any order


def total(A):
    s = 1.0
    for i in range(A.shape[0]):
        s += A[i]
    return s


def whole(A):
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += A[i, j]
    return s


def columns(A, t):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            t[j] += A[i, j]


def matvec(A, x, y):
    for i in range(A.shape[0]):
        y[i] = 3.0
        for k in range(A.shape[1]):
            y[i] += A[i, k] * x[k]
        y[i] = y[i] * 2.0


def triangle(A, y):
    for i in range(A.shape[0]):
        for k in range(i):
            y[i] -= A[i, k]


def extremes(A, low, high):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            low[i] = min(low[i], A[i, k])
            high[i] = A[i, k] if A[i, k] > high[i] else high[i]


def filters(X, Y, W):
    for a in range(W.shape[0]):
        for n in range(X.shape[0]):
            for i in range(Y.shape[1]):
                for j in range(Y.shape[2]):
                    W[a] += X[n, i, j + a] * Y[n, i, j]


def chained(A, s, x):
    for t in range(s.shape[0]):
        for i in range(A.shape[0]):
            s[t] += A[i] * x[t]
        x[t + 1] = s[t] - 100.0 * t


def shifted(A, B):
    s = 0.0
    for t in range(B.shape[0]):
        for i in range(A.shape[0]):
            s += A[i] * t
        B[t] = s
        for i in range(1, A.shape[0]):
            A[i] = s - B[t] + i


CASES = [
    (total, (numbers(700),)),
    (whole, (numbers(20, 37),)),
    (columns, (numbers(40, 35), numbers(35))),
    (matvec, (numbers(19, 70), numbers(70), numbers(19))),
    (matvec, (numbers(3, 0), numbers(0), numbers(3))),
    (triangle, (numbers(20, 20), numbers(20))),
    (extremes, (numbers(5, 40), numbers(5), numbers(5))),
    (filters, (numbers(2, 3, 12), numbers(2, 3, 9), numbers(3))),
    (chained, (numbers(40) // 8, numbers(4), numbers(5))),
    (shifted, (numbers(9), numbers(3))),
]  # fmt: skip
CHOICES = {
    "host": None,
    "plain": lambda choice, values: ((choice.plain,), 1),
    "team": lambda choice, values: ((choice.team,), 1),
    "split": lambda choice, values: (choice.split or (choice.team,), 3),
}


def program(function, arrays, plan=planned):
    given, _ = problem(function, *arrays)
    return given.scop, gpu_program(given.scop, plan(given.scop, given.dependences, given.reductions))


@pytest.mark.sweep(keep=10)
@pytest.mark.parametrize("plan", [planned, planned_as_written])
@pytest.mark.parametrize("function, arrays", CASES, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(CASES)])
def test_threads_that_share_loops_compute_what_python_does(function, arrays, plan):
    wanted = [a.copy() for a in arrays]
    result = function(*wanted)
    scop, made = program(function, arrays, plan)
    for choose in CHOICES.values():
        for order in ("source", "reversed", "shuffled"):
            found = [a.copy() for a in arrays]
            assert launches.run(made, dict(zip(scop.params, found)), order=order, seed=3, choose=choose) == result
            assert all(np.array_equal(a, b) for a, b in zip(found, wanted))


@pytest.mark.parametrize("function", [total, whole, columns, matvec, triangle, extremes, filters, chained])
def test_updates_in_any_order_have_teams(function):
    arrays = next(a for f, a in CASES if f is function)
    assert program(function, arrays, planned_as_written)[1].choices


def test_sums_in_the_source_s_order_have_none():
    given, _ = problem(total, numbers(9))
    assert not gpu_program(given.scop, planned(given.scop, given.dependences, {})).choices


def test_a_team_waits_where_a_dependence_crosses_its_threads():
    _, made = program(chained, (numbers(40), numbers(4), numbers(5)))
    (choice,) = made.choices.values()
    barriers = [node for node in every(made.launches[choice.team].team.order) if isinstance(node, Barrier)]
    assert len(barriers) == 1 and not choice.split  # all threads read the x that the first one wrote in the iteration before


def test_what_one_thread_alone_touches_needs_no_barrier():
    _, made = program(matvec, (numbers(4, 5), numbers(5), numbers(4)))
    (choice,) = made.choices.values()
    assert not [node for node in every(made.launches[choice.team].team.order) if isinstance(node, Barrier)]
    assert choice.split == ("matvec_0_partial", "matvec_0_join")


def test_a_barrier_that_some_threads_do_not_reach_is_told():
    class Stops:
        code = type("Code", (), {"order": ()})()

        def __init__(self, names):
            self.names = names

        def nodes(self, order, env):
            yield from self.names[env["n"]]

    block = Stops([["a"], []])
    with pytest.raises(BarrierDivergence, match="k: "):
        run_block(block, "k", [{"n": 0}, {"n": 1}])
