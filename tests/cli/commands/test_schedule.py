"""`polyml schedule` and `polyml run --load`: saved by one command, replayed by the next, refused where they do not fit."""

import pytest

from tests.cli.running import run

KERNELS = """
SIZES = {"SMALL": {"N": 20, "M": 30}, "BIG": {"N": 200, "M": 300}}

def scale(x, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x

def inputs(size, rng):
    return {"x": 2.0, "A": rng.random((size["N"], size["M"]))}
"""
OTHER = """
def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "sized.py").write_text(KERNELS)
    (tmp_path / "other.py").write_text(OTHER)
    return tmp_path


def test_the_schedule_is_printed_as_loops():
    out, _ = run("schedule", "sized.py:scale", "--from", "source")
    assert out.splitlines() == [
        "schedule of scale, A_0 = A.shape[0], A_1 = A.shape[1]",
        "for i:",
        "    for j:",
        "        S0[i, j]: A[i, j] = A[i, j]*x",
    ]
    out, _ = run("schedule", "sized.py:scale")
    assert "for i_t = i - i % 32:  # tile, parallel" in out.splitlines()


def test_a_saved_schedule_is_loaded_proved_and_run(folder):
    out, err = run("schedule", "sized.py:scale", "--save", "s.txt", "--preset", "BIG")
    assert err.splitlines()[-1] == "written to s.txt" and (folder / "s.txt").read_text().startswith("polyml schedule, format 1\n")
    again, err = run("schedule", "sized.py:scale", "--load", "s.txt", "--save", "again.txt")
    assert again == out and "s.txt: every dependence is kept" in err.splitlines()
    assert (folder / "again.txt").read_text() == (folder / "s.txt").read_text()
    out, _ = run("run", "sized.py:scale", "--load", "s.txt", "--preset", "SMALL")
    assert out.split()[-2:] == ["compiled", "True"]


def test_a_schedule_that_was_edited_into_an_illegal_one_is_refused(folder):
    run("schedule", "other.py:prefix", "--save", "s.txt")
    text = (folder / "s.txt").read_text()
    assert "S0[i] -> [(i)]" in text
    (folder / "s.txt").write_text(text.replace("S0[i] -> [(i)]", "S0[i] -> [(-i)]"))
    for command in ("schedule", "run"):
        _, err = run(command, "other.py:prefix", "--load", "s.txt", code=1)
        assert "S0[2] must run after S0[1]" in err and "flow dependence through A, with A_0 = 3" in err


def test_a_schedule_of_another_kernel_and_a_damaged_one_are_refused(folder):
    run("schedule", "sized.py:scale", "--save", "s.txt")
    _, err = run("schedule", "other.py:prefix", "--load", "s.txt", code=2)
    assert "the schedule is for the kernel `scale`, not for `prefix`" in err
    (folder / "half.txt").write_text((folder / "s.txt").read_text()[:300])
    _, err = run("schedule", "sized.py:scale", "--load", "half.txt", code=2)
    assert "half.txt is damaged" in err


def test_files_that_are_not_there_are_named():
    _, err = run("schedule", "sized.py:scale", "--load", "none.txt", code=2)
    assert "none.txt" in err and "does not exist" in err
    _, err = run("schedule", "sized.py:scale", "--save", "no/folder.txt", code=2)
    assert "cannot be written to no/folder.txt" in err


def test_a_mapping_to_a_gpu_is_saved_edited_and_shown(folder):
    out, _ = run("schedule", "sized.py:scale", "--target", "cuda", "--save", "gpu.txt")
    assert out.splitlines()[1:3] == ["for i:  # grid(y, threads=8)", "    for j:  # grid(x, threads=32)"]
    tree, _ = run("show", "sized.py:scale", "--stage", "schedule", "--target", "cuda")
    assert 'mark: "loop j: grid(x, threads=32)"' in tree
    saved = folder / "gpu.txt"
    saved.write_text(saved.read_text().replace("threads=32", "threads=64"))
    text, _ = run("show", "sized.py:scale", "--stage", "cuda", "--load", "gpu.txt")
    assert "__launch_bounds__(512)" in text
    _, err = run("schedule", "sized.py:scale", "--load", "gpu.txt", code=2)
    assert "loop `i` has the directive grid(y, threads=8), which is for GPUs" in err


@pytest.mark.parametrize("words, message", [
    (["--stage", "ast", "--target", "cuda"], "'--target' goes with '--stage schedule' alone."),
    (["--stage", "ast", "--load", "gpu.txt"], "'--load' goes with '--stage' opencl, cuda, ptx, sass alone."),
])  # fmt: skip
def test_options_for_gpus_go_with_their_stages(words, message):
    _, err = run("show", "sized.py:scale", *words, code=2)
    assert message in err
