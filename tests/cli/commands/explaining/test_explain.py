"""`polyml explain` and `polyml schedule --json`: each form is what its readers parse, and bad input is a clear error."""

import json

import pytest

from tests.cli.running import run

KERNELS = """
def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]

def scale(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0

def printed(A):
    print(A)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(KERNELS)
    return tmp_path


def test_the_text_has_the_loops():
    out, _ = run("explain", "k.py:prefix")
    assert "  k.py:3 for i in range(1, A.shape[0]):  # i" in out.splitlines()
    assert "    - parallel      its iterations depend on each other: flow dependence through A[1]: A[i] at i = 1 (line 4)" in out


def test_json_is_the_same_by_both_options():
    out, _ = run("explain", "k.py:prefix", "--json")
    again, _ = run("explain", "k.py:prefix", "--format", "json")
    assert json.loads(out) == json.loads(again) and json.loads(out)["kernel"] == "prefix"


def test_each_form_of_a_kernel_that_is_not_compiled_says_where_and_why(folder):
    out, _ = run("explain", "k.py:printed", "--format", "gcc")
    assert out.startswith(f"{folder}/k.py:11:5: remark: runs as plain Python: ") and out.rstrip().endswith("[missed: PML-F010]")
    log = json.loads(run("explain", "k.py:printed", "--format", "sarif")[0])
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["PML-F010"]
    found = json.loads(run("explain", "k.py:printed", "--json")[0])
    assert found["loops"] == [] and found["python"][0]["place"]["line"] == 11
    assert "plain Python (PML-F010)" in run("explain", "k.py:printed", "--annotate")[0]
    assert "PML-F010" in run("explain", "k.py:printed", "--format", "html")[0]


def test_two_saved_files_are_compared(folder):
    for name, options in (("old.json", ()), ("new.json", ("--schedule", "source"))):
        (folder / name).write_text(run("explain", "k.py:scale", "--json", *options)[0])
    out, _ = run("explain", "--diff", "old.json", "new.json")
    assert "  - parallel passed: its iterations go to threads, 1024 at a time" in out.splitlines()
    assert any(
        line.startswith("  + parallel missed: its iterations are independent; the program keeps the source order")
        for line in out.splitlines()
    )
    assert run("explain", "--diff", "old.json", "old.json")[0] == "no difference\n"


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "explain which kernel?"),
        (("k.py:scale", "--annotate", "--format", "sarif"), "--annotate prints text, and --format sarif asks for another form"),
        (("k.py:scale", "--diff", "k.py", "k.py"), "--diff OLD NEW compares two saved files"),
        (("--diff", "k.py", "k.py"), "k.py is not JSON"),
        (("--diff", "nothing.json", "k.py"), "nothing.json"),
        (("k.py:none",), "has no function"),
    ],
)
def test_bad_input_is_an_error(words, message):
    _, err = run("explain", *words, code=2)
    assert message in err and "Traceback" not in err


def test_a_schedule_as_json_has_its_loops():
    found = json.loads(run("schedule", "k.py:scale", "--from", "source", "--json")[0])
    [loop] = found["loops"]
    assert (found["kernel"], loop["loop"], loop["directives"]) == ("scale", "i", [])
    assert loop["body"] == [{"statement": "S0", "text": "A[i] = A[i]*2.0"}] and loop["counts"]["S0"].endswith("S0[i] -> [(i)] }")
    found = json.loads(run("schedule", "k.py:scale", "--json")[0])
    assert [(each["loop"], each["directives"]) for each in found["loops"]] == [("i_t", ["tile", "parallel"])]


def test_sizes_that_are_asked_for_decide(folder):
    (folder / "m.py").write_text(
        "def mm(C, A, B):\n    for i in range(C.shape[0]):\n        for j in range(C.shape[1]):\n"
        "            for k in range(A.shape[1]):\n                C[i, j] += A[i, k] * B[k, j]\n"
    )
    types = ("--arg", "C=f64[N,N]", "--arg", "A=f64[N,N]", "--arg", "B=f64[N,N]")
    unknown, sized = run("explain", "m.py:mm", *types)[0], run("explain", "m.py:mm", *types, "-D", "N=60")[0]
    assert "contraction S0: i rows of 60, " in sized and "contraction S0: i rows of ?, " in unknown
