"""The sources that benchmarks/ gives to the peers compute what the kernels do; loops marked parallel are parallel."""

import ast
import copy
import json
import math
import shutil

import numpy as np
import pytest

import kernels
from benchmarks import compare as driver
from benchmarks.c_source import NotInC, c_source
from benchmarks.loops import loops_of
from benchmarks.numba_source import numba_source
from benchmarks.parallel_loops import PARALLEL_LOOPS
from benchmarks.peers import PEERS
from kernels._accuracy import compare

# In step k every iteration reads row and column k, which step k itself leaves as they are: it writes the values
# that are there already.
REWRITES_THE_SAME = {"floyd_warshall"}


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
        "                B[i][j] = (0.2f * ((((A[i][j] + A[i][(j - 1)]) + A[i][(1 + j)]) + A[(1 + i)][j])"
        " + A[(i - 1)][j]));",
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


def test_compare_writes_a_row_for_each_peer_and_says_what_is_missing(tmp_path, capsys):
    file = tmp_path / "rows.json"
    command = ["--kernels", "gesummv", "seidel-2d", "--peers", "polyml", "numpy", "--preset", "MINI"]
    assert driver.main([*command, "--threads", "1", "--repeat", "2", "--json", str(file)]) == 0
    rows = {(r["kernel"], r["peer"]): r for r in json.loads(file.read_text())["rows"]}
    assert list(rows) == [(k, p) for k in ("gesummv", "seidel_2d") for p in ("polyml", "numpy")]
    assert rows["gesummv", "polyml"]["ratio"] == 1.0 and rows["gesummv", "numpy"]["ratio"] > 0.0
    assert rows["gesummv", "numpy"]["error"] <= 1.0
    assert rows["seidel_2d", "numpy"]["note"] == "unavailable: no NumPy form"
    assert "seidel_2d" in capsys.readouterr().out


def test_a_peer_that_is_wrong_or_dies_gets_no_figure():
    rows = driver.compare("gesummv", {"N": 5}, "MINI", 1, ["numpy"], 1, 1.0, "/nowhere/expected.npz", 0)
    assert [r.seconds for r in rows] == [None]
    assert rows[0].note.startswith("error: the process ended with")


def test_the_geometric_mean_of_ratios():
    assert driver.geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert driver.geometric_mean([]) is None
