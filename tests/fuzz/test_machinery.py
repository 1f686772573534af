"""The fuzzer finds what it is meant to find: planted defects, crashes, endless loops, and orders out of bounds."""

import dataclasses
import random

import numpy as np
import pytest

from polyml.schedule.gpu.launch_plan import planned
from tests.fuzz import engines
from tests.fuzz.affine import Var, affine, room, text
from tests.fuzz.campaign import small
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tests.fuzz.oracle import Bounds, Run, bounds, difference, expected, is_defined
from tests.fuzz.program import Argument, Program, function, lay_out, make_arguments
from tests.fuzz.worker import Worker
from tests.gpu.mapping import problem

SUM = Program(
    "sum",
    "def kernel(A, R):\n    for i in range(A.shape[0]):\n        R[0] += A[i] * 0.1\n",
    (Argument("A", "f64", ("N",)), Argument("R", "f64", ("1",))),
    ({"N": 500},),
)


def run_of(arrays, values=()):
    return Run(tuple(arrays), tuple(values), False)


def planted(change):
    """An engine that runs Python and then changes the first array argument."""

    def prepare(kernel, _):
        def runner(*arguments):
            result = kernel(*arguments)
            change(next(a for a in arguments if isinstance(a, np.ndarray)))
            return result

        return runner

    return engines.Engine("planted", prepare)


def test_the_same_seed_gives_the_same_program_and_inputs():
    for seed in range(20):
        first, second = program(seed), program(seed)
        assert first == second == Program.from_json(first.to_json())
        for a, b in zip(make_arguments(first, 0), make_arguments(second, 0)):
            np.testing.assert_array_equal(a, b)


def test_most_programs_stay_in_bounds_and_some_leave_them():
    errors = [type(expected(program(seed), 0).error) for seed in range(150)]
    assert errors.count(type(None)) > 120 and IndexError in errors
    assert set(errors) <= {type(None), IndexError, OverflowError, ZeroDivisionError}


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "offset"])
def test_layouts_hold_the_same_values(layout):
    values = np.arange(12.0).reshape(3, 4)
    made = lay_out(values, layout)
    np.testing.assert_array_equal(made, values)
    assert made.flags.c_contiguous == (layout in ("C", "offset")) and made.flags.aligned == (layout != "offset")


def test_room_is_the_range_of_constants_that_stay_inside():
    scope = {"i": Var.make("i", 1, affine(-2, N=1)), "j": Var.make("j", 0, affine(-1, M=1))}
    assert room(affine(0, i=1), affine(0, N=1), scope) == range(-1, 2)
    assert room(affine(-1, i=-1, N=1), affine(0, N=1), scope) == range(-1, 2)
    assert not room(affine(0, j=1), affine(0, N=1), scope)
    assert text(affine(-1, i=-2, N=1), {"N": "A.shape[0]"}) == "A.shape[0] - 2 * i - 1"


def test_any_order_of_a_sum_is_within_the_bound_and_a_lost_term_is_not():
    within = bounds(SUM, 0)
    arguments = make_arguments(SUM, 0)
    terms = arguments[0] * 0.1
    want = expected(SUM, 0)
    for order in (np.sort(terms), np.sort(terms)[::-1], terms[np.random.default_rng(1).permutation(500)]):
        total = arguments[1].copy()
        for term in order:
            total += term
        assert difference(want, run_of((arguments[0], total)), within, "AR") == ""
    lost = want.arrays[1] - terms[3]
    assert difference(want, run_of((arguments[0], lost)), within, "AR").startswith("argument R: 1 of 1 elements differ")


def test_cancellation_keeps_the_bound_of_the_terms_not_of_the_result():
    source = "def kernel(R):\n    s = 0.0\n    for i in range(40):\n        s += 1e15 * (i + 0.3)\n"
    source += "        s -= 1e15 * i\n    R[0] = s\n"
    made = bounds(Program("c", source, (Argument("R", "f64", ("1",)),), ({},)), 0)
    assert made.arrays[0][0] > 1.0


def test_a_comparison_that_rounding_decides_has_no_bound():
    source = "def kernel(R):\n    s = 0.1 + R[0] - R[0]\n    if s > 0.1:\n        R[0] = 1.0\n"
    arguments = (Argument("R", "f64", ("1",)),)
    decided = source.replace("s > 0.1", "s > 0.2")
    assert bounds(Program("d", source, arguments, ({},)), 0).unstable == "comparison"
    assert bounds(Program("d", decided, arguments, ({},)), 0).unstable == ""


def test_strict_comparison_sees_one_bit_and_the_sign_of_zero_but_not_which_nan():
    want = run_of([np.array([1.0, 0.0, np.nan])])
    other_nan = np.array([1.0, 0.0, -np.nan])
    assert difference(want, run_of([other_nan]), None, "A") == ""
    next_up = np.array([np.nextafter(1.0, 2.0), 0.0, np.nan])
    assert "1 of 3 elements differ, first [0]" in difference(want, run_of([next_up]), None, "A")
    assert "first [1]" in difference(want, run_of([np.array([1.0, -0.0, np.nan])]), None, "A")


def test_a_returned_value_of_another_type_is_a_difference():
    found = difference(run_of([], [np.float32(1)]), run_of([], [np.float64(1)]), None, "")
    assert found == "returned value 0: float64[], not float32[]"


def test_a_python_number_may_come_back_in_a_numpy_type_if_it_is_the_same_number():
    def found(want, got):
        return difference(run_of([], [want]), run_of([], [got]), None, "")

    assert found(0, np.int16(0)) == found(2, np.float32(2)) == found(True, np.int8(1)) == ""
    assert found(0, np.int16(1)) == "returned value 0: int16[], not int64[]"
    assert found(0, np.float32(-0.0)) == "returned value 0: float32[], not int64[]"
    assert found(np.int64(0), np.int16(0)) == "returned value 0: int16[], not int64[]"
    assert found(np.int16(0), 0) == "returned value 0: int64[], not int16[]"
    assert found(0.0, 0) == "returned value 0: int64[], not float64[]"


def test_reading_np_empty_makes_a_program_undefined():
    source = "def kernel(A):\n    T = np.empty(3)\n    {fill}A[0] = T[1]\n"
    arguments = (Argument("A", "f64", ("3",)),)
    assert not is_defined(Program("e", source.format(fill=""), arguments, ({},)))
    assert is_defined(Program("e", source.format(fill="T[1] = 2.0\n    "), arguments, ({},)))


@pytest.mark.parametrize("kept", ["min(T[1], 1.0)", "max(T[1], 1.0)", "min(T[1] + T[1], 2.0)"])
@pytest.mark.parametrize("element", ["float16", "float64", "int8", "uint8"])
def test_what_is_left_in_memory_is_seen_where_the_least_or_greatest_number_is_kept(kept, element):
    source = f"def kernel(A):\n    T = np.empty(3, dtype=np.{element})\n    A[0] = {kept}\n"
    assert not is_defined(Program("e", source, (Argument("A", "f64", ("1",)),), ({},)))


def test_a_planted_wrong_value_is_found(monkeypatch):
    def bump(array):
        array.flat[-1] += 1

    monkeypatch.setitem(engines.ENGINES, "planted", planted(bump))
    outcome = check(SUM, ["planted"])
    assert (outcome.kind, outcome.reason, outcome.run) == ("failed", "value", 0)
    assert outcome.detail.startswith("argument A: 1 of 500 elements differ, first [499]")


def test_an_engine_that_does_not_raise_is_found(monkeypatch):
    outside = dataclasses.replace(SUM, source=SUM.source.replace("A[i]", "A[i + 1]"))
    monkeypatch.setitem(engines.ENGINES, "quiet", engines.Engine("quiet", lambda f, p: lambda *a: None))
    assert check(outside, ["quiet"]).reason == "did not raise"


def test_a_crash_is_reported_with_its_signal_and_the_next_program_still_runs():
    crashing = dataclasses.replace(SUM, source="import ctypes\ndef kernel(A, R):\n    ctypes.string_at(0)\n")
    worker = Worker()
    try:
        assert worker.check(crashing, [])["reason"] == "crash SIGSEGV"
        assert worker.check(SUM, [])["kind"] == "ok"
    finally:
        worker.close()


def test_an_endless_program_is_reported():
    endless = dataclasses.replace(SUM, source="def kernel(A, R):\n    while True:\n        pass\n")
    worker = Worker(timeout_s=1.5)
    try:
        assert worker.check(endless, [])["reason"] == "timeout"
    finally:
        worker.close()


def test_a_failing_program_shrinks_to_what_makes_it_fail():
    source = """\
def kernel(A, B):
    import ctypes
    for i in range(1, A.shape[0]):
        B[i] = A[i] + 2.0 * A[i - 1]
        for j in range(A.shape[0]):
            if j > 3:
                A[j] = A[j] * 0.5 + B[i]
            else:
                A[j] = ctypes.string_at(0)
    return A, B
"""
    arguments = (Argument("A", "f64", ("N",), layout="strided"), Argument("B", "f64", ("N",)))
    failing = Program("crash", source, arguments, ({"N": 9}, {"N": 4}))
    worker = Worker()
    outcome = worker.check(failing, [])
    worker.close()
    shrunk, last = small(failing, outcome, [])
    assert last["reason"] == outcome["reason"] == "crash SIGSEGV"
    assert len(shrunk.source.splitlines()) <= 4 and "string_at(0)" in shrunk.source
    assert len(shrunk.sizes) == 1 and all(a.layout == "C" for a in shrunk.arguments)


def test_the_source_of_a_program_is_known_to_inspect():
    import inspect

    made = program(random.Random(5).randrange(100))
    assert inspect.getsource(function(made)).strip() == made.source.strip()


def test_nan_and_infinity_that_came_in_must_come_out_and_an_overflow_may_go_either_way():
    source = "def kernel(A, R):\n    s = 0.0\n    for i in range(A.shape[0]):\n        s += A[i]\n    R[0] = s\n"
    made = Program("n", source, (Argument("A", "f32", ("3",)), Argument("R", "f32", ("1",))), ({},))

    def error_for(*values):
        def arguments(program, run):
            return [np.array(values, np.float32), np.zeros(1, np.float32)]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.fuzz.oracle.make_arguments", arguments)
            within = bounds(made, 0)
        return Bounds((None, within.arrays[1]), ())

    nan, infinite, huge = error_for(1, np.nan, 2), error_for(1, np.inf, 2), error_for(3e38, 3e38, -3e38)

    def accepts(within, want, got):
        runs = (run_of([None, np.array([x], np.float32)]) for x in (want, got))
        return difference(*runs, within, "AR") == ""

    assert accepts(nan, np.nan, np.nan) and not accepts(nan, np.nan, 3.0)
    assert accepts(infinite, np.inf, np.inf) and not accepts(infinite, np.inf, np.nan)
    assert not accepts(infinite, np.inf, -np.inf)
    assert accepts(huge, np.inf, 3e38)


def plans(template, seeds):
    """The programs' launches as the default of GPUs plans them."""
    for seed in seeds:
        made = program(seed, template)
        given = problem(function(made), *make_arguments(made, 0))[0]
        yield planned(given.scop, given.dependences, given.reductions)


def test_most_programs_of_rows_are_run_by_teams():
    found = [any(launch.rows is not None for launch in each) for each in plans("rows", range(40))]
    assert sum(found) >= 20


def test_most_sums_of_products_have_merged_loops():
    found = [any(axis.merged for launch in each for axis in launch.axes) for each in plans("sums_of_products", range(40))]
    assert sum(found) >= 20
