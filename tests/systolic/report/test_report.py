"""Reports on systolic arrays: their numbers, in all three forms, from Python and from the command; what is refused."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import polyml
from polyml.errors import ConfigError, IllegalSchedule
from polyml.measure import lookup
from tests.cli.running import run
from tests.systolic.designs import batched, fir, layer, matmul, matvec, triangular, zeros
from tests.systolic.joint import trsv


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def two_products(A, B, D):
    return A @ B @ D


def reported(function, *args, **options):
    return polyml.kernel(function, cache=False).report(*args, target="systolic", **options)


@pytest.fixture(scope="module")
def report():
    return reported(gemm, zeros(64, 96), zeros(96, 48), zeros(64, 48), array=(16, 16))


def test_a_product_s_numbers(report):
    (nest,) = report.nests
    assert (nest.nest.name, nest.nest.boundary) == ("S1", ("S0",))
    assert {p.dataflow for p in nest.plans} == {"os", "ws", "is"}
    assert [p.folds.cycles for p in nest.plans] == sorted(p.folds.cycles for p in nest.plans)
    best, padded = nest.best.folds, nest.best.padded
    assert nest.best.dataflow == "os" and best.number == 12
    assert best.cycles == padded.cycles == report.cycles == 12 * (96 + 16 + 16 - 2)
    assert report.utilisation == best.utilisation == 64 * 48 * 96 / (256 * report.cycles)
    traffic = {t.stream.use.text: (t.reads, t.writes) for t in best.traffic}
    assert traffic == {"A[i, k]": (64 * 96 * 3, 0), "B[k, j]": (96 * 48 * 4, 0), "C[i, j]": (0, 64 * 48)}
    assert report.moved == 64 * 96 + 96 * 48 + 64 * 48  # the memory behind the buffer, of any size


def test_the_text_says_it(report):
    text = str(report)
    assert "array    16 x 16 units, manhattan links" in text
    assert "S0 where values enter or leave" in text
    assert "os  t = i + j + k, x = i, y = j" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "A[i, k] operand moves right (+y) t = i + k 18,432 0 16 0 1" in lines
    assert "B[k, j] operand moves down (+x) t = j + k 18,432 0 16 0 1" in lines
    assert "C[i, j] result stays 0 3,072 0 16 2" in lines
    assert "after the last fold results take 16 cycles more to leave: " in text
    assert sum(line.startswith(("os ", "ws ", "is ")) for line in lines) == 2  # the best and its runner-up


def test_json_has_the_same_numbers(report):
    data = json.loads(json.dumps(report.data()))
    assert (data["version"], data["target"], data["array"]) == (1, "systolic", [16, 16])
    assert data["cycles"]["value"] == report.cycles and "exact" in data["cycles"]["accuracy"]
    best = data["nests"][0]["mappings"][0]
    assert (best["dataflow"], best["mapping"]) == ("os", "t = i + j + k, x = i, y = j")
    assert best["enters"] == {"A[i, k]": "t = i + k", "B[k, j]": "t = j + k"}
    assert best["exact"]["cycles"] == best["padded"]["cycles"] == report.cycles
    (alike,) = best["exact"]["classes"]
    assert alike == {"number": 12, "instances": 24576, "units": 256, "compute_cycles": 126, "preload_cycles": 0}
    assert {s["text"]: s["stays"] for s in best["streams"]} == {"C[i, j]": True, "A[i, k]": False, "B[k, j]": False}
    assert {m["dataflow"] for m in data["nests"][0]["mappings"]} == {"os", "ws", "is"}


def test_a_notebook_shows_a_page(report):
    page = ElementTree.fromstring(report._repr_html_())
    cells = {"".join(cell.itertext()) for cell in page.iter("td")}
    assert {"t = i + j + k, x = i, y = j", f"{report.cycles:,}"} <= cells


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_a_dataflow_can_be_asked_for(dataflow):
    found = reported(gemm, zeros(64, 96), zeros(96, 48), zeros(64, 48), array=(16, 16), dataflow=dataflow)
    assert {p.dataflow for p in found.nests[0].plans} == {dataflow}


def test_all_mappings_are_printed_where_asked():
    found = reported(gemm, zeros(8, 8), zeros(8, 8), zeros(8, 8), array=(4, 4), dataflow="all")
    assert str(found).count("t = ") >= len(found.nests[0].plans) and "more with --dataflow all" not in str(found)


def test_a_machine_gives_array_buffer_and_times():
    machine = lookup.find("tpu-v1")
    found = reported(matmul, *[np.zeros((600, 600), np.int8)] * 3, machine=machine, dataflow="ws")
    assert found.shape == (256, 256) and found.elements == 24 * 2**20
    assert found.compute_seconds.value == found.cycles / 700e6 and found.compute_seconds.origin == "estimate"
    assert found.memory_seconds.value == found.moved / 34e9
    assert "256 x 256 units of TPU v1" in str(found)


def layer_of_tpu(batch, inputs, outputs):
    machine = lookup.find("tpu-v1")
    sizes = (batch, inputs), (inputs, outputs), (batch, outputs)
    found = reported(gemm, *(np.zeros(size, np.int8) for size in sizes), machine=machine, dataflow="ws")
    return found.memories(found.nests[0], found.nests[0].best).stalled()


def test_weights_of_tpu_v1_come_from_memory():
    """Jouppi et al., ISCA 2017: a tile takes 1349 cycles, of which 256 to shift it in, 19.0 % of a layer's time that is bound by
    memory; 600 x 600 weights are 9 tiles, and take 18 us.
    """
    stalled = layer_of_tpu(8, 600, 600)
    assert stalled.tile_cycles == lookup.find("tpu-v1").tile_load_cycles
    assert round(stalled.tile_cycles) == 1349 and stalled.shift_share == pytest.approx(0.190, rel=0.05)
    many = layer_of_tpu(8, 600 * 256, 256)
    assert many.shift_share == pytest.approx(256 / stalled.tile_cycles, rel=1e-3)
    last = 8 + 256 + 256 - 2
    assert stalled.cycles == pytest.approx(9 * 256 * 256 / 34e9 * 700e6 + 256 + last)
    assert 9 * stalled.tile_cycles / 700e6 == pytest.approx(18e-6, rel=0.05)


def test_many_rows_hide_the_memory():
    stalled = layer_of_tpu(2000, 600, 600)
    assert stalled.shift_cycles == 256 and stalled.stall_cycles == pytest.approx(stalled.tile_cycles)  # before the first fold
    assert stalled.cycles == pytest.approx(stalled.tile_cycles + 256 + 8 * 2000 + 2000 + 510)


def test_nests_run_one_after_another():
    found = reported(two_products, zeros(9, 8), zeros(8, 7), zeros(7, 5), array=(4, 4))
    assert len(found.nests) == 2 and found.cycles == sum(n.best.folds.cycles for n in found.nests)
    assert found.instances == 9 * 8 * 7 + 9 * 7 * 5


@pytest.mark.parametrize(
    "function, args",
    [
        (batched, (zeros(2, 9, 8), zeros(2, 8, 7), zeros(2, 9, 7))),
        (matvec, (zeros(9, 8), zeros(8), zeros(9))),
        (triangular, (zeros(9, 9), zeros(9, 7), zeros(9, 7))),
        (fir, (zeros(20), zeros(4), zeros(17))),
        (layer, (zeros(3, 8, 8), zeros(4, 3, 3, 3), zeros(4, 6, 6))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_kernels_are_reported(function, args):
    found = reported(function, *args, array=(4, 4))
    assert 0 < found.utilisation <= 1 and json.dumps(found.data()) and ElementTree.fromstring(found._repr_html_()) is not None
    assert found.nests[0].best.folds.cycles <= min(p.folds.cycles for p in found.nests[0].plans)


def test_an_array_is_needed():
    with pytest.raises(ConfigError) as refused:
        reported(gemm, *[zeros(4, 4)] * 3)
    assert str(refused.value) == (
        "error: a systolic array has rows and columns\n  note: expected an array such as 16x16, or a machine such as tpu-v1"
    )


@pytest.mark.parametrize("array", [(0, 4), (4, 4, 4), (2.5, 4)])
def test_arrays_have_one_or_two_positive_lengths(array):
    with pytest.raises(ConfigError, match="there is no array of"):
        reported(gemm, *[zeros(4, 4)] * 3, array=array)


@pytest.mark.sweep(keep=0)
def test_diagonal_links_have_more_mappings():
    plain, found = (reported(gemm, *[zeros(8, 8)] * 3, array=(4, 4), links=links) for links in ("manhattan", "diagonal"))
    texts = [{p.recurrence.text(p.mapping) for p in report.nests[0].plans} for report in (plain, found)]
    assert texts[0] < texts[1] and "4 x 4 units, diagonal links" in str(found) and found.data()["links"] == "diagonal"
    with pytest.raises(ConfigError) as refused:
        reported(gemm, *[zeros(4, 4)] * 3, array=(4, 4), links="torus")
    assert str(refused.value) == "error: there are no links 'torus'\n  note: expected one of manhattan, diagonal, broadcast"


def test_a_mapping_that_is_written_is_the_only_one():
    text = "t = 2*i + j + k, x = i, y = j"
    found = reported(gemm, *[zeros(8, 8)] * 3, array=(4, 4), mapping=text)
    (plan,) = found.nests[0].plans
    assert plan.recurrence.text(plan.mapping) == text and f"os  {text}" in str(found)
    args = zeros(9, 8), zeros(8, 7), zeros(7, 5)
    nest = reported(two_products, *args, array=(4, 4)).nests[1].nest
    i, j, k = nest.loops
    both = reported(two_products, *args, array=(4, 4), mapping=[f"{nest.name}: t = {i} + {j} + {k}, x = {i}, y = {k}"])
    assert [len(found.plans) > 1 for found in both.nests] == [True, False]


@pytest.mark.parametrize("shape", [(0, 4, 3), (3, 0, 2)])
def test_nests_without_instances_are_left_out(shape):
    n, k, m = shape
    found = reported(gemm, zeros(n, k), zeros(k, m), zeros(n, m), array=(4, 4), dataflow="all")
    assert found.nests == () and found.cycles == 0 and found.utilisation == 0.0
    assert "cycles   0" in str(found) and json.dumps(found.data()) and found.pictures() == {}
    with pytest.raises(ConfigError, match="nothing of gemm runs for these arguments: there is no array to draw"):
        found.page()


def test_a_dataflow_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="there is no dataflow 'rs'"):
        reported(gemm, *[zeros(4, 4)] * 3, array=(4, 4), dataflow="rs")


def paths(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])


def test_what_cannot_be_mapped_is_refused_with_the_dependence():
    with pytest.raises(IllegalSchedule) as refused:
        reported(paths, zeros(5, 5), array=(4, 4))
    assert "S0[0, 0, 0] -> S0[0, 0, 1] with P_0 = 2" in refused.value.message
    assert refused.value.notes[0].startswith("flow dependence through P: ")


def test_statements_of_one_nest_are_told_apart():
    found = reported(trsv, zeros(9, 9), zeros(9), array=(4,))
    (nest,) = found.nests
    assert nest.nest.name == "S0, S1" and nest.best.recurrence.instances == 9 * 10 // 2
    text = str(found)
    assert "── S0[i, j], S1[i] ──" in text and "S0: t = i + j, x = i; S1: t = 2*i, x = i" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("S0: x[j] value ") for line in lines)
    data = json.loads(json.dumps(found.data()))["nests"][0]
    assert data["statements"] == [{"name": "S0", "loops": ["i", "j"]}, {"name": "S1", "loops": ["i"]}]
    traffic = data["mappings"][0]["traffic"]["streams"]
    assert {"text": "L[i, i]", "statement": "S1", "reads": 9, "writes": 0} in traffic
    assert "S0: L[i, j]" in found._repr_html_()


SOURCE = """\
import numpy as np

def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]

def steps(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])
"""
TYPES = ["--arg", "A=f64[N,N]", "--arg", "B=f64[N,N]", "--arg", "C=f64[N,N]"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("systolic") / "systolic_kernels.py"
    path.write_text(SOURCE)
    return path


def test_the_command_prints_it(file):
    out, _ = run("report", f"{file}:product", "-D", "N=32", *TYPES, "--target", "systolic", "--array", "8x8", "--dataflow", "ws")
    assert "array    8 x 8 units" in out and "ws  t = i + j + k" in out


def test_the_command_prints_data(file):
    out, _ = run("report", f"{file}:product", "-D", "N=32", *TYPES, "--target", "systolic", "--machine", "tpu-v1", "--json")
    data = json.loads(out)
    assert data["machine"] == "TPU v1" and data["array"] == [256, 256]


@pytest.mark.parametrize(
    "options, message",
    [
        (
            ["product", *TYPES],
            "error: a systolic array has rows and columns (expected an array such as 16x16, or a machine such as tpu-v1)",
        ),
        (
            ["product", *TYPES, "--array", "4by4"],
            "--array does not take '4by4' (expected rows and columns, as in 16x16, or a length)",
        ),
        (
            ["product", *TYPES, "--machine", "zen4"],
            "is no systolic array (expected a systolic array of `polyml machine --list`, or its file)",
        ),
        (
            ["product", *TYPES, "--array", "4x4", "--mapping", "t = i + j - k"],
            "`t = i + j - k` is no mapping (expected t and x, and y of an array of",
        ),
        (
            ["steps", "--arg", "P=f64[N,N]", "--array", "4x4"],
            "P[i, k] is used on both sides of where it is made: S0[0, 0, 0] -> S0[0, 0,",
        ),
    ],
    ids=["no array", "no shape", "a CPU", "no mapping", "no distance"],
)
def test_a_refusal_is_one_line_and_status_2(file, options, message):
    name, *given = options
    _, err = run("report", f"{file}:{name}", "-D", "N=8", *given, "--target", "systolic", code=1 if name == "steps" else 2)
    (line,) = err.strip().splitlines()
    assert message in line


def test_the_command_ranks_by_what_is_asked(file):
    asked = "report", f"{file}:product", "-D", "N=32", *TYPES, "--target", "systolic", "--array", "8x8", "--json"
    found = {rank: json.loads(run(*asked, "--rank", rank)[0]) for rank in ("cycles", "ports", "traffic")}
    assert all(data["rank"] == rank for rank, data in found.items())

    def figures(rank):
        mappings = found[rank]["nests"][0]["mappings"]
        ports = [sum(s["in"] + s["out"] for s in m["wires"]["streams"]) for m in mappings]
        traffic = [sum(s["reads"] + s["writes"] for s in m["traffic"]["streams"]) for m in mappings]
        return {"cycles": [m["exact"]["cycles"] for m in mappings], "ports": ports, "traffic": traffic}[rank]

    assert all(figures(rank) == sorted(figures(rank)) for rank in found)
    assert found["ports"]["cycles"]["value"] > found["cycles"]["cycles"]["value"]


def test_energy_needs_a_machine_with_energies(file):
    _, err = run(
        "report", f"{file}:product", "-D", "N=8", *TYPES, "--target", "systolic", "--array", "4x4", "--rank", "energy", code=2
    )
    assert "energies are not known (expected a machine with [energy] in its file, such as tpu-v1)" in err
    out, _ = run(
        "report", f"{file}:product", "-D", "N=8", *TYPES, "--target", "systolic", "--machine", "tpu-v1", "--rank", "energy"
    )
    assert "best     by energy, of equal mappings that of fewest cycles" in out


def test_links_and_ranks_are_asked_of_an_array_alone():
    with pytest.raises(ConfigError, match="there are no links 'wireless'"):
        reported(gemm, *[zeros(4, 4)] * 3, array=(4, 4), links="wireless")
    with pytest.raises(ConfigError, match="mappings have no rank by 'beauty'"):
        reported(gemm, *[zeros(4, 4)] * 3, array=(4, 4), rank="beauty")
    with pytest.raises(ConfigError):
        polyml.kernel(gemm, cache=False).report(*[zeros(4, 4)] * 3, rank="ports")


def test_numbers_of_real_arguments_are_the_same():
    random = np.random.default_rng(0)
    args = random.random((9, 8)), random.random((8, 7)), random.random((9, 7))
    assert reported(matmul, *args, array=(4, 4)).cycles == reported(matmul, *map(np.zeros_like, args), array=(4, 4)).cycles


def test_links_and_mappings_are_the_command_s_too(file):
    words = ["report", f"{file}:product", "-D", "N=32", *TYPES]
    out, _ = run(
        *words, "--target", "systolic", "--array", "8x8", "--links", "diagonal", "--mapping", "t = i + j + k, x = i, y = j"
    )
    assert "array    8 x 8 units, diagonal links" in out and "os  t = i + j + k, x = i, y = j" in out
    _, err = run(*words, "--links", "diagonal", code=2)
    assert err.splitlines()[-1] == "error: --links is not for --target cpu"
