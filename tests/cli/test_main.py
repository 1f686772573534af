"""The commands, as a user types them: what they print, and that errors come without a traceback."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import polyml
from polyml.cli import main
from tests.cli.running import run

LOOPS = """
import numpy as np

def smooth(A, B, n):
    for i in range(1, n - 1):
        B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
    return B

def scatter(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] + np.unique(A + 1j).size

def outside(A):
    for i in range(A.shape[0]):
        A[i] = A[i + 1]

def broken(A):
    for i in range(3):
        A[i] = open("x")

def fails(A):
    raise ValueError("as its author wrote it")
"""
WITH_INPUTS = """
SIZES = {"SMALL": {"N": 4, "M": 6}, "BIG": {"N": 40, "M": 60}}

def scale(x, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x

def inputs(size, rng):
    return {"x": 2.0, "A": rng.random((size["N"], size["M"]))}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "loops.py").write_text(LOOPS)
    (tmp_path / "sized.py").write_text(WITH_INPUTS)
    return tmp_path


def test_run_prints_what_changed_and_what_was_returned():
    out, err = run("run", "loops.py:smooth", "--arg", "A=f64[:]", "--arg", "B=f64[n]", "--arg", "n=50", "-D", "n=50")
    assert err == ""
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines["B"].startswith("float64[50] min ") and lines["returned"] == lines["B"]
    assert lines["compiled"] == "True" and lines["first"].endswith("ms")


def test_run_says_what_it_guessed():
    _, err = run("run", "loops.py:smooth", "-D", "n=10")
    assert err.splitlines() == [
        "A: f64[:], subscripted with 1 index (--arg changes it)",
        "B: f64[:], subscripted with 1 index (--arg changes it)",
        "n: int, used in a bound or a subscript (--arg changes it)",
    ]


def test_run_takes_sizes_and_inputs_from_the_file():
    out, err = run("run", "sized.py", "-D", "M=5", "--json")
    found = json.loads(out)
    assert found["size"] == {"N": 4, "M": 5} and found["changed"]["A"].startswith("float64[4, 5] ")
    _, err = run("run", "sized.py:scale")
    assert err == "size SMALL of sized.py: N=4, M=6\n"
    out, err = run("run", "sized.py:scale", "--preset", "big")
    assert "float64[40, 60]" in out and err == ""


def test_a_wrong_size_preset_or_argument_is_named_with_what_exists():
    assert run("run", "sized.py:scale", "-D", "K=5", code=2)[1] == ("error: scale has no size 'K'\n  note: sizes: N, M\n")
    assert run("run", "sized.py:scale", "--preset", "HUGE", code=2)[1] == (
        "error: sized.py has no size 'HUGE'\n  note: it has SMALL, BIG\n"
    )
    assert run("run", "loops.py:smooth", "--preset", "BIG", code=2)[1] == (
        "error: --preset BIG needs SIZES and inputs(size, rng) in loops.py, and no --arg\n"
        "  note: without them: --arg 'A=f64[N,M]' -D N=100 -D M=200\n"
    )
    assert run("run", "loops.py:smooth", "--arg", "C=f64[3]", code=2)[1] == (
        "error: smooth has no parameter 'C'\n  note: it has A, B, n\n"
    )


def test_sizes_without_presets_are_refused(folder):
    (folder / "flat.py").write_text(
        WITH_INPUTS.replace('{"SMALL": {"N": 4, "M": 6}, "BIG": {"N": 40, "M": 60}}', '{"N": 4, "M": 6}')
    )
    assert run("run", "flat.py:scale", code=2)[1] == (
        'error: SIZES of flat.py has no sizes by name\n  note: expected presets, as in SIZES = {"LARGE": {"N": 1000}}\n'
    )


def test_inputs_that_do_not_fit_the_kernel_are_refused(folder):
    (folder / "wrong.py").write_text(WITH_INPUTS.replace('"x": 2.0, ', ""))
    assert run("run", "wrong.py:scale", code=2)[1] == (
        "error: inputs(size, rng) of wrong.py does not fit scale\n  note: it gives A\n  note: expected a dict with x, A\n"
    )


def test_an_index_error_has_the_line_and_a_caret():
    _, err = run("run", "loops.py:outside", "--arg", "A=f64[7]", code=1)
    assert "loops.py:15:16: error: `A[i + 1]` is out of bounds: index 7 in dimension 0 of size 7\n" in err
    assert "              A[i] = A[i + 1]\n                     ^^^^^^^^\n" in err


def test_a_kernel_outside_the_language_is_refused_with_a_caret():
    _, err = run("run", "loops.py:broken", code=1)
    assert "loops.py:19:16: error: " in err and "^^^^^^^^" in err


def test_what_is_not_affine_runs_as_python_and_says_so():
    with pytest.warns(UserWarning, match="runs as plain Python"):
        out, _ = run("run", "loops.py:scatter", "--arg", "A=f64[9]", "--arg", "B=f64[100]")
    assert "compiled    False" in out
    out, _ = run("explain", "loops.py:scatter")
    assert "runs as plain Python" in out and "^^^^" in out


def test_what_a_kernel_raises_as_python_is_reported_without_a_traceback(folder):
    (folder / "raising.py").write_text(
        "import numpy as np\ndef f(A, B):\n    for i in range(A.shape[0]):\n        B[i * i] = np.unique(A + 1j).size\n"
    )
    with pytest.warns(UserWarning, match="runs as plain Python"):
        _, err = run("run", "raising.py", "--arg", "A=f64[9]", "--arg", "B=f64[10]", code=1)
    told = "raising.py:4:9: error: f raised IndexError: index 16 is out of bounds for axis 0 with size 10"
    assert err.splitlines()[-3:] == [
        told,
        "              B[i * i] = np.unique(A + 1j).size",
        "              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    "stage, text",
    [
        ("kernel", "smooth"),
        ("domain", "{ S0[i] :"),
        ("deps", "flow"),
        ("schedule", "S0[i]"),
        ("ast", "for c0 in range("),
        ("llvm", "define i64"),
        ("asm", ".text"),
    ],
)
def test_show_prints_every_stage(stage, text):
    out, _ = run("show", "loops.py:smooth", "--stage", stage)
    assert text in out
    data = json.loads(run("show", "loops.py:smooth", "--stage", stage, "--json")[0])
    assert isinstance(data, dict) and data


def test_show_shows_the_types_that_were_asked_for():
    types = ("--type", "A=f32[:]", "--type", "B=f32[:]", "--type", "n=int")
    out, err = run("show", "loops.py:smooth", "--stage", "domain", *types)
    assert "A: f32[:]" in out and err == ""
    out, _ = run("show", "loops.py:smooth", "--stage", "schedule", "--schedule", "source")
    assert "parallel" not in out


def test_an_unknown_stage_is_refused_by_the_parser():
    _, err = run("show", "loops.py:smooth", "--stage", "tree", code=2)
    assert "'tree' is not one of 'kernel', 'domain', 'deps', 'schedule', 'ast', 'llvm', 'asm'" in err


def test_explain_says_what_was_compiled():
    out, _ = run("explain", "sized.py:scale", "--fp", "strict")
    assert "scale (sized.py:4): compiled" in out and "fp strict" in out and "A: f64[:, :], written" in out


def test_doctor_reports_every_part_and_passes():
    found = json.loads(run("doctor", "--json")[0])
    assert list(found) == [
        "polyml",
        "python",
        "islpy",
        "llvmlite",
        "numpy",
        "ml_dtypes",
        "cpu",
        "vectors",
        "caches",
        "cores",
        "threads",
        "openmp",
        "cache",
        "defects",
        "settings",
        "self-test",
    ]
    assert found["self-test"] == "ok" and found["numpy"] == np.__version__ and found["cache"]["writable"]
    out, _ = run("doctor")
    assert "in a pool of its own" in out and "a kernel compiles and is right" in out


def test_doctor_names_a_cache_folder_that_cannot_be_written(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("POLYML_CACHE_DIR", str(folder / "file" / "cache"))
    out, _ = run("doctor", code=1)
    assert "not writable" in out


def test_doctor_finds_openmp_runtimes_in_the_memory_map():
    from polyml.cli.commands.doctor import loaded_openmp

    maps = "\n".join(
        [
            "7f00 r-xp 0 00:00 1 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0",
            "7f01 r-xp 0 00:00 1 /venv/lib/torch/lib/libgomp-a34b3233.so.1",
            "7f02 r-xp 0 00:00 1 /opt/intel/libiomp5.so",
            "7f03 r-xp 0 00:00 1 /usr/lib/libompute.so",
            "7f04 r-xp 0 00:00 1 [heap]",
        ]
    )
    assert loaded_openmp(maps) == ["libgomp-a34b3233.so.1", "libgomp.so.1.0.0", "libiomp5.so"]


def test_cache_counts_verifies_and_clears():
    run("run", "sized.py:scale")
    before = json.loads(run("cache", "info", "--json")[0])
    assert before["entries"] == 2 and before["size_bytes"] > 0  # the kernel and its schedule
    assert run("cache", "verify")[0] == "2 entries read, 0 damaged\n"
    assert run("cache", "clear")[0].startswith("removed 2 entries, ")
    assert json.loads(run("cache", "info", "--json")[0])["entries"] == 0


def test_cache_switched_off_is_an_error(monkeypatch):
    monkeypatch.setenv("POLYML_CACHE", "0")
    assert run("cache", "info", code=2)[1] == ("error: the cache is switched off\n  note: POLYML_CACHE=1 switches it on\n")


def test_a_cache_that_others_can_write_is_not_looked_into(folder):
    (folder / "cache").mkdir()
    (folder / "cache").chmod(0o777)
    for command in ("info", "verify", "clear"):
        assert run("cache", command, code=2)[1] == (
            f"error: the cache is not used: {folder}/cache can be written by other users (its mode is 0777), who could put code "
            "there that this process would run\n  note: a folder of your own that only you may write to is (mode 0700)\n"
        )
    assert "not used: " in run("doctor", code=1)[0]


def test_a_cache_folder_is_named_from_the_root(monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", "~/polyml")
    assert run("cache", "info", code=2)[1] == (
        "error: the setting `POLYML_CACHE_DIR` does not take '~/polyml'\n"
        "  note: it takes the absolute path of a folder (/home/me/polyml, not ~/polyml), or None\n"
    )


def test_bench_checks_a_kernel():
    out, _ = run("bench", "jacobi-2d", "--preset", "MINI", "--check-only")
    heading, names, row = out.splitlines()[:3]
    assert heading.startswith("MINI, ") and names.split()[0] == "kernel"
    assert row.split()[0] == "jacobi_2d" and row.split()[-1] == "ok"


def test_bench_times_a_kernel(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(polyml.__file__).parents[1]))  # for the processes it starts
    row = json.loads(run("bench", "gemm", "--preset", "MINI", "--repeat", "1", "--json")[0])[0]
    assert row["ok"] and row["run_s"] > 0 and row["compile"]["compile_s"] > 0 and row["unit"] == "GFLOP/s"


def test_bench_names_unknown_kernels_and_presets():
    assert run("bench", "gem", "--preset", "MINI", code=2)[1].startswith("error: there is no kernel named 'gem'")
    assert "MINI, SMALL" in run("bench", "gemm", "--preset", "TINY", code=2)[1]


def test_an_internal_error_is_one_line_with_the_way_to_the_traceback(monkeypatch):
    import polyml.cli.commands.cache

    def boom(as_json):
        raise RuntimeError("boom")

    monkeypatch.setattr(polyml.cli.commands.cache, "info", boom)
    _, err = run("cache", "info", code=3)
    assert err == "error: RuntimeError: boom\n  note: a defect of polyml; `polyml --traceback cache ...` shows where\n"
    result = CliRunner().invoke(main, ["--traceback", "cache", "info"])
    assert isinstance(result.exception, RuntimeError)


def test_version_and_unknown_commands():
    assert run("--version")[0].startswith("polyml ")
    assert "Did you mean 'bench'?" in run("benhc", code=2)[1]


def test_bench_says_what_hinders_numpy(monkeypatch):
    monkeypatch.delenv("OPENBLAS_L2_SIZE", raising=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    _, err = run("bench", "gemm", "--preset", "MINI", "--check-only")
    assert "OPENBLAS_CORETYPE overrides which code it chooses" in err
