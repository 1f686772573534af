"""The benchmark of contractions: every set runs and is right, what is wrong or missing has no figure."""

import itertools
import json
import math
import time

import numpy as np
import pytest

from benchmarks.contractions import convolution, onednn, peak, polybench, products, report, tccg, worker
from benchmarks.contractions.__main__ import main
from benchmarks.contractions.measure import Row
from benchmarks.contractions.problem import Form, Problem, product_error
from benchmarks.contractions.sets import SETS, Set
from benchmarks.interleaved_processes import Failed
from benchmarks.peer import PeerUnavailable
from polyml.machines import cpu

TINY = {
    "looptune": ["5x4x3"],
    "square": ["6", "1x5x4", "5x1x4"],
    "skinny": ["7x2x3"],
    "tccg": ["ki,jk->ji i=4 j=3 k=5"],
    "polybench": ["gemm MINI"],
    "convolution": ["NHWC 2x3x6 4x1 s1 p0"],
}


@pytest.fixture(autouse=True)
def _short_series(monkeypatch):
    monkeypatch.setattr(peak, "_SERIES", 2)
    monkeypatch.setattr(peak, "_SERIES_S", 0.002)


@pytest.mark.parametrize("name", TINY)  # NumPy is no peer of small types
@pytest.mark.sweep(keep=2)
def test_a_set_runs_against_numpy_and_writes_what_it_measured(name, tmp_path, capsys):
    file = tmp_path / "rows.json"
    command = [name, "--sizes", *TINY[name], "--dtypes", "float32" if name == "convolution" else "float64"]
    command += ["--threads", "1", "--peers", "numpy", "--repeat", "1", "--turn", "0.001", "--cold", "1"]
    assert main([*command, "--json", str(file)]) == 0
    rows, work, shown = json.loads(file.read_text())["rows"], SETS[name], capsys.readouterr().out
    if name == "looptune":
        assert rows.pop()["seconds"] > 0 and "from decorated function to first result in a new process: median" in shown
    assert [(r["case"], r["peer"]) for r in rows] == [
        (work.canonical(case), peer) for case in TINY[name] for peer in (*work.own, "numpy", "peak")
    ]
    measured = [r for r in rows if r["failure"] != "unavailable"]
    assert {r["peer"] for r in measured} >= {work.own[-1], "numpy"}
    assert all(r["rate"] > 0 and r["peak_share"] > 0 and r["error"] <= 1 for r in measured)
    assert all(r["ratios"][work.own[-1]] > 0 for r in measured if r["peer"] == "numpy")
    assert "geometric mean" in shown or "the means leave them out" in shown


class Connection:
    """A worker's end: hands out orders, keeps answers."""

    def __init__(self, *orders):
        self.orders, self.answers = [*orders, None], []

    def send(self, answer):
        self.answers.append(answer)

    def recv(self):
        return self.orders.pop(0)


def served(monkeypatch, forms, *orders):
    """The answers of a worker whose peer has these forms."""
    work = Set("x", "", list, str, lambda case, dtype: Problem(8, {"peer": forms}), ("polyml",), ("peer",))
    monkeypatch.setitem(SETS, "x", work)
    connection = Connection(*orders)
    worker.serve(connection, worker.Job("x", "case", "peer", "float64", 1, 0.001))
    return connection.answers


def test_a_wrong_result_gets_no_figure_whatever_other_forms_give(monkeypatch):
    forms = {"right": Form(int, lambda: 0.5), "bad": Form(int, lambda: 7.0)}
    assert served(monkeypatch, lambda threads: forms) == [Failed("wrong", "bad 7 times the bound away from the reference")]
    not_a_number = {"": Form(int, lambda: math.nan)}
    assert served(monkeypatch, lambda threads: not_a_number)[0].kind == "wrong"


def test_a_peer_that_is_missing_or_raises_is_an_answer_and_the_next_case_is_served(monkeypatch):
    def missing(threads):
        raise PeerUnavailable("not here")

    job = worker.Job("x", "case", "peer", "float64", 1, 0.001)
    assert served(monkeypatch, missing, job) == [Failed("unavailable", "not here")] * 2
    assert served(monkeypatch, lambda threads: 1 / 0) == [Failed("error", "ZeroDivisionError: division by zero")]


def test_a_form_does_not_live_on_the_result_of_the_one_before(monkeypatch):
    result = np.zeros(1)

    def clear():
        result.fill(0)

    def error():
        return 2.0 * abs(result[0] - 1.0)

    forms = {"writes": Form(lambda: result.fill(1), error, clear), "idles": Form(int, error, clear)}
    assert served(monkeypatch, lambda threads: forms) == [Failed("wrong", "idles 2 times the bound away from the reference")]


def test_calls_that_change_their_arguments_are_prepared_each_time():
    left = [0]

    def work():
        left[0] -= 1
        assert left[0] == 0

    assert worker.turn(Form(work, lambda: 0.0, prepare=lambda: left.__setitem__(0, 1)), 0.001) > 0


def test_a_turn_is_timed_by_the_clock_of_its_job():
    clocks = [worker.Job("x", "case", "peer", "float64", 1, 0.001, by_processor).clock for by_processor in (False, True)]
    assert clocks == [time.perf_counter, time.process_time]
    ticks = itertools.count(0, 5)
    assert worker.turn(Form(int, lambda: 0.0, prepare=int), 20.0, lambda: next(ticks)) == 5


def test_the_exit_status_tells_of_what_is_wrong(capsys, monkeypatch):
    failed = Row("square", "2x2x2", "float64", 1, "numpy", failure="wrong", note="3 times the bound")
    own = Row("square", "2x2x2", "float64", 1, "polyml", rate=1.0, spread=1.0)
    multiply_adds = Row("square", "2x2x2", "float64", 1, "peak", rate=1.0, spread=1.0)
    monkeypatch.setattr("benchmarks.contractions.__main__.measure", lambda *a, **k: [[own, failed, multiply_adds]])
    assert main(["--sizes", "2", "--dtypes", "float64", "--threads", "1", "--peers", "numpy"]) == 1
    assert "numpy: 2x2x2: wrong: 3 times the bound" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, message", [
    (["cubes"], "there is no set 'cubes'"),
    (["small-types", "--processor-time", "--threads", "1", "2"], "--processor-time is for --threads 1"),
    (["square", "--sizes", "2x3"], "'2x3' is not rows x columns x depth"),
    (["square", "skinny", "--sizes", "2"], "--sizes are those of one set"),
    (["square", "--peers", "torch"], "square has none of these peers; it has numpy, mkl, onednn"),
    (["tccg", "--sizes", "ij,jk->ik"], "'ij,jk->ik' has no sizes and is not a contraction of TCCG"),
    (["polybench", "--sizes", "jacobi_2d"], "'jacobi_2d' is none of gemm"),
])  # fmt: skip
def test_what_does_not_exist_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_the_sets_have_the_cases_that_they_are_known_for():
    assert len(set(tccg.cases())) == 48 and tccg.canonical("ki,jk->ji") == tccg.cases()[0]
    assert len(set(convolution.cases())) == 4 * 23 and all(convolution.canonical(c) == c for c in convolution.cases())
    sample = products.looptune_sample(200, 0)
    assert len(set(sample)) == 200 and sample == products.looptune_sample(200, 0) != products.looptune_sample(200, 1)
    assert {int(size) % 16 for case in sample for size in case.split("x")} == {0}
    assert len(set(products.looptune_sample(9999, 0))) == 2197


def test_loops_of_a_contraction_are_those_of_its_text():
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)[:, ::-1]
    C = np.zeros((4, 2))
    tccg.loops("ki,ji->jk")(C, A, B)
    assert np.array_equal(C, np.einsum("ki,ji->jk", A, B))


@pytest.mark.parametrize("layout, stride, padding", [("NCHW", 1, 0), ("NCHW", 2, 1), ("NHWC", 2, 3), ("NHWC", 1, 1)])
def test_loops_of_a_convolution_and_its_reference_are_the_definition(layout, stride, padding):
    own = convolution.Layer(layout, 2, 2, 5, 3, 3, stride, padding)
    forms = convolution.problem(str(own), "float32").forms
    assert forms["numpy"](1)[""].error() <= 1
    random = np.random.default_rng(0)
    x, w = random.uniform(-1, 1, (2, 2, 5, 5)), random.uniform(-1, 1, (3, 2, 3, 3))
    wide = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    size = own.result_size
    want = np.array([[[[
        (wide[n, :, stride * i : stride * i + 3, stride * j : stride * j + 3] * w[f]).sum() for j in range(size)
    ] for i in range(size)] for f in range(3)] for n in range(2)])  # fmt: skip
    assert np.allclose(convolution._sum_of_products(x, w, own), want)
    if layout == "NHWC":
        x, w, want = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), want.transpose(0, 2, 3, 1)
    y = np.zeros(want.shape)
    convolution.loops(layout, stride, padding)(y, x, w)
    assert np.allclose(y, want)


@pytest.mark.parametrize("name", ["cholesky", "lu"])
def test_the_check_of_lapack_s_factors_sees_a_wrong_one(name):
    pytest.importorskip("scipy")
    form = polybench.problem(f"{name} MINI", "float64").forms["scipy"](1)[""]
    form.prepare()
    form.call()
    assert form.error() <= 1
    form.call()  # the factors' own
    assert not form.error() <= 1


def test_oneDNN_computes_the_product_or_says_why_not():
    A, B = np.random.default_rng(0).random((5, 4), "f4"), np.random.default_rng(1).random((4, 3), "f4")
    C = np.zeros((5, 3), "f4")
    try:
        onednn.matmul(A, B, C)()
    except PeerUnavailable as reason:
        assert "not installed" in str(reason)
        return
    assert product_error(C, A.astype("f8") @ B.astype("f8"), 4) <= 1
    with pytest.raises(PeerUnavailable, match="no product of float64"):
        onednn.matmul(A.astype("f8"), B.astype("f8"), C.astype("f8"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_peak_is_that_of_vector_multiply_adds(dtype):
    from polyml.runtime.loading import assemble

    host = cpu.host()
    text = assemble.assembly(peak.loop_text(dtype, host), cpu=host.cpu_name, features=host.features, level=2)
    if host.isa == "x86-64" and host.fma:
        assert text.count("vfmadd") == peak._accumulators(host)
    assert peak.peak_rate(dtype, 2) > 0


def test_a_report_says_when_others_had_the_cores():
    rows = [
        Row("square", f"{i}", "float64", 2, peer, rate=rate, spread=1.0 + i)
        for i in range(3)
        for peer, rate in (("numpy", 1.0), ("peak", 238.0 - 90.0 * (i == 1)))
    ]
    first, second = report.disturbances(rows, 120.0)
    assert first == (
        "DOUBTFUL, marked ~: 1 of 3 cases, in whose turns 2 threads of multiply-adds reached less than 85% of 2 x 120 "
        "GFLOP/s: others used the cores; the means leave them out"
    )
    assert second == "turns of one peer differ by more than 1.5x in 2 of 3 cases, most by 3.0x: 2"
    assert not list(report.disturbances(rows[:2], 120.0))


def test_disturbed_cases_are_marked_and_in_no_mean(capsys):
    rows = [
        Row("square", case, "float64", 2, peer, rate=rate, spread=1.0, ratios=ratios, peak_share=0.5)
        for case, ratio, peak_now in (("clean", 2.0, 240.0), ("noisy", 900.0, 130.0))
        for peer, rate, ratios in (("polyml", 1.0, {}), ("numpy", 1.0, {"polyml": ratio}), ("peak", peak_now, {}))
    ]
    report.show(SETS["square"], ["numpy"], rows, {("float64", 2): 240.0, ("float64", 1): 120.0})
    shown = capsys.readouterr().out
    assert "noisy ~" in shown and "clean ~" not in shown and "900.00" in shown
    assert "geometric mean 2.00, least 2.00, at least 1.0 in 100% of 1 cases" in shown


def test_a_summary_has_the_best_peer_of_each_case_and_what_is_asked(monkeypatch):
    monkeypatch.setattr(report, "ASKED", {("square", "numpy"): 1.5})
    rows = [
        Row("square", case, "float64", 1, peer, rate=1.0, ratios={"polyml": ratio})
        for case, numpy, mkl in (("1", 2.0, 4.0), ("2", 8.0, 0.5))
        for peer, ratio in (("numpy", numpy), ("mkl", mkl))
    ]
    assert list(report.summary(SETS["square"], ["numpy", "mkl"], rows)) == [
        "polyml / numpy: geometric mean 4.00 (asked 1.50), least 2.00, at least 1.0 in 100% of 2 cases",
        "polyml / mkl: geometric mean 1.41, least 0.50, at least 1.0 in 50% of 2 cases",
        "polyml / the best of them: geometric mean 1.00, least 0.50, at least 1.0 in 50% of 2 cases",
    ]
