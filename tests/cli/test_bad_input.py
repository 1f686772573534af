"""What is typed and what files hold that no one should trust: one error with place and remedy, exit status 2."""

import os
import re

import pytest

from polyml.api.target import Target
from polyml.errors import ConfigError
from polyml.measure import lookup
from tests.cli.running import run

PRODUCT = """
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
"""
SIZED = """
SIZES = {"SMALL": {"N": 4}}

def scale(A):
    for i in range(A.shape[0]):
        A[i] *= 2

def inputs(size, rng):
    return {"A": rng.random(size["N"])}
"""
MANY = "9" * 5000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "k.py").write_text(PRODUCT)
    (tmp_path / "sized.py").write_text(SIZED)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@pytest.mark.parametrize(
    "words, message",
    [
        (["run", "k.py", "-D", "N=1__0"], "-D does not take 'N=1__0'"),
        (["run", "k.py", "-D", "N=²"], "-D does not take 'N=²'"),
        (["run", "k.py", "-D", f"N={MANY}"], "(5,002 characters)"),
        (["run", "k.py", "--arg", "A=f64[N//0]", "-D", "N=3"], "it divides by zero"),
        (["run", "k.py", "--arg", f"A=f64[{'(' * 150}N{')' * 150}]"], "has no value"),
        (["run", "k.py", "--arg", f"A=f64[{MANY},2]"], "has no value"),
        (["run", "k.py", "--arg", f"A=f64[{'9' * 100},2]"], "at most 64 bits"),
        (["run", "k.py", "--arg", "A=f64[" + "1," * 65 + "]"], "A has 65 dimensions"),
        (["run", "k.py", "--arg", "A=f64[1000000,1000000]"], "the arrays take 8e+03 GB, which is more memory than there is"),
        (["run", "k.py", "--arg", f"A={'-' * 100_000}1"], "describes no argument"),
        (["run", "sized.py", "-D", "N=-3"], "sized.py makes no inputs of N=-3: ValueError"),
        (["run", "k.py", "--seed", "-1"], "'-1' is no whole number from 0"),
        (["run", "k.py", "--seed", "٣"], "is no whole number from 0"),
        (["run", "k.py", "--repeat", MANY], "is no whole number from 0"),
        (["run", "k.py", "--threads", "257"], "from 0 to 256"),
        (["run", "x" * 300], "there is no file"),
        (["run", "fifo"], "fifo is a FIFO, not a regular file"),
        (["run", "folder"], "folder is a folder, not a regular file"),
        (["run", "/dev/zero"], "/dev/zero is a device, not a regular file"),
        (["run", "k.py", "--load", "fifo"], "fifo is a FIFO, not a regular file"),
        (["run", "k.py", "--load", "/dev/zero"], "/dev/zero is a device, not a regular file"),
        (["report", "k.py", "--cache", "32K:²:64"], "'32K:²:64' is no cache"),
        (["report", "k.py", "--cache", f"{MANY}:8:64"], "is no size"),
        (["report", "k.py", "--cache", ",".join(["32K:8:64"] * 5000)], "there are 5,000 levels of caches"),
        (["report", "k.py", "--no-simulation", "--tile", ",".join(["4"] * 30)], "there are 30 tile sizes and 3 loops"),
        (["report", "k.py", "--tile", ",".join(["4"] * 5000)], "--tile does not take"),
        (["report", "k.py", "--tile", MANY], "--tile does not take"),
        (["report", "k.py", "--target", "cuda", "--block", "4,²"], "--block does not take '4,²'"),
        (["report", "k.py", "--target", "systolic", "--array", f"4x{MANY}"], "--array does not take"),
        (
            ["report", "k.py", "--target", "systolic", "--array", "4x4", "--mapping", f"t = {'9' * 100}*{'9' * 100}*i, x = j"],
            "has coefficients beyond",
        ),
        (["report", "k.py", "--target", "systolic", "--array", "4x4", "--mapping", "t = " + "(" * 100_000], "is no mapping"),
        (["machine", "x" * 5000], "there is no machine"),
        (["machine", "fifo"], "fifo is a FIFO"),
        (["machine", "/dev/zero"], "/dev/zero is a device"),
        (["cache", "x" * 100_000], "characters) ..."),
    ],
)
def test_bad_words_are_one_error_and_status_2(words, message):
    _, err = run(*words, code=2)
    assert message in err and "defect" not in err and max(map(len, err.splitlines())) < 2_000


@pytest.mark.parametrize(
    "statement, message",
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("def f(): f()\nf()", "RecursionError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise type('E', (Exception,), {'__str__': lambda e: 1 / 0})", "bad.py cannot be imported: E"),
        ("x = (", "SyntaxError"),
        ("SIZES = {1: {}}", "has no sizes by name"),
        ("SIZES = {'A': {'N': 'x'}}", "has no sizes by name"),
        ("inputs = lambda size, rng: exit(3)", "makes no inputs of N=4: SystemExit: 3"),
        ("inputs = lambda size, rng: {1: 2}", "it gives 1"),
    ],
)
def test_what_a_kernels_file_does_is_told_with_its_name(folder, statement, message):
    (folder / "bad.py").write_text(f"{SIZED}\n{statement}\n")
    _, err = run("run", "bad.py:scale", code=2)
    assert message in err and "bad.py" in err


def test_errors_in_files_have_the_form_that_editors_parse(folder, capfd):
    """FILE:LINE:COLUMN: error: MESSAGE, for each kind of file that a user writes."""
    run("schedule", "sized.py:scale", "--save", "s.txt")
    lines = (folder / "s.txt").read_text().splitlines()
    tree = lines.index("tree:")
    (folder / "bad.txt").write_text("\n".join([*lines[: tree + 2], lines[tree + 2].replace(":", ""), *lines[tree + 3 :]]) + "\n")
    (folder / "worse.txt").write_text("\n".join([*lines[:3], "sizes: many", *lines[4:]]) + "\n")
    (folder / "import.py").write_text("def f(A):\n    A[0] = 1\n\n\nx = 1 / 0\n")
    (folder / "syntax.py").write_text("def f(A):\n    x = = 1\n")
    (folder / "m.toml").write_text('kind = "cpu"\nisa = "vax"\n')
    (folder / "square.py").write_text("import numpy as np\ndef f(A):\n    A[0] = np.unique(A + 1j).size\n")
    (folder / "outside.py").write_text("def f(A):\n    for i in range(A.shape[0]):\n        A[i + 1] = 0.0\n")
    (folder / "text.kernel").write_text("polyml kernel, format 1\ndef f(A: f64[:]):\n    for i in\n")
    for words, code, place in (
        (["schedule", "sized.py:scale", "--load", "bad.txt"], 2, f"bad.txt:{tree + 3}:3"),
        (["schedule", "sized.py:scale", "--load", "worse.txt"], 2, "worse.txt:4:1"),
        (["run", "import.py", "--arg", "A=f64[3]"], 2, "import.py:5:1"),
        (["run", "syntax.py", "--arg", "A=f64[3]"], 2, "syntax.py:2:9"),
        (["machine", "m.toml"], 2, "m.toml:2:1"),
        (["show", "square.py", "--arg", "A=f64[N]", "--stage", "llvm"], 1, "square.py:3:12"),
        (["run", "outside.py", "--arg", "A=f64[3]"], 1, "outside.py:3:9"),
        (["show", "--from", "text.kernel", "--stage", "ast"], 2, "text.kernel:3:13"),
    ):
        _, err = run(*words, code=code)
        assert any(re.match(rf"(.*/)?{re.escape(place)}: error: \S", line) for line in err.splitlines()), (words, err)


def test_a_schedule_that_would_take_isl_down_is_refused_before_it_sees_it(folder):
    run("schedule", "sized.py:scale", "--save", "s.txt")
    text = (folder / "s.txt").read_text()
    for nested in (f"{'(' * 100_000}i{')' * 100_000}", "9*" * 100_000 + "i", f"i mod {2**63}"):
        (folder / "bad.txt").write_text(text.replace("S0[i] -> [(i)]", f"S0[i] -> [({nested})]"))
        _, err = run("schedule", "sized.py:scale", "--load", "bad.txt", code=2)
        assert "bad.txt is damaged: line" in err and (any(word in err for word in ("nested deeper", "longer", "64 bits")))


def test_a_domain_of_which_isl_would_make_more_pieces_than_memory_holds_is_refused(folder):
    run("schedule", "sized.py:scale", "--save", "s.txt")
    text = (folder / "s.txt").read_text()
    many = " and ".join(f"(A_0 mod {k} = 0 or i mod {k + 1} = 1)" for k in range(2, 60))
    assert "S0[i] : 0 <= i < " in text
    (folder / "bad.txt").write_text(text.replace("S0[i] : 0 <= i < ", f"S0[i] : {many} and 0 <= i < "))
    _, err = run("schedule", "sized.py:scale", "--load", "bad.txt", code=2)
    assert "takes too long to read" in err


@pytest.mark.parametrize(
    "text, message",
    [
        ("kind = " + "[" * 1_000, "nested deeper than 20 levels"),
        ("kind = \n" + "[\n" * 5_000, "bad.toml"),
        (f"cores = {MANY}", "bad.toml"),
        ("a." * 5_000 + "a = 1", "longer than"),
        ("a." * 500 + "a = 1", "501 keys in one"),
        (f'vector = "{MANY} B"', "bad.toml"),
        ("\0", "this is no TOML"),
        ('kind = "cpu"\n' * 2, "this is no TOML"),
    ],
)
def test_bad_machine_files_are_one_error(folder, text, message):
    (folder / "bad.toml").write_text(text)
    _, err = run("machine", "bad.toml", code=2)
    assert message in err and len(err) < 2_000


def test_files_are_written_whole_or_stay_as_they_are(folder, monkeypatch):
    kept = folder / "kept.txt"
    kept.write_text("before")
    kept.chmod(0o640)
    run("schedule", "sized.py:scale", "--save", "kept.txt")
    assert kept.read_text().startswith("polyml schedule") and kept.stat().st_mode & 0o777 == 0o640
    kept.write_text("before")

    def full(*names):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        _, err = run("schedule", "sized.py:scale", "--save", "kept.txt", code=2)
    assert "cannot be written to kept.txt: No space left on device" in err and kept.read_text() == "before"
    assert not [path for path in folder.iterdir() if path.name.startswith(".polyml")]
    for place in ("/dev/full", "fifo", "folder", "no/such.txt", "x" * 300):
        _, err = run("schedule", "sized.py:scale", "--save", place, code=2)
        assert "the schedule cannot be written to " in err


@pytest.mark.parametrize(
    "given",
    [
        {"rows": 10**30},
        {"rows": 2**31 + 1},
        {"rows": 4, "cols": "4"},
        {"rows": 4, "dataflow": ["os"]},
        {"machine": 7},
        {"machine": b"x"},
    ],
)
def test_targets_of_impossible_arrays_are_refused(given):
    with pytest.raises(ConfigError):
        Target.systolic(**given)


@pytest.mark.parametrize("name", ["a\0b", None, 7, "fifo", "x" * 300 + ".toml", "\ud800/x"])
def test_machines_of_impossible_names_are_refused(name):
    with pytest.raises(ConfigError):
        lookup.find(name)
