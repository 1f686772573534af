"""`polyml simulate`: what it prints, exit statuses, and that it compares values with the processor's."""

import json
from dataclasses import replace

import numpy as np
import pytest

from polyml.systolic.report import comparison
from polyml.systolic.report.comparison_text import picture
from tests.cli.running import run

SOURCE = """
import numpy as np
import polyml

SIZES = {"SMALL": {"M": 12, "N": 9, "K": 10}, "BIG": {"M": 40, "N": 30, "K": 20}}


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def inputs(size, rng):
    return {
        "A": rng.integers(-9, 9, (size["M"], size["K"])),
        "B": rng.integers(-9, 9, (size["K"], size["N"])),
        "C": rng.integers(-9, 9, (size["M"], size["N"])),
    }


@polyml.kernel(target=polyml.Target.systolic(rows=4, cols=6, dataflow="ws"))
def on_array(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
"""
FLOATS = """
import math

def twice(A, B, D):
    return A @ B @ D

def rooted(x, h, y):
    for i in range(y.shape[0]):
        for k in range(h.shape[0]):
            y[i] += math.sqrt(x[i + k]) * h[k]

def steps(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])

def copied(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i]
"""
TYPES = ["--arg", "A=f64[N,K]", "--arg", "B=f64[K,N]", "--arg", "D=f64[N,N]", "-D", "N=9", "-D", "K=7"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "sized.py").write_text(SOURCE)
    (tmp_path / "floats.py").write_text(FLOATS)
    return tmp_path


def simulated(*words, code=0):
    out, _ = run("simulate", *words, "--json", code=code)
    return json.loads(out)


def test_the_text_says_what_was_simulated():
    out, err = run("simulate", "sized.py:product", "--array", "4x4", "--dataflow", "os")
    assert err == "size SMALL of sized.py: M=12, N=9, K=10\n"
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "array 4 x 4 units, manhattan links; engine compiled" in lines
    assert "mapping os t = i + j + k, x = i, y = j" in lines
    cycles = 6 * (10 + 4 + 4 - 2) + 3 * (10 + 4 + 1 - 2)  # folds of 4 x 4 and of 4 x 1 units
    assert f"cycles {cycles} in 9 folds; 1,080 instances" in lines
    assert f"A[i, k] operand moves right (+y) t = i + k {12 * 10 * 3} 0" in lines
    assert f"B[k, j] operand moves down (+x) t = j + k {10 * 9 * 3} 0" in lines
    assert f"C[i, j] result stays {12 * 9} {12 * 9}" in lines
    assert f"total {cycles} cycles, {1080 / (16 * cycles):.1%} of the units' instances" in lines
    assert "values equal to the compiled kernel's" in lines
    assert any(line.startswith("speed ") and line.endswith("cycles/s simulated") for line in lines)


def test_sizes_presets_and_seeds_are_as_those_of_run():
    data = simulated("sized.py:product", "--preset", "BIG", "-D", "K=3", "--array", "8x8", "--seed", "7")
    assert data["sizes"]["A_1"] == 3 and data["sizes"]["C_0"] == 40
    assert data["agree"] and data["simulations"][0]["instances"] == 40 * 30 * 3


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("dataflow", ["os", "ws", "is", "auto"])
def test_both_engines_simulate_each_dataflow(dataflow, engine):
    data = simulated("sized.py:product", "--array", "5x3", "--dataflow", dataflow, "--engine", engine)
    (found,) = data["simulations"]
    (nest,) = found["nests"]
    assert found["values"] == {"agree": True, "error": 0.0, "ratio": 0.0, "output": "", "reason": "", "types": ""}
    assert sum(each["elements"] for each in nest["reads"] if each["text"] == "C[i, j]") >= 12 * 9 <= nest["writes"]
    assert data["engine"] == engine and dataflow in ("auto", nest["dataflow"])
    assert found["cycles"] == nest["cycles"] and found["seconds"] > 0
    assert found["cycles_per_s"] == pytest.approx(found["cycles"] / found["seconds"])


def test_every_mapping_is_simulated_where_all_are_asked_for():
    data = simulated("sized.py:product", "--array", "4x4", "--dataflow", "all")
    mappings = [s["nests"][0]["mapping"] for s in data["simulations"]]
    assert len(set(mappings)) == len(mappings) >= 3 and data["agree"]
    assert {s["nests"][0]["dataflow"] for s in data["simulations"]} == {"os", "ws", "is"}
    out, _ = run("simulate", "sized.py:product", "--array", "4x4", "--dataflow", "all")
    assert out.count("equal to the compiled kernel's") == len(mappings)
    assert sum(" agree " in line for line in out.splitlines()) == len(mappings)  # a line of the summary each


def test_diagonal_links_have_more_mappings():
    few = simulated("sized.py:product", "--array", "4x4", "--dataflow", "all")
    many = simulated(
        "sized.py:product", "--array", "4x4", "--dataflow", "all", "--links", "diagonal", "-D", "M=5", "-D", "N=4", "-D", "K=3"
    )
    assert many["links"] == "diagonal" and many["agree"]
    assert len(many["simulations"]) > len(few["simulations"])


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.sweep()
def test_wires_bring_operands_at_once(engine):
    words = ["sized.py:product", "--array", "4x4", "--links", "broadcast", "--engine", engine]
    data = simulated(*words, "--dataflow", "os")
    (nest,) = data["simulations"][0]["nests"]
    assert data["links"] == "broadcast" and data["agree"] and nest["mapping"] == "t = k, x = i, y = j"
    assert nest["cycles"] == 9 * 10  # folds of 4 x 4 and of 4 x 1 units, a term of each result in a cycle
    assert {each["text"]: each["elements"] for each in nest["reads"]}["A[i, k]"] == 12 * 10 * 3  # once for a row of units
    every = simulated(*words, "--dataflow", "all", "-D", "M=5", "-D", "N=6", "-D", "K=7")
    assert every["agree"] and len(every["simulations"]) > 20
    out, _ = run("simulate", *words, "--dataflow", "os", "--listing")
    assert "A[i, k] <- what is on the wire of its row" in out and "put A[i, k] on the wire of its row" in out


def test_a_mapping_may_be_written():
    data = simulated("sized.py:product", "--array", "4x4", "--mapping", "t = 2*i + j + k, x = i, y = j")
    ((nest,),) = ([s["nests"] for s in data["simulations"]],)
    assert nest[0]["mapping"] == "t = 2*i + j + k, x = i, y = j" and nest[0]["enters"]["A[i, k]"] == "t = 2*i + k"
    assert data["agree"]


def test_the_trace_is_the_units_at_work_in_each_cycle():
    data = simulated("sized.py:product", "--array", "4x4", "--dataflow", "os", "--trace")
    active = data["simulations"][0]["nests"][0]["active"]
    expected = []
    for rows, columns in [(4, min(4, 9 - 4 * block)) for _ in range(3) for block in range(3)]:
        for cycle in range(10 + rows + columns - 2):
            expected.append(sum(0 <= cycle - x - y < 10 for x in range(rows) for y in range(columns)))
    assert active == expected
    out, _ = run("simulate", "sized.py:product", "--array", "4x4", "--dataflow", "os", "--trace")
    assert "units at work, █ for all 16; a column for 1.88 cycles" in out


def test_a_picture_has_a_column_for_each_cycle_where_there_are_few():
    assert [*picture([0, 1, 8, 16], 16)] == ["  units at work, █ for all 16; a column for a cycle", "   ▁▄█", "  0  3"]
    assert [len(line) for line in picture([1] * 1000, 16)][1:] == [74, 74]


def test_the_listing_is_of_single_units():
    out, _ = run("simulate", "sized.py:product", "--array", "2x2", "-D", "M=2", "-D", "N=2", "-D", "K=2", "--listing")
    assert "  t = 1: load A[i, k] = A[0, 1]; load B[k, j] = B[1, 0]; drain C[0, 0] = S0" in out
    data = simulated("sized.py:product", "--array", "2x2", "-D", "M=2", "-D", "N=2", "-D", "K=2", "--listing")
    assert data["simulations"][0]["nests"][0]["listing"] in out and "unit [1, 1]:" in out


def test_the_listing_may_be_of_some_units():
    out, _ = run("simulate", "sized.py:product", "--array", "16x16", "--unit", "0,1", "--unit", "3, 2")
    assert [line for line in out.splitlines() if line.startswith("unit")] == ["unit [0, 1]:", "unit [3, 2]:"]
    own = out.split("unit [3, 2]:\n")[1].splitlines()[:2]  # A[3, 0] and B[0, 2] come from neighbours
    assert own == ["  t = 5: load C[i, j] = C[3, 2]", "  t = 14: drain C[3, 2] = S0"]
    out, _ = run("simulate", "sized.py:product", "--array", "3", "--unit", "2")
    assert "unit [2]:" in out


def test_the_array_of_a_kernel_s_target_is_taken():
    data = simulated("sized.py:on_array")
    assert data["array"] == [4, 6] and data["simulations"][0]["nests"][0]["dataflow"] == "ws"
    assert simulated("sized.py:on_array", "--array", "3x3", "--dataflow", "os")["array"] == [3, 3]


def test_a_run_of_a_kernel_with_a_target_is_simulated():
    out, _ = run("run", "sized.py:on_array", "--repeat", "1")
    assert "runs on     a systolic array of 4 x 6 units, manhattan links, dataflow ws" in out and out.startswith("C  ")
    plain, _ = run("run", "sized.py:product", "--repeat", "1")
    assert out.splitlines()[0] == plain.splitlines()[0]  # the changed argument in short


def test_a_machine_gives_the_array(folder):
    assert simulated("sized.py:product", "--machine", "gemmini")["array"] == [16, 16]
    (folder / "mine.toml").write_text(MINE)
    data = simulated("sized.py:product", "--machine", "mine.toml")
    assert data["machine"] == "mine" and data["array"] == [3, 5]


MINE = """kind = "systolic"
name = "mine"
frequency = "100 MHz"
[array]
rows = 3
columns = 5
number = "i16"
operand = "2 B"
[buffer]
size = "8 KiB"
[accumulators]
size = "1280 B"
word = "4 B"
"""


def test_nests_run_one_after_another():
    data = simulated("floats.py:twice", *TYPES, "--array", "4x4")
    (found,) = data["simulations"]
    assert len(found["nests"]) == 2 and found["cycles"] == sum(nest["cycles"] for nest in found["nests"])
    assert found["values"]["agree"] and found["values"]["ratio"] <= 1


def changed(by):
    def simulate(call, arguments, plans, engine="compiled"):
        found = original(call, arguments, plans, engine)
        if isinstance(found.result, np.ndarray):
            return replace(found, result=found.result * (1 + by[0]))
        arguments["C"][3, 2] += 1
        return found

    original = comparison.simulate
    return simulate


def test_wrong_values_are_status_1(monkeypatch):
    monkeypatch.setattr(comparison, "simulate", changed([0]))
    out, _ = run("simulate", "sized.py:product", "--array", "4x4", code=1)
    assert "values   WRONG: C differs from the compiled kernel's by up to 1\n" in out
    found = simulated("sized.py:product", "--array", "4x4", code=1)
    assert not found["agree"] and found["simulations"][0]["values"] == {
        "agree": False, "error": 1.0, "ratio": None, "output": "C", "reason": "", "types": ""}  # fmt: skip


def test_floats_are_wrong_beyond_the_rounding_bound(monkeypatch):
    by = [1e-9]
    monkeypatch.setattr(comparison, "simulate", changed(by))
    out, _ = run("simulate", "floats.py:twice", *TYPES, "--array", "4x4", code=1)
    assert "WRONG: what it returns differs" in out and "times the rounding bound" in out
    by[0] = 2.0**-51
    out, _ = run("simulate", "floats.py:twice", *TYPES, "--array", "4x4")
    assert "values   agree: what it returns differs" in out and "of the rounding bound" in out


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ["sized.py:product"],
            "error: a systolic array has rows and columns (expected an array such as 16x16, or a machine such as tpu-v1)",
        ),
        (
            ["sized.py:product", "--array", "4x4", "--unit", "4,0"],
            "error: there is no unit 4, 0 (expected a row and a column of 4 x 4, counted from 0)",
        ),
        (
            ["sized.py:product", "--array", "4x4", "--unit", "a"],
            "error: --unit does not take 'a' (expected a row and a column, counted from 0, as in 0,3, or a place in a row)",
        ),
        (
            ["sized.py:product", "--array", "100000x100000"],
            "error: an array of 10,000,000,000 units is too large to simulate (at most 16,777,216)",
        ),
        (
            ["sized.py:product", "--array", "4x4", "--mapping", "t = i + j + 9999999999*k, x = i, y = j"],
            "cycles are too many to simulate (at most 268,435,456; a report counts them without: `polyml report --target systolic`)",
        ),
        (
            ["sized.py:product", "--array", "4by4"],
            "error: --array does not take '4by4' (expected rows and columns, as in 16x16, or a length)",
        ),
        (
            ["sized.py:product", "--array", "²x4"],
            "error: --array does not take '²x4' (expected rows and columns, as in 16x16, or a length)",
        ),
        (
            ["sized.py:product", "--machine", "zen4"],
            "is no systolic array (expected a systolic array of `polyml machine --list`, or its file)",
        ),
        (["sized.py:product", "--machine", "nothing.toml"], "error: there is no file nothing.toml"),
        (["sized.py:product", "--array", "4x4", "-D", "Q=3"], "error: product has no size 'Q' (sizes: M, N, K)"),
        (["sized.py:product", "--array", "4x4", "--preset", "HUGE"], "error: sized.py has no size 'HUGE' (it has SMALL, BIG)"),
        (["sized.py:porduct", "--array", "4x4"], "error: sized.py has no function 'porduct' (did you mean product?"),
        (["sized.py:product", "--array", "4x4", "--mapping", "t = i, y = j"], "error: `t = i, y = j` is no mapping"),
        (
            ["sized.py:product", "--array", "4x4", "--mapping", "t = i + j + k, x = i, y = j", "--dataflow", "ws"],
            "error: every nest has its mapping: there is none of which dataflow ws is asked",
        ),
        (
            ["sized.py:product", "--array", "4x4", "--mapping", "t = i + j, x = i, y = j"],
            "error: S0[0, 0, 0] and S0[0, 0, 1] would run on one unit in one cycle",
        ),
        (["floats.py:steps", "--arg", "P=f64[4,4]", "--array", "4x4"], "P[i, k] is used "),
        (["floats.py:copied", "--array", "4x4"], "there is nothing for units to hand on"),
        (["floats.py:twice", "--arg", "A=f64[2,3]", "--arg", "B=f64[4,2]", "--arg", "D=f64[2,2]", "--array", "4x4"], "error: "),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_with_status_2_and_what_an_array_cannot_do_one_with_1(words, message):
    refused = words[0].startswith("floats.py") or "t = i + j, x = i, y = j" in words
    out, err = run("simulate", *words, code=1 if refused else 2)
    line = err.strip().splitlines()[-1]
    assert out == "" and message in line
    assert all(each.startswith("size ") or "(--arg changes it)" in each for each in err.strip().splitlines()[:-1])


def test_a_bound_that_is_not_known_is_told(monkeypatch):
    words = ["floats.py:rooted", "--arg", "x=f64[20]", "--arg", "h=f64[4]", "--arg", "y=f64[17]", "--array", "4"]
    run("simulate", *words, "--fp", "strict")  # in the source's order, bit for bit
    monkeypatch.setattr(comparison, "values", with_an_ulp(comparison.values))
    out, _ = run("simulate", *words, code=1)
    assert "not known to agree: y differs" in out and "no rounding bound is known of `sqrt`" in out


BOUNDED = (
    FLOATS
    + """
SIZES = {"SMALL": {"N": 17}}

def inputs(size, rng):
    return {"x": rng.random(size["N"] + 3), "h": rng.random(4), "y": rng.random(size["N"])}

def terms(size):
    return 4 + 3

def magnitude(x, h, y):
    return {"y": y + sum(h[k] * x[k : k + y.size] ** 0.5 for k in range(4))}
"""
)


def test_terms_and_magnitudes_of_the_file_are_its_bound(folder, monkeypatch):
    (folder / "bounded.py").write_text(BOUNDED)
    original = comparison.values
    monkeypatch.setattr(comparison, "values", with_an_ulp(original))
    out, _ = run("simulate", "bounded.py:rooted", "--array", "4")
    assert "values   agree: y differs" in out and "of the rounding bound" in out
    (folder / "broken.py").write_text(BOUNDED.replace("h[k] * x", "g[k] * x"))
    monkeypatch.setattr(comparison, "values", with_an_ulp(original))
    _, err = run("simulate", "broken.py:rooted", "--array", "4", code=2)
    assert "error: broken.py does not bound rounding errors: NameError: name 'g' is not defined (expected terms(size)" in err
    monkeypatch.setattr(comparison, "values", with_an_ulp(original, 1000))
    out, _ = run("simulate", "bounded.py:rooted", "--array", "4", code=1)
    assert "WRONG: y differs" in out and "times the rounding bound" in out


def with_an_ulp(values, number=1):
    calls = []

    def changed(arguments, returned):
        calls.append(arguments)
        if len(calls) == 2:  # what was simulated
            arguments["y"][3] += number * np.spacing(arguments["y"][3])
        return values(arguments, returned)

    return changed
