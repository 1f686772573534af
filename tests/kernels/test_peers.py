"""The sources that benchmarks/ gives to the peers compute what the kernels do; loops marked parallel are parallel."""

import ast
import copy
import json
import math
import os
import shutil

import numpy as np
import pytest

from benchmarks import c_peers, peer, worker
from benchmarks import polybench as driver
from benchmarks.c_source import NotInC, c_source
from benchmarks.loops import function_tree, loops_named, loops_of
from benchmarks.numba_source import numba_source
from benchmarks.parallel_loops import PARALLEL_LOOPS
from benchmarks.peers import PEERS
from benchmarks.pythran import directive, pythran_source
from benchmarks.results import geometric_mean
from polyml import kernels
from polyml.kernels._accuracy import compare

# In step k every iteration reads row and column k, which step k itself leaves as they are: it writes the values
# that are there already.
REWRITES_THE_SAME = {"floyd_warshall"}


@pytest.fixture(autouse=True)
def folder_of_what_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def example(name, numbers=(5, 7, 6, 4, 8)):
    benchmark = kernels.load(name)
    size = dict(zip(benchmark.sizes["MINI"], numbers, strict=False))
    return benchmark, size, benchmark.inputs(size, np.random.default_rng(0), np.dtype(benchmark.dtype))


class Loop:
    """Stands in for `prange`: runs the iterations in a random order and keeps what each of them touches."""

    def __init__(self, check):
        self.iteration, self.readers, self.writers, self.check = None, {}, {}, check
        self.rng = np.random.default_rng(0)

    def __call__(self, *bounds):
        self.readers, self.writers = {}, {}
        for i in self.rng.permutation(np.arange(*bounds)).tolist():
            self.iteration = i
            yield i
        self.iteration = None
        if self.check:
            for cell, writers in self.writers.items():
                assert len(writers | self.readers.get(cell, set())) == 1, f"iterations meet at {cell}"

    def touched(self, table, array, index):
        if self.iteration is not None:
            table.setdefault((array.name, index), set()).add(self.iteration)


class Traced(np.ndarray):
    """An array that tells `loop` which elements are read and written."""

    def __getitem__(self, index):
        self.loop.touched(self.loop.readers, self, index)
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.loop.touched(self.loop.writers, self, index)
        super().__setitem__(index, value)

    def __array_finalize__(self, parent):
        self.loop, self.name = getattr(parent, "loop", None), getattr(parent, "name", "") + "'"


def traced(array, name, loop):
    view = array.view(Traced)
    view.loop, view.name = loop, name
    return view


@pytest.mark.parametrize("name", [n for n in kernels.NAMES if PARALLEL_LOOPS[n]])
def test_iterations_of_the_loops_marked_parallel_never_meet(name):
    benchmark, size, before = example(name)
    loop = Loop(check=name not in REWRITES_THE_SAME)
    namespace = {"np": np, "math": math, "prange": loop}
    exec(numba_source(benchmark.kernel.py_func, PARALLEL_LOOPS[name], benchmark.dtype), namespace)
    after = copy.deepcopy(before)
    arguments = {k: traced(v, k, loop) if isinstance(v, np.ndarray) else v for k, v in after.items()}
    with np.errstate(all="ignore"):
        namespace[name](*arguments.values())
    accuracy = compare(benchmark, size, before, after)
    assert accuracy.ok, accuracy


def test_the_tracing_finds_a_race():
    def shift(A):
        for i in range(A.shape[0] - 1):
            A[i] = A[i + 1]

    loop = Loop(check=True)
    namespace = {"prange": loop}
    exec("def shift(A):\n  for i in prange(A.shape[0] - 1):\n    A[i] = A[i + 1]", namespace)
    with pytest.raises(AssertionError, match="iterations meet at"):
        namespace["shift"](traced(np.arange(4.0), "A", loop))


def test_every_kernel_says_which_loops_are_parallel():
    assert set(PARALLEL_LOOPS) == set(kernels.NAMES)


def test_numba_s_source_names_its_loops_and_keeps_float32():
    function = kernels.load("deriche").kernel.py_func
    text = numba_source(function, ("0:i",), "float32")
    first, second = loops_of(ast.parse(text))[:2]
    assert ast.unparse(first.iter) == "prange(imgIn.shape[0])" and ast.unparse(second.iter).startswith("range")
    assert "ym1 = np.float32(0.0)" in text
    with pytest.raises(ValueError, match="gemm has no loop 1:i; it has 0:i, 1:j, 2:k, 3:j"):
        numba_source(kernels.load("gemm").kernel.py_func, ("1:i",), "float64")


def test_c_knows_sizes_and_types():
    benchmark, _, arguments = example("jacobi_2d", (3, 9))
    text = c_source(benchmark.kernel.py_func, arguments, "float32")
    assert text.splitlines()[:9] == [
        "#include <math.h>",
        "",
        "void jacobi_2d(double (*restrict A)[9], double (*restrict B)[9])",
        "{",
        "    int i, j, t;",
        "    for (t = 0; t < 3; t += 1) {",
        "        for (i = 1; i < (9 - 1); i += 1) {",
        "            for (j = 1; j < (9 - 1); j += 1) {",
        "                B[i][j] = (0.2f * ((((A[i][j] + A[i][(j - 1)]) + A[i][(1 + j)]) + A[(1 + i)][j]) + A[(i - 1)][j]));",
    ]


def test_c_has_locals_arrays_powers_and_choices():
    texts = {}
    for name in ("durbin", "deriche", "nussinov"):
        benchmark, _, arguments = example(name)
        texts[name] = c_source(benchmark.kernel.py_func, arguments, benchmark.dtype)
    assert "    double alpha, beta, total;\n    static double z[5];" in texts["durbin"]
    assert "b1 = powf(2.0f, (-alpha));" in texts["deriche"] and "a1 = a5 = k;" in texts["deriche"]
    assert "for (j = (7 - 1); j > (-1); j += -1)" in texts["deriche"]
    assert "(((seq[i] + seq[j]) == 3) ? 1 : 0)" in texts["nussinov"]


def test_c_refuses_what_it_does_not_know():
    def remainder(A):
        for i in range(A.shape[0]):
            A[i] = A[i] % 2.0

    with pytest.raises(NotInC, match="Mod"):
        c_source(remainder, {"A": np.ones(3)}, "float64")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", kernels.NAMES)
def test_the_c_of_a_kernel_computes_what_the_reference_does(name):
    benchmark, size, before = example(name)
    after = copy.deepcopy(before)
    PEERS["gcc"].variants(benchmark, before, 1)[""](*after.values())
    accuracy = compare(benchmark, size, before, after)
    assert accuracy.ok, accuracy


def test_polybench_writes_a_row_for_each_peer_and_says_what_is_missing(tmp_path, capsys):
    file = tmp_path / "rows.json"
    command = ["--kernels", "gesummv", "seidel-2d", "--peers", "numpy", "--preset", "MINI"]
    assert driver.main([*command, "--threads", "1", "--repeat", "2", "--json", str(file)]) == 0
    rows = {(r["kernel"], r["peer"]): r for r in json.loads(file.read_text())["rows"]}
    assert list(rows) == [(k, p) for k in ("gesummv", "seidel_2d") for p in ("polyml", "numpy")]
    assert rows["gesummv", "polyml"]["ratio"] == 1.0 and rows["gesummv", "numpy"]["ratio"] > 0.0
    assert rows["gesummv", "numpy"]["error"] <= 1.0 and rows["gesummv", "numpy"]["runs"] == 2
    assert rows["seidel_2d", "numpy"]["failure"] == "unavailable"
    printed = capsys.readouterr().out
    assert "geometric mean of best peer / polyml over 1 kernels" in printed and "below 0.95" in printed
    assert "numpy: no NumPy form (seidel_2d)" in printed


def test_a_peer_that_takes_long_runs_once(tmp_path):
    benchmark, size, arguments = example("gesummv", (5,))
    expected = str(tmp_path / "expected.npz")
    worker.expect(expected, benchmark, arguments)
    rows = driver.compare("gesummv", size, "MINI", 1, ["polyml", "numpy"], repeat=3, budget_s=9.0, once_s=0.0, expected=expected)
    assert [row.runs for row in rows] == [0, 0] and all(row.seconds > 0.0 for row in rows)
    assert rows[1].ratio == rows[1].seconds / rows[0].seconds


def test_a_peer_that_dies_gets_no_figure():
    rows = driver.compare(
        "gesummv", {"N": 5}, "MINI", 1, ["numpy"], repeat=1, budget_s=1.0, once_s=1.0, expected="/nowhere/expected.npz"
    )
    assert [r.seconds for r in rows] == [None]
    assert rows[0].failure == "error" and rows[0].note.startswith("the process ended with")


def prepared(variants, tmp_path, monkeypatch):
    benchmark, size, arguments = example("gesummv", (5,))
    expected = str(tmp_path / "expected.npz")
    worker.expect(expected, benchmark, arguments)
    stand_in = peer.Peer("stand-in", "", lambda benchmark, arguments, threads: variants(benchmark), fixed_size=True)
    monkeypatch.setitem(PEERS, "stand-in", stand_in)
    return worker.prepare(worker.Job("stand-in", "gesummv", size, 1, 0, expected))


def wrong(benchmark):
    return lambda *values: {name: value + 1.0 for name, value in benchmark.reference(*values).items()}


def test_a_form_of_a_peer_that_is_wrong_does_not_count(tmp_path, monkeypatch):
    forms = prepared(lambda b: {"wrong one": wrong(b), "right one": b.reference}, tmp_path, monkeypatch)
    _, ready = forms
    assert ready.variant == "right one" and ready.accuracy.ok
    assert ready.excluded.startswith("wrong one: ") and "times the bound away from the reference" in ready.excluded


def test_a_peer_that_is_wrong_gets_no_figure(tmp_path, monkeypatch):
    failed = prepared(lambda b: {"": wrong(b)}, tmp_path, monkeypatch)
    assert failed.kind == "wrong" and "times the bound away from the reference" in failed.reason


def test_the_best_peer_of_a_kernel_is_the_fastest_that_has_a_figure():
    def row(kernel, peer, ratio, failure=""):
        return driver.Row(kernel, "MINI", 1, peer, 1.0, ratio, failure=failure)

    rows = [row("lu", "polyml", 1.0), row("lu", "gcc", 2.0), row("lu", "numba", 0.5), row("lu", "polly", None, "wrong")]
    rows += [row("adi", "polyml", 1.0), row("adi", "gcc", None, "unavailable"), row("mvt", "polyml", 1.0), row("mvt", "gcc", 3.0)]
    assert driver.best_peers(rows) == [driver.Best("lu", "numba", 0.5), driver.Best("mvt", "gcc", 3.0)]


def test_openmp_s_directives_say_which_scalars_are_private_and_which_are_sums():
    found = {}
    for name in ("durbin", "symm", "ludcmp", "gemm"):
        tree = function_tree(kernels.load(name).kernel.py_func)
        found[name] = [directive(loop) for loop in loops_named(tree, PARALLEL_LOOPS[name][:1])]
    assert found["durbin"] == ["omp parallel for reduction(+:total)"]
    assert found["symm"] == ["omp parallel for private(temp2)"]
    assert found["ludcmp"] == ["omp parallel for private(w)"]
    assert found["gemm"] == ["omp parallel for"]


def test_pythran_gets_the_types_of_the_arguments_and_a_directive_above_each_parallel_loop():
    benchmark, _, arguments = example("deriche", (5, 7))
    text = pythran_source(benchmark.kernel.py_func, arguments, ("0:i",), "float32")
    assert "# pythran export deriche(float32, float32[:,:], float32[:,:], float32[:,:], float32[:,:])" in text
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if "for i in" in line)
    assert lines[first - 1].strip().startswith("'omp parallel for private(") and "ym1 = np.float32(0.0)" in text
    assert text.count("omp parallel for") == 1


def test_pythran_s_module_computes_what_the_reference_does():
    pytest.importorskip("pythran")
    benchmark, size, before = example("symm", (5, 7))
    forms = PEERS["pythran"].variants(benchmark, before, 2)
    assert list(forms) == ["openmp", "serial"]
    for call in forms.values():
        after = copy.deepcopy(before)
        call(*after.values())
        accuracy = compare(benchmark, size, before, after)
        assert accuracy.ok, accuracy


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_pluto_s_output_is_what_gcc_compiles(tmp_path, monkeypatch):
    """A stand-in for polycc, which adds one to the result so that its output can be told from its input."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = tmp_path / "polycc"
    script = '#!/bin/sh\n[ "$1" = --version ] && exit\n[ "$1 $2 $4" = "--tile --noparallel -o" ] || exit 1\n'
    script += "grep -q '^#pragma scop$' $3 || exit 1\n sed 's/^#pragma endscop$/y[0] += 1.0;/; /^#pragma/d' $3 > $5\n"
    program.write_text(script)
    program.chmod(0o755)
    benchmark, _, before = example("gesummv", (5,))
    after = copy.deepcopy(before)
    PEERS["pluto"].variants(benchmark, before, 1)[""](*after.values())
    expected = benchmark.reference(*before.values())["y"]
    assert after["y"] == pytest.approx(expected + np.eye(5)[0])


def test_what_numba_keeps_is_found_by_the_next_process(tmp_path):
    pytest.importorskip("numba")
    benchmark, size, arguments = example("gesummv", (5,))
    expected = str(tmp_path / "expected.npz")
    worker.expect(expected, benchmark, arguments)
    for _ in range(2):
        (row,) = driver.compare("gesummv", size, "MINI", 2, ["numba"], repeat=1, budget_s=1.0, once_s=1.0, expected=expected)
        assert row.seconds is not None, row.note
    assert list(tmp_path.joinpath("cache", "polyml-benchmarks").rglob("*.nbc"))


def test_pluto_is_missing_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(c_peers.shutil, "which", lambda name: None)
    with pytest.raises(peer.PeerUnavailable, match="polycc"):
        PEERS["pluto"].variants(*example("gesummv", (5,))[::2], 1)


def test_what_is_built_is_kept_by_content_and_appears_whole(tmp_path):
    made = []

    def make(folder):
        made.append(folder)
        folder.joinpath("code").write_text(f"{len(made)}")
        if len(made) == 3:
            raise ValueError("interrupted")

    first = peer.built(make, "a", "b")
    assert peer.built(make, "a", "b") == first and first.joinpath("code").read_text() == "1" and len(made) == 1
    assert peer.built(make, "ab", "") != first and len(made) == 2
    with pytest.raises(ValueError, match="interrupted"):
        peer.built(make, "c")
    assert len(list(tmp_path.joinpath("cache", "polyml-benchmarks").iterdir())) == 2


def test_the_geometric_mean_of_ratios():
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert geometric_mean([]) is None
