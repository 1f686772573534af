"""Teams that run rows of several launches, in three orders on NumPy arrays, against the kernel as plain Python."""

import numpy as np
import pytest

from polyml.codegen.gpu.rows import row_teams
from polyml.codegen.gpu.rows.row_teams import RowPhase
from polyml.codegen.gpu.teams import Barrier
from polyml.codegen.interpreter import launches
from tests.codegen.gpu.test_teams import numbers, program


def centred(x, y):
    for i in range(x.shape[0]):
        m = x[i, 0] * 0
        for j in range(x.shape[1]):
            m += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 8 - m


def in_place(x, most, total):
    for i in range(x.shape[0]):
        most[i] = x[i, 0]
        for j in range(1, x.shape[1]):
            most[i] = max(most[i], x[i, j])
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] - most[i]
            total[i] += x[i, j]
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * total[i]


def shifted(x, y, z):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2
            s += x[i, j]
        for j in range(1, x.shape[1]):
            z[i, j] = y[i, j - 1] + s


def lower(x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i + 1):
            s += x[i, j]
        for j in range(i, x.shape[1]):
            y[i, j] = s + x[i, j]


def batches(x, y):
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            s = 0.0
            for j in range(x.shape[2]):
                s += x[b, i, j]
            for j in range(x.shape[2]):
                y[b, i, j] = x[b, i, j] + s


def steps(x, s, c):
    for t in range(s.shape[0]):
        for i in range(x.shape[0]):
            s[t, i] = c[t]
            for j in range(x.shape[1]):
                s[t, i] += x[i, j]
            for j in range(x.shape[1]):
                x[i, j] = x[i, j] - s[t, i]
        c[t + 1] = s[t, 0]


CASES = [
    (centred, (numbers(3, 21), numbers(3, 21))),
    (centred, (numbers(2, 1), numbers(2, 1))),
    (in_place, (numbers(3, 18), numbers(3), numbers(3))),
    (shifted, (numbers(3, 14), numbers(3, 14), numbers(3, 14))),
    (lower, (numbers(9, 9), numbers(9, 9))),
    (batches, (numbers(2, 3, 11), numbers(2, 3, 11))),
    (steps, (numbers(3, 9), np.zeros((2, 3)), numbers(3))),
]


@pytest.fixture(autouse=True)
def small_teams(monkeypatch):
    """Teams of few threads: two of a row, four, and three for rows of any length."""
    monkeypatch.setattr(row_teams, "VARIANTS", ((2, 24), (4, 12)))
    monkeypatch.setattr(row_teams, "LONG", ((2, 9), (3, 0)))


@pytest.mark.parametrize("function, arrays", CASES, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(CASES)])
def test_teams_that_run_rows_compute_what_python_does(function, arrays):
    wanted = [a.copy() for a in arrays]
    function(*wanted)
    scop, made = program(function, arrays)
    choice = next(iter(made.rows.values()))
    for variant in choice.variants:
        for order in ("source", "reversed", "shuffled"):
            found = [a.copy() for a in arrays]
            launches.run(made, dict(zip(scop.params, found)), order=order, seed=3, choose_rows=lambda *_, name=variant.name: name)
            assert all(np.array_equal(a, b) for a, b in zip(found, wanted)), variant


def code_of(function, arrays, number=0):
    _, made = program(function, arrays)
    return made.launches[next(iter(made.rows.values())).variants[number].name].team


def test_a_thread_that_reads_what_it_wrote_needs_no_barrier():
    assert not [node for node in code_of(*CASES[0], -1).order if isinstance(node, Barrier)]


def test_a_team_waits_before_it_writes_what_all_its_threads_read():
    for number, before in ((0, "drain_x"), (-1, "phase_2")):
        (barrier,) = [node for node in code_of(*CASES[2], number).order if isinstance(node, Barrier)]
        assert barrier.before == before


def test_a_team_waits_where_a_thread_reads_what_its_neighbour_wrote():
    (barrier,) = [node for node in code_of(*CASES[3]).order if isinstance(node, Barrier)]
    assert barrier.before


def test_a_row_is_loaded_and_stored_once():
    code = code_of(*CASES[2])
    moves = [(phase.move.array, phase.move.is_fill) for phase in code.phases.values() if phase.move]
    assert moves == [("x", True), ("total", True), ("x", False), ("most", False), ("total", False)]
    assert code.held == {"x": 12, "most": 0, "total": 0}


def test_what_a_row_alone_uses_stays_in_registers():
    code = code_of(*CASES[0])
    assert code.stored == () and all(isinstance(phase, RowPhase) and not phase.alone for phase in code.phases.values())


def test_rows_are_chosen_by_their_length_and_number():
    _, made = program(*CASES[0])
    choice = next(iter(made.rows.values()))
    sizes = {name: 0 for name in (*choice.trips.names, *(name for each in choice.rows for name in each.names))}
    longest, rows = next(iter(choice.trips.names)), next(iter(choice.rows[0].names))
    assert choice.chosen({**sizes, longest: 8, rows: 5000}) is None
    assert choice.chosen({**sizes, longest: 20, rows: 5000}).endswith("_rows_2x12")
    assert choice.chosen({**sizes, longest: 2000, rows: 5000}).endswith("_rows_3")
    assert choice.chosen({**sizes, longest: 1 << 20, rows: 1}) is None
    assert made.runs(choice.members[-1], {**sizes, longest: 20, rows: 5000}) == [] or len(choice.members) == 1
