"""The engine of `polyml bench`."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import array_compile_time, compile_time
from polyml import kernels
from polyml.cli.commands import bench_runner
from polyml.cli.inputs.command_specs import BenchSpec
from polyml.errors import ConfigError, NotAffineError
from polyml.pipeline.passes import PASSES


def test_a_row_says_how_fast_and_how_right(monkeypatch):
    times = bench_runner.CompileTimes(import_s=0.1, libraries_s=0.2, compile_s=0.3, stages={}, peak_mb=90.0, cached_s=0.01)
    monkeypatch.setattr(bench_runner, "compile_times", lambda name, dtype, preset: times)
    seen = []
    spec = BenchSpec("mini", threads=1, repeat=2)
    (row,) = bench_runner.run(["gemm"], spec, on_kernel=lambda count, name: seen.append((count, name)))
    assert seen == [(0, "gemm")] and row.ok and row.failure == ""
    assert (row.kernel, row.preset, row.dtype, row.threads) == ("gemm", "MINI", "float64", 1)
    assert row.size == {"NI": 20, "NJ": 25, "NK": 30} and row.compile == times
    assert row.rate == pytest.approx((20 * 25 + 20 * 30 + 2 * 20 * 25 * 30) / row.run_s / 1e9)
    assert row.unit == "GFLOP/s" and row.numpy_ratio == row.numpy_s / row.run_s


def test_checking_takes_no_times_and_integers_keep_their_type():
    rows = bench_runner.run(["2mm", "nussinov"], BenchSpec("MINI", dtype="float32", check_only=True))
    assert [r.dtype for r in rows] == ["float32", "int32"]
    assert all(r.ok and r.run_s is None and r.compile is None and r.numpy_ratio is None for r in rows)
    assert rows[0].error > 0.0 and rows[1].error == 0.0


def test_a_kernel_without_a_numpy_form_is_checked_and_not_compared():
    (row,) = bench_runner.run(["seidel-2d"], BenchSpec("MINI", check_only=True))
    assert row.ok and row.numpy_s is None


def test_a_wrong_result_is_not_ok(monkeypatch):
    gemm = kernels.load("gemm")
    wrong = replace(gemm, reference=lambda *a: {"C": gemm.reference(*a)["C"] + 1e-9})
    monkeypatch.setattr(kernels, "load", lambda name: wrong)
    (row,) = bench_runner.run(["gemm"], BenchSpec("MINI", check_only=True))
    assert not row.ok and row.bound_ratio > 1.0 and row.failure == ""


def test_a_kernel_that_does_not_compile_is_a_row_with_the_error(monkeypatch):
    class Refusing:
        def __call__(self, *arguments):
            raise NotAffineError("subscript is not affine")

    monkeypatch.setattr(bench_runner, "Kernel", lambda function, settings: Refusing())
    (row,) = bench_runner.run(["gemm"], BenchSpec("MINI"))
    assert not row.ok and row.failure == "error: subscript is not affine" and row.run_s is None


@pytest.mark.parametrize("names, preset, message", [
    (["gem"], "MINI", "there is no kernel named 'gem'"),
    (["gemm"], "HUGE", "there is no size set named 'HUGE'"),
])  # fmt: skip
def test_names_that_do_not_exist_are_refused(names, preset, message):
    with pytest.raises(ConfigError, match=message):
        bench_runner.run(names, BenchSpec(preset))


def test_arguments_are_put_back_before_every_run():
    def double(A):
        A *= 2

    runner = bench_runner.Runner(double, {"A": np.ones(3)})
    assert [runner.run()[1]["A"].tolist() for _ in range(2)] == [[2.0] * 3] * 2


def test_the_memory_of_a_compiling_process_is_not_that_of_its_parent():
    ballast = np.ones(75_000_000)  # 600 MB
    assert bench_runner.compile_times("jacobi_1d").peak_mb < 500.0 < ballast.nbytes / 1e6


def test_compile_times_come_from_new_processes(tmp_path, capsys):
    file = tmp_path / "times.json"
    assert compile_time.main(["--kernels", "jacobi-1d", "--repeat", "1", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    (row,) = found["rows"]
    times, summary = row["times"], found["summary"]
    assert row["kernel"] == "jacobi_1d" and summary["compiled"] == summary["of"] == 1
    assert 0.0 < sum(times["stages"].values()) <= times["compile_s"] == summary["compile_median_s"]
    assert times["cached_s"] < times["compile_s"] and 10.0 < times["peak_mb"] < 500.0
    assert 0.0 < summary["call_s"] < 1e-4
    assert "cold compile: median" in capsys.readouterr().out


def test_parts_of_compiling_array_programs_add_up_to_the_whole(tmp_path, capsys):
    file = tmp_path / "times.json"
    array_compile_time.main(["--programs", "sobel", "jacobi_1d", "--repeat", "1", "--json", str(file)])
    found = json.loads(file.read_text())
    assert {row["program"] for row in found["rows"]} == {"sobel", "jacobi_1d"}
    for row in found["rows"]:
        assert row["seconds"] == pytest.approx(sum(row["parts"].values())) and {*row["parts"]} <= {*found["shares"]}
    assert sum(found["shares"].values()) == pytest.approx(1)
    assert found["shares"]["schedule"] > 0 < found["shares"]["LLVM text"] and "2 programs" in capsys.readouterr().out


def test_every_pass_is_in_a_part():
    stages = {(step.stage, step.name) for step in PASSES if step.stage}
    assert {array_compile_time.part_of(*each) for each in stages} <= {*array_compile_time.PARTS}
