"""`benchmarks.irregular`: what is parallel is independent, wrong results are told, and the table says what was measured."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import benchmarks.irregular as benchmark
from benchmarks.interleaved_processes import Failed
from benchmarks.irregular import Job, NotWhole, Row, heading, line, prepare, reason_of_plain, summary
from benchmarks.numba_source import numba_source
from polyml.kernels.irregular import functions

PARALLEL = [case for case in functions().values() if case.parallel]


def job_of(case, folder, preset="SMALL"):
    """Returns polyml's job on a case, with what the reference wants in a file."""
    expected = folder / "expected.pickle"
    expected.write_bytes(pickle.dumps(case.reference(*case.arguments(preset, benchmark.SEED))))
    return Job("polyml", case.name, 1, preset, str(expected))


@pytest.mark.parametrize("case", PARALLEL, ids=lambda case: case.name)
def test_a_parallel_loop_may_run_backwards(case):
    import math

    names = {"np": np, "math": math, "prange": lambda *bounds: reversed(range(*bounds))}
    text = numba_source(case.function, (case.parallel,), "float64")
    exec(text, names)
    assert "prange" in text
    assert benchmark.outcome(case, names[case.name], "SMALL") == ""


def test_a_kernel_that_is_compiled_whole_is_prepared_and_timed(tmp_path):
    case = functions()["floyd_warshall_with_ways"]
    ready, turn = prepare(job_of(case, tmp_path))
    assert ready == benchmark.Ready("")
    assert turn() > 0


def test_a_wrong_result_is_told(tmp_path, monkeypatch):
    case = functions()["floyd_warshall_with_ways"]
    wrong = replace(case, reference=lambda distance, following: {"distance": distance, "following": following})
    monkeypatch.setattr(benchmark, "functions", lambda: {case.name: wrong})
    found = prepare(job_of(wrong, tmp_path))
    assert isinstance(found, Failed)
    assert "SMALL: distance:" in found.reason


def test_a_function_that_is_not_compiled_whole_has_no_time_but_the_reason(tmp_path, monkeypatch):
    def refused(case, threads):
        raise NotWhole("a while loop is not static control")

    monkeypatch.setattr(benchmark, "polyml_form", refused)
    found = prepare(job_of(functions()["csr_matvec"], tmp_path))
    assert found == Failed("plain", "a while loop is not static control")


def test_the_reason_is_the_error_that_explain_gives_first():
    plain = "f (a.py:1): runs as plain Python for (int)\n  a.py:2:5: error: a while loop is not static control\n        while x:"
    assert reason_of_plain(plain) == "a while loop is not static control"
    assert reason_of_plain("f (a.py:1): runs as plain Python") == "runs as plain Python"
    assert reason_of_plain("f (a.py:1): compiled\n  x: int") == ""


def test_the_table_has_times_ratios_and_reasons():
    whole = Row("sums", True, {"polyml": 0.001, "numba": 0.002}, {"polyml": "", "numba": "njit"}, {"numba": 2.0})
    refused = Row("walks", False, {"numba": 0.003}, {"numba": "njit"}, {}, {"polyml": "plain: a while loop"})
    assert heading(["numba"]).split() == ["function", "whole", "polyml", "numba", "form", "ratio", "notes"]
    assert line(whole, ["numba"]).split() == ["sums", "yes", "1.000", "2.000", "njit", "2.00"]
    assert line(refused, ["numba"]).split()[:4] == ["walks", "no", "3.000", "njit"]
    assert line(refused, ["numba"]).endswith("polyml plain: a while loop")
    assert summary([whole, refused], ["numba"]) == [
        "1 of 2 functions are compiled whole",
        "numba / polyml: geometric mean 2.00 of 1, least 2.00 (sums)",
    ]
