"""A fixed part of `python -m tests.irregular`, and that the check finds what it is for."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from polyml.model.index_arrays import partial_scatters
from polyml.pipeline.regions import shared_loops
from tests.irregular.check import check, checked, difference
from tests.irregular.generate import Program, features, program
from tests.irregular.run import script
from tests.irregular.shrink import shrink

HAS_SCIPY = importlib.util.find_spec("scipy") is not None
SUM = Program(
    0,
    """def kernel(x, col):
    s = 0.0
    k = 0
    while k < len(col):
        s += x[col[k]]
        x[k] = s
        k += 1
    return s, k
""",
    ("x", "col"),
    (("np.array([1.5, 2.5, 0.25])", "np.array([2, 0])"),),
)


@pytest.mark.parametrize("first", range(1, 41, 8))
def test_programs_of_which_data_decide_the_control_do_what_python_does(first):
    seeds = (seed for seed in range(first, first + 8) if HAS_SCIPY or not program(seed).uses_scipy)
    found = {seed: checked(seed).difference for seed in seeds}
    assert not any(found.values()), {seed: text for seed, text in found.items() if text}


def test_a_program_is_the_same_always_and_its_script_runs(capsys, monkeypatch):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", shared_loops.LEAST_WORK)  # so that what the script sets ends with the test
    monkeypatch.setattr(partial_scatters, "LEAST_ITERATIONS", partial_scatters.LEAST_ITERATIONS)
    assert program(7) == program(7) != program(8)
    exec(compile(script(SUM), "<script>", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "(np.float64(0.5), 2) [array([0.25, 0.5 , 0.25]), array([2, 0])]"
    assert "strict 3 " + lines[0] in lines


def test_programs_have_all_constructs():
    found = set().union(*(features(program(seed).source) for seed in range(300)))
    assert found >= {
        "while", "while True", "while on elements", "break", "continue", "raise", "assert", "for else", "while else", "return in a loop",
        "bounds from data", "step not 1", "gather", "nested gather", "scatter", "gather in a matrix", "swap", "elif",
        "carried scalar", "zeros", "empty", "min", "max", "abs", "sqrt", "FloorDiv", "Mod", "BitAnd", "BitOr", "BitXor",
        "injective", "monotonic", "within", "function inside", "recursion", "Lambda", "List", "ListComp", "MatMult", "mask",
        "sort", "argsort", "searchsorted", "bincount", "repeat", "LShift", "RShift", "chained comparison", "BoolOp", "Not", "loops in each other", "loop variable read after",
    }  # fmt: skip


def _wrong_result(ran):
    return replace(ran, result=(ran.result[0] + 1.0, ran.result[1]))


def _wrong_type(ran):
    return replace(ran, result=(float(ran.result[0]), ran.result[1]))


def _wrong_memory(ran):
    ran.arguments[0][2] += 1.0
    return ran


def _last_bit(ran):
    ran.arguments[0][1] = np.nextafter(ran.arguments[0][1], 9.0)
    return ran


@pytest.mark.parametrize(
    "changed, found",
    [
        (_wrong_result, "call 0, fp strict, threads 1: result[0] is np.float64(1.5), Python's np.float64(0.5)"),
        (_wrong_type, "call 0, fp strict, threads 1: result[0] is a float (0.5), Python's a float64 (np.float64(0.5))"),
        (
            _wrong_memory,
            "call 0, fp strict, threads 1: arguments[0] is array([0.25, 0.5 , 1.25]), Python's array([0.25, 0.5 , 0.25])",
        ),
        (_last_bit, "call 0, fp strict, threads 1: arguments[0] is array([0.25, 0.5 , 0.25]), Python's array([0.25, 0.5 , 0.25])"),
        (lambda ran: replace(ran, error=IndexError("no")), "call 0, fp strict, threads 1: raised IndexError('no'), Python None"),
    ],
)
def test_a_planted_difference_is_found(changed, found):
    assert check(SUM).difference == ""
    assert check(SUM, changed).difference == found


def test_what_python_raises_has_to_be_raised_with_memory_as_python_left_it():
    outside = replace(SUM, calls=(("np.array([1.5, 2.5, 0.25])", "np.array([2, 9])"),))
    outcome = check(outside)
    assert (outcome.difference, outcome.raised) == ("", ("IndexError",))
    assert "raised None, Python IndexError" in check(outside, lambda ran: replace(ran, error=None)).difference
    assert "raised ValueError('no'), Python" in check(outside, lambda ran: replace(ran, error=ValueError("no"))).difference
    assert "arguments[0] is" in check(outside, _wrong_memory).difference


def test_bits_are_compared_where_floats_are_strict_alone():
    a = np.array([1.0, np.nan, 0.0])
    assert not difference("a", a, np.array([1.0, -np.nan, 0.0]), True)
    assert difference("a", a, np.array([1.0, np.nan, -0.0]), True)
    assert difference("a", a, np.array([1.0 + 1e-15, np.nan, 0.0]), True)
    assert not difference("a", a, np.array([1.0 + 1e-15, np.nan, 0.0]), False)
    assert difference("a", a, np.array([1.0 + 1e-6, np.nan, 0.0]), False)
    assert difference("a", a, np.float32(a), False) and difference("n", 1, True, False) and difference("n", 1, 2, False)


def test_a_difference_is_shown_by_a_smaller_program(monkeypatch):
    def wrong_where_k_grows(case, changed=lambda ran: ran):
        return check(case, _wrong_memory) if "k += 1" in case.source and "x[k]" in case.source else check(case)

    monkeypatch.setattr("tests.irregular.shrink.check", wrong_where_k_grows)
    smaller = shrink(SUM, budget=60)
    assert "return" not in smaller.source and "k += 1" in smaller.source and "x[k]" in smaller.source
