"""Reports: their numbers against the reference and by hand, in all three forms; what is refused."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml.errors import BoundsError, ConfigError, IllegalSchedule
from polyml.machines.cache_spec import parse
from polyml.machines.cpu import CacheLevel
from polyml.measure import lookup
from polyml.report.charts import roofline_svg, tiles_svg
from tests.cli.running import run

CACHES = parse("32K:8:64,1M:16:64")


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def prefix(x):
    for t in range(4):
        for i in range(1, x.shape[0]):
            x[i] += x[i - 1]


@pytest.fixture(scope="module")
def report():
    A, B, C = np.zeros((3, 64, 64))
    return polyml.kernel(gemm, cache=False).report(
        A, B, C, machine=lookup.find("zen4"), caches=CACHES, tile=(16, 16, 16), threads=1
    )


def form(report, name):
    return next(each for each in report.forms if each.form.name == name)


def test_the_source_s_misses_are_those_of_the_reference(report):
    first, last = (form(report, "source").misses.total(level) for level in (0, 1))
    assert (first.accesses, first.misses, last.misses) == (4 * 64**3, 41992, 1536)  # cache_reference.csv: gemm_ijk,64
    assert first.compulsory == 1536 and first.compulsory + first.capacity == 33792  # fa_lru_32KiB_misses
    assert first.compulsory + first.capacity + first.conflict == first.misses


def test_every_form_runs_every_instance(report):
    assert [each.form.name for each in report.forms] == ["source", "tiled 16, 16, 16", "polyml"]
    assert report.operations == {"f64": 2 * 64**3}
    for each in report.forms:
        updates = [c.accesses for r, c in each.misses.counts.items() if r.array == "C" and r.is_write]
        assert sum(updates) == 64**3
        total = each.misses.total(0)
        assert sum(each.misses.of_array(array, 0).misses for array in each.misses.arrays) == total.misses


def test_roofs_are_amounts_over_rates(report):
    machine = lookup.find("zen4")
    for each in report.forms:
        found, total = each.roofline, each.misses.total(1)
        memory = found.traffic[-1]
        assert (memory.place, memory.amount) == ("memory", (total.misses + total.written) * 64)
        assert found.intensity("memory") == 2 * 64**3 / memory.amount
        fetched, written = (total.misses - total.written) * 64, 2 * total.written * 64
        back = machine.update("memory", 1) or machine.read("memory", 1)
        assert memory.seconds == pytest.approx(fetched / machine.read("memory", 1).value + written / back.value)
        assert found.seconds == max(sum(r.seconds for r in found.work), *(r.seconds for r in found.traffic))
    source, polyml_ = form(report, "source").roofline, form(report, "polyml").roofline
    assert source.work[0].lanes == 1 / machine.machine.lanes(8)  # no vectors
    assert source.work[0].seconds == pytest.approx(2 * 64**3 / machine.peak("f64", 1).value / source.work[0].lanes)
    assert polyml_.seconds < source.seconds


def test_json_has_the_same_numbers(report):
    data = json.loads(json.dumps(report.data()))
    assert data["version"] == 1 and [f["name"] for f in data["forms"]] == ["source", "tiled 16, 16, 16", "polyml"]
    source = data["forms"][0]["misses"]
    assert source["levels"][0]["total"]["misses"] == sum(r["levels"][0]["misses"] for r in source["references"]) == 41992
    assert source["accuracy"].startswith("exact") and source["engine"] == "simulation"


def test_footprints_and_the_bound_are_those_of_the_source_s_loops(report):
    whole, *_, innermost = report.footprints
    assert whole.loops == () and {f.array: f.elements.value for f in whole.footprints} == dict.fromkeys("ABC", 64 * 64)
    assert innermost.loops == ("i", "j", "k") and innermost.lines == 3
    line = report.levels[0].line_bytes // 8
    for level, cache in enumerate(report.levels):
        least = report.bound.loads(report.sizes, cache.size_bytes // 8)
        assert all(least <= each.misses.total(level).misses * line for each in report.forms)
    assert "2*A_1*C_0*C_1/sqrt(S) - 2*S" in str(report)


def test_tiles_miss_as_their_programs_do(report):
    """64 of each is simulated whole."""
    best = report.tiles.best
    assert report.tiles.loops == ("i", "j", "k") and report.tiles.window == 64**3
    again = polyml.kernel(gemm, cache=False).report(
        *np.zeros((3, 64, 64)), machine=lookup.find("zen4"), caches=CACHES, tile=best.sizes
    )
    tiled = form(again, f"tiled {', '.join(map(str, best.sizes))}").misses
    assert best.misses == tuple(tiled.total(level).misses / 64**3 for level in (0, 1))
    assert tiled.total(0).misses < form(again, "source").misses.total(0).misses / 4


def test_polyml_s_schedule_runs_on_the_threads_asked_for():
    def doubled(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = 2.0 * A[i, j]

    caches = parse("32K:8:64,1M:16:64:shared")
    found = polyml.kernel(doubled, cache=False).report(
        *np.zeros((2, 500, 500)), machine=lookup.find("zen4"), caches=caches, threads=3
    )
    source, shared = form(found, "source").misses, form(found, "polyml").misses
    assert (source.threads, shared.threads) == (1, 3)
    accesses = [sum(counts.accesses for counts in own.values()) for own in shared.simulation.threads]
    assert sum(accesses) == 2 * 500**2 and min(accesses) > 2 * 500**2 / 4
    assert "one thread" in source.accuracy and "accesses of 3 threads in turn" in shared.accuracy in str(found)
    assert shared.total(1).misses == shared.total(1).compulsory == 2 * 500**2 // 8


def test_coherence_is_counted_where_it_is_asked_for():
    """Threads have columns each, parts of the same lines."""

    def striped(A):
        for j in range(A.shape[1]):
            for t in range(3):
                for i in range(1, A.shape[0]):
                    A[i, j] = 0.5 * A[i, j] + A[i - 1, j]

    A = np.zeros((40000, 4))
    kernel = polyml.kernel(striped, cache=False, vectorize=False)
    kernel = kernel.with_schedule(kernel.schedule("source", A).parallel("j"))
    asked = {"machine": lookup.find("zen4"), "caches": parse("1M:16:64"), "threads": 2}
    plain, coherent = (form(kernel.report(A, **asked, coherent=c), "given").misses for c in (False, True))
    assert plain.total(0).coherence == 0 < coherent.total(0).coherence
    assert "without misses for the sake" in plain.accuracy and "coherence" not in coherent.accuracy
    for found in (plain, coherent):
        total = found.total(0)
        assert total.misses == total.compulsory + total.capacity + total.conflict + total.coherence
        assert sum(found.of_array(array, 0).coherence for array in found.arrays) == total.coherence
    with pytest.raises(ConfigError, match="one thread has nobody to share lines with"):
        kernel.report(A, machine=lookup.find("zen4"), threads=1, coherent=True)
    with pytest.raises(ConfigError, match="nothing is simulated"):
        kernel.report(A, **asked, coherent=True, simulate=False)


def test_what_is_affine_for_given_numbers_is_reported_for_them():
    def flat(x, n: int):
        for i in range(n):
            for j in range(n):
                x[i * n + j] = 2.0 * x[i * n + j]

    found = polyml.kernel(flat, cache=False).report(np.zeros(400), 20, machine=lookup.find("zen4"), caches=CACHES)
    assert found.operations == {"f64": 400} and form(found, "source").misses.total(0).misses == 50
    assert found.tiles.best is not None and found.tiles.schedule == _tiled(polyml.kernel(flat, cache=False), found.tiles)


def _tiled(kernel, found):
    schedule = kernel.schedule("source", np.zeros(400), 20)
    for nest in found.nests:
        schedule = schedule.tile(dict(zip(nest, found.chosen.sizes)))
    assert kernel.lower(np.zeros(400), 20).artifact is not None
    return schedule


def test_data_that_decide_leave_tiles_unsimulated():
    def gathered(A, columns, y):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                y[i] += A[i, columns[j]]

    found = polyml.kernel(gathered, cache=False).report(
        np.zeros((9, 9)), np.zeros(9, int), np.zeros(9), machine=lookup.find("zen4")
    )
    assert found.tiles.best is None and "data decide" in found.tiles.problem and "data decide" in str(found)


def test_scalars_between_are_no_memory():
    def scaled(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                a = A[i, j] * 2.0
                b = a * a
                B[i, j] = a + b

    found = polyml.kernel(scaled, cache=False).report(*np.zeros((2, 24, 24)), machine=lookup.find("zen4"), caches=CACHES).tiles
    assert found.best.misses[0] * found.instances == 2 * 24 * 3 and found.instances in (24**2, 2 * 24**2)


def test_tiles_are_a_schedule_that_runs():
    kernel, rng = polyml.kernel(gemm, cache=False, threads=1), np.random.default_rng(0)
    A, B, C = rng.random((3, 70, 70))
    found = kernel.report(A, B, C, machine=lookup.find("zen4"), caches=CACHES, threads=1)
    schedule = found.tiles.schedule
    assert found.tiles.chosen == found.tiles.fastest and schedule.tree is not None
    printed = found.data()["tiles"]["steps"]
    assert printed in str(found) and eval(printed.replace("...", "A, B, C"), {"k": kernel, "A": A, "B": B, "C": C}) == schedule
    wanted = C + A @ B
    chosen = kernel.with_schedule(schedule)
    again = form(chosen.report(A, B, C, machine=lookup.find("zen4"), caches=CACHES, threads=1), "given")
    assert again.misses.accesses == 4 * 70**3 and "the schedule given" in str(again.form.notes)
    chosen(A, B, C)
    np.testing.assert_allclose(C, wanted)


def test_advice_is_for_conflicts(report):
    """Rows of 1,024 bytes: 4 sets of 8 ways for a column of 128 lines. Columns of 64 lines of 512 bytes fit 8 sets."""
    assert report.advice == ()
    found = polyml.kernel(gemm, cache=False).report(*np.zeros((3, 128, 128)), machine=lookup.find("zen4"), caches=CACHES)
    column = next(each for each in found.advice if each.reference.array == "B")
    assert (column.loop, column.level.level, column.lines, column.sets, column.padding_bytes) == ("k", 1, 128, 4, 64)
    assert "64 bytes more between them" in str(found)


def test_loops_run_in_lanes_where_nothing_depends():
    def swept(A):
        for i in range(1, A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = A[i - 1, j] + A[i, j]

    found = polyml.kernel(swept, cache=False).report(np.zeros((20, 30)), machine=lookup.find("zen4"))
    outer, inner = found.lanes
    assert not outer.is_legal and "depends on" in outer.reason and inner.is_legal
    assert {move.kind for move in inner.moves} == {"contiguous"} and {move.bytes for move in outer.moves} == {240}
    assert inner.efficiency == 1 and outer.efficiency < 0.5


def test_reuse_is_that_of_the_loops(report):
    by_text = {f"{r.array} {each.kind} {each.carried}": each for r, f in report.reuses.references.items() for each in f.classes}
    assert by_text["B spatial j"].greatest <= 512 and by_text["C temporal k"].distance.is_number
    assert by_text["B temporal i"].least > 64 * 8  # all of B lies between


def test_pictures_and_pages_are_well_formed(report):
    picture = roofline_svg(report)
    root = ElementTree.fromstring(picture)
    marks = [(e.get("data-variant"), e.get("data-what")) for e in root.iter() if e.get("data-what")]
    assert marks == [(each.form.name, what) for each in report.forms for what in ("bound", "predicted")]
    root = ElementTree.fromstring(tiles_svg(report))
    dots = [e for e in root.iter() if (e.get("class") or "").startswith("mark small")]
    assert len(dots) == 2 * len(report.tiles.simulated) + 2  # of two levels, and their names
    page = ElementTree.fromstring(report._repr_html_())
    assert "41,992" in "".join(page.itertext()) and "41,992" in str(report)


def test_predictions_are_instructions_and_moves(report):
    """In lanes there are an eighth of the multiply-adds, two of them in a cycle; the source's order waits for each sum."""
    source, own = form(report, "source"), form(report, "polyml")
    assert source.prediction.seconds == source.prediction.instructions + sum(source.prediction.moves.values())
    assert set(source.prediction.moves) == {"L2", "memory"}
    clock = report.machine.frequency_hz.of(1, 1).value
    assert source.prediction.instructions * clock >= 4 * 64**3
    assert 64**3 / 16 <= own.prediction.instructions * clock <= 64**3 / 4
    shown = report.data()["forms"][0]["prediction"]
    assert shown["seconds"] == source.prediction.seconds and shown["accuracy"].startswith("estimate")


def test_no_order_fetches_less_than_the_least(report):
    for each in report.forms:
        assert all(times >= 1 for times in each.excess)
    assert form(report, "source").excess[0] == 41_992 * 64 / (8 * report.bound.loads(report.sizes, 4096))
    assert "fetched, to be read or written, in times the least of any order: L1" in str(report)


def test_the_fastest_tiles_are_those_of_the_least_prediction():
    A, B, C = np.zeros((3, 96, 96))
    found = polyml.kernel(gemm, cache=False).report(A, B, C, machine=lookup.find("zen4"), caches=CACHES, threads=1).tiles
    assert len(found.predicted) > 1 and found.fastest.seconds == min(each.seconds for each in found.predicted)
    again = {each.sizes: each.seconds for each in found.simulated if each.seconds is not None}
    assert again == {each.sizes: each.seconds for each in found.predicted if each.sizes in {s.sizes for s in found.simulated}}
    assert 96**3 / 16 / 6e9 < found.fastest.seconds < 96**3 / 1e9


def test_without_simulation_there_are_estimates():
    A, B, C = np.zeros((3, 64, 64))
    found = polyml.kernel(gemm, cache=False).report(A, B, C, machine=lookup.find("zen4"), caches=CACHES, simulate=False)
    assert all(each.misses is None and each.problem == "not simulated" for each in found.forms)
    assert found.tiles.best.sizes in {each.sizes for each in found.tiles.candidates} and not found.tiles.simulated
    assert found.reuses is not None and "estimates from footprints" in str(found)
    ElementTree.fromstring(tiles_svg(found))


def test_times_are_measured_on_this_computer_alone():
    A, B, C = np.ones((3, 48, 48))
    kernel = polyml.kernel(gemm, cache=False)
    found = kernel.report(A, B, C, tile=(16, 16, 16), threads=1, measure=True)
    assert [each.form.name for each in found.forms] == ["source", "tiled 16, 16, 16", "polyml"]
    source, _, own = (each.measured for each in found.forms)
    assert 48**3 / 1e11 < own < source < 48**3 / 1e7  # of a core with 10 million to 100 billion updates per second
    assert (C == 1).all() and str(found).count("  measured ") == 3
    assert [each["measured"] for each in found.data()["forms"]] == [each.measured for each in found.forms]
    marks = [e.get("data-what") for e in ElementTree.fromstring(roofline_svg(found)).iter() if e.get("data-what")]
    assert marks.count("measured") == 3
    with pytest.raises(ConfigError, match="times are measured on this computer, not on AMD EPYC 9654"):
        kernel.report(A, B, C, machine=lookup.find("zen4"), measure=True)
    with pytest.raises(ConfigError, match="--measure is not for --target cuda"):
        kernel.report(A, B, C, target="cuda", measure=True)


def test_machines_without_rates_predict_no_time():
    A, B, C = np.zeros((3, 8, 8))
    found = polyml.kernel(gemm, cache=False).report(A, B, C, machine=lookup.find("avx2"))
    assert all(each.roofline.seconds is None and each.prediction is None for each in found.forms)
    assert roofline_svg(found) == "" and found.tiles.fastest is None
    assert "no time is predicted" in str(found)


def test_tiles_are_proved():
    with pytest.raises(IllegalSchedule, match="tile"):
        polyml.kernel(prefix, cache=False).report(np.zeros(20), machine=lookup.find("zen4"), tile=(2, 4))
    with pytest.raises(ConfigError, match="3 tile sizes and 2 loops"):
        polyml.kernel(prefix, cache=False).report(np.zeros(20), machine=lookup.find("zen4"), tile=(2, 4, 8))


def test_what_cannot_be_simulated_is_said():
    def gathered(x, columns, y):
        for i in range(y.shape[0]):
            y[i] = x[columns[i]]

    found = polyml.kernel(gathered, cache=False).report(np.zeros(9), np.zeros(9, int), np.zeros(9), machine=lookup.find("zen4"))
    assert all(each.misses is None and "data decide which elements of x" in each.problem for each in found.forms)
    assert "data decide" in str(found) and found.data()["forms"][0]["problem"]


SOURCE = """
def scale(A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x

def grows(A):
    while A[0] < 1:
        A[0] += 1
"""
ARGUMENTS = ("--arg", "A=f64[N,M]", "--arg", "x=2.0", "-D", "N=40", "-D", "M=30", "--machine", "zen4")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "own.py").write_text(SOURCE)


def moving(A, B):
    for i in range(B.shape[0]):
        B[i] = A[i + 2]


def test_a_call_that_would_leave_an_array_is_refused_as_the_kernel_refuses_it():
    A, B = np.zeros((2, 30))
    kernel = polyml.kernel(moving, cache=False)
    with pytest.raises(BoundsError) as called:
        kernel(A, B)
    with pytest.raises(BoundsError, match=r"`A\[i \+ 2\]` is out of bounds: index 30 in dimension 0 of size 30") as reported:
        kernel.report(A, B, machine=lookup.find("zen4"), threads=1)
    assert reported.value.message == called.value.message
    assert kernel.report(A, B[:28], machine=lookup.find("zen4"), threads=1).forms[0].misses.accesses == 56


def test_what_would_take_hours_to_simulate_is_said_at_once():
    def squares(x, n):
        for i in range(n):
            for j in range(n):
                x[0] += 1.0

    found = polyml.kernel(squares, cache=False).report(np.zeros(1), 10**6, machine=lookup.find("zen4"), threads=1)
    assert all(each.misses is None and "there are 1,000,000,000,000 instances" in each.problem for each in found.forms)
    assert found.seconds < 60 and found.operations == {"f64": 10**12}


def test_the_command_prints_and_gives_data(folder):
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--tile", "8,8")
    assert "L2 lines" in out and "tiled 8, 8" in out and "1,200 f64 operations" in out
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--cache", "1K:2:64", "--json", "--svg", "pictures")
    assert json.loads(out)["levels"][0]["size_bytes"] == 1024
    for name in ("roofline.svg", "tiles.svg"):
        ElementTree.parse(Path("pictures") / name)
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--no-simulation")
    assert "not simulated" in out
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--threads", "2", "--coherent", "--json")
    assert all(
        "coherence" in level for form in json.loads(out)["forms"] for level in form["misses"]["levels"][0]["arrays"].values()
    )


def test_tiles_are_saved_for_runs(folder):
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--save", "tiles.txt", "--json")
    loaded, _ = run("schedule", "own.py:scale", "--arg", "A=f64[N,M]", "--arg", "x=2.0", "--load", "tiles.txt")
    sizes = json.loads(out)["tiles"]["fastest"]
    assert all(f"{loop}_t = {loop} - {loop} % {size}" in loaded for loop, size in zip("ij", sizes))


@pytest.mark.parametrize(
    "given, said",
    [
        (["own.py:scale", *ARGUMENTS, "-D", "Q=1"], "no argument has a size called 'Q'"),
        (["own.py:scale", *ARGUMENTS, "-D", "N=-3"], "no array is shorter than 0"),
        (["own.py:scale", *ARGUMENTS, "--cache", "32K:7:64"], "must be a multiple of ways times line"),
        (["own.py:scale", *ARGUMENTS, "--cache", "lots"], "is no cache"),
        (["own.py:scale", *ARGUMENTS, "--tile", "8,0"], "--tile does not take '8,0'"),
        (["own.py:scale", *ARGUMENTS, "--tile", "8,8,8"], "there are 3 tile sizes and 2 loops"),
        (["own.py:scale", *ARGUMENTS, "--svg", "own.py"], "--svg cannot write to own.py"),
        (["own.py:scale", *ARGUMENTS, "--threads", "-1"], "--threads does not take -1"),
        (["own.py:scale", *ARGUMENTS, "--threads", "1", "--coherent"], "coherent caches are not for this report: one thread"),
        (["own.py:scale", *ARGUMENTS[:-2], "--target", "cuda", "--coherent"], "--coherent is not for --target cuda"),
        (["own.py:scale", *ARGUMENTS[:-2], "--target", "cuda", "--save", "f"], "--save is not for this target"),
        (["own.py:scale", *ARGUMENTS, "--save", "none/such"], "--save cannot write to none/such"),
        (["own.py:scale", *ARGUMENTS[:-1], "z80"], "there is no machine 'z80'"),
        (["own.py:scale", *ARGUMENTS[:-1], "h100"], "is no CPU"),
        (["own.py:grows", "--arg", "A=f64[N]", "-D", "N=4", "--machine", "zen4"], "own.py:8"),
    ],
)
def test_bad_input_is_one_line_and_status_two(folder, given, said):
    out, err = run("report", *given, code=1 if "own.py:grows" in given else 2)  # this kernel is refused
    assert out == "" and said in err.splitlines()[-1] and not any(line.startswith("Traceback") for line in err.splitlines())
    assert len([line for line in err.splitlines() if line.startswith("error") or "error:" in line]) == 1


def test_operations_on_bits_are_operations():
    @polyml.kernel
    def closure(reach, n):
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    reach[i, j] = reach[i, j] | (reach[i, k] & reach[k, j])

    found = closure.report(np.zeros((8, 8), np.int32), 8, simulate=False)
    assert found.operations == {"i32": 2 * 8**3}


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_a_kernel_of_which_a_loop_has_no_iterations_is_reported():
    found = polyml.kernel(product).report(np.zeros((8, 0)), np.zeros((0, 8)), np.zeros((8, 8)), simulate=False)
    assert found.tiles.problem == "S0 has no instances with these sizes" and found.tiles.schedule is None and str(found)


def transposed_sum(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = A[i, j] + B[i, j]


def test_addresses_decide_about_conflicts():
    """In a cache of one way, arrays at a multiple of its size replace each other at each access; half of it apart they do not."""
    args, cache = [np.zeros((8, 8)) for _ in range(3)], CacheLevel(1, 4096, 1, 64, 1)
    alike, apart = (
        polyml.kernel(transposed_sum, cache=False).report(
            *args, caches=[cache], threads=1, addresses={"B": 4096 + off, "C": 8192 + 2 * off}
        )
        for off in (0, 1024)
    )
    counts = [[total.conflict for form in report.forms[:1] for total in [form.misses.total(0)]] for report in (alike, apart)]
    assert counts[0] == [3 * 64 - 3 * 8] and counts[1] == [0]
    assert "A 0, B 4,096, C 8,192" in str(alike) and "A 0, B 5,120, C 10,240" in str(apart)


@pytest.mark.parametrize(
    "addresses, problem",
    [
        ({"B": 8}, "error: A and B would lie in one another\n  note: A has the bytes from 0 to 511, B begins at 8"),
        ({"X": 0}, "error: there is no array X to begin at 0\n  note: expected one of A, B, C"),
        ({"B": 1001}, "error: B cannot begin at 1,001\n  note: expected a multiple of 8, the bytes of an element"),
        ({"B": -8}, "addresses= does not take -8"),
        ({1: 8}, "addresses= does not take"),
        ([("B", 8)], "addresses= does not take"),
        ({"B": 2**37}, "addresses= does not take"),
    ],
)
def test_addresses_that_cannot_be(addresses, problem):
    args = [np.zeros((8, 8)) for _ in range(3)]
    with pytest.raises(ConfigError) as refused:
        polyml.kernel(transposed_sum, cache=False).report(*args, addresses=addresses)
    assert problem in str(refused.value)
