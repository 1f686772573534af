"""Nests that share one pass over an array: which do, at what cost, and that what is proved of them is true."""

from itertools import product

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml.errors import IllegalSchedule
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines import catalogue
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.pipeline.stages import extract
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from tests.model import polybench
from tests.schedule.scheduling import modelled

HOST = catalogue.processor("avx512")
ALONE = CpuMachine(**{**{f: getattr(HOST, f) for f in HOST.__dataclass_fields__}, "cores": 1})


def plan(scop, *, fp="reassociate", target=HOST, **settings):
    free = reductions(scop, fp)
    settings = {"tile": True, "parallel": True, **settings}
    return compute(scop, dependences(scop), ScheduleRequest(target, **settings), free), free


def marks(tree):
    found = []

    def visit(node):
        if node.get_type() == isl.schedule_node_type.mark:
            found.append(node.mark_get_id().get_name())
        for k in range(node.n_children()):
            visit(node.child(k))

    visit(tree.get_root())
    return found


def of(function, **values):
    return extract(infer(parse(function), tuple(arg_type(v, n) for n, v in values.items())))


@pytest.mark.parametrize("name, nests, mark", [
    ("mvt", 1, "parallel x2"), ("bicg", 3, "parallel s"), ("atax", 3, "parallel y"), ("gemver", 3, "parallel x"),
])  # fmt: skip
def test_matrices_are_read_as_few_times_as_dependences_allow(name, nests, mark):
    made, _ = plan(modelled(name).scop)
    assert mark in marks(made.tree)
    assert any(note.startswith(f"fusion model: {nests} nest") for note in made.notes)


@pytest.mark.parametrize("name", ["mvt", "bicg", "atax", "gemver"])
def test_strict_sums_stay_apart_where_that_keeps_threads(name):
    made, _ = plan(modelled(name).scop, fp="strict")
    assert all(m in ("parallel", "tile", "point") for m in marks(made.tree))
    assert not any("instead of" in note for note in made.notes)


@pytest.mark.parametrize("name", ["mvt", "bicg"])
def test_without_threads_the_order_of_sums_need_not_change(name):
    scop = modelled(name).scop
    for settings in ({"parallel": False}, {"target": ALONE}):
        made, _ = plan(scop, fp="strict", **settings)
        assert any("one pass instead of several" in note and note.endswith("on one thread") for note in made.notes)
        check_legal(made.tree, scop, dependences(scop))


def test_the_estimate_is_what_a_nest_touches_and_what_it_writes_again():
    scop = modelled("mvt").scop
    sizes = {p.name: 100 for p in scop.parameters}
    traffic = Traffic(scop, sizes)
    assert traffic.of(["S0"]) == 8 * (100 * 100 + 3 * 100)
    assert traffic.of(["S0", "S1"]) == 8 * (100 * 100 + 6 * 100)
    assert Traffic(scop, None).of(["S0"]) == 8 * (2000 * 2000 + 3 * 2000)


def reads_its_sum(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] = y[j] + A[i, j] * x[i]


def test_partial_results_that_something_else_reads_are_refused():
    def other(A, x, y):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                y[j] = y[j] + A[i, j]
                x[i] = x[i] + y[0]

    scop = of(other, A=np.ones((2, 2)), x=np.ones(2), y=np.ones(2))
    tree = isl.Schedule(
        '{ domain: "%s", child: { mark: "parallel x y", child: { schedule: "[{ S0[i, j] -> [(i)]; S1[i, j] -> [(i)] }]", '
        'child: { mark: "point", child: { schedule: "[{ S0[i, j] -> [(j)]; S1[i, j] -> [(j)] }]", child: { sequence: [ '
        '{ filter: "{ S0[i, j] }" }, { filter: "{ S1[i, j] }" } ] } } } } } }' % scop.domain
    )
    with pytest.raises(IllegalSchedule, match="partial results of x, y need a loop that does nothing else with them"):
        check_parallel(tree, scop, dependences(scop), reductions(scop, "reassociate"))


def test_only_updates_whose_order_is_free_have_partial_results():
    scop = of(reads_its_sum, A=np.ones((2, 2)), x=np.ones(2), y=np.ones(2))
    tree = isl.Schedule(
        '{ domain: "%s", child: { mark: "parallel%s", child: { schedule: "[{ S0[i, j] -> [(i)] }]", '
        'child: { mark: "point", child: { schedule: "[{ S0[i, j] -> [(j)] }]" } } } } }' % (scop.domain, " y")
    )
    check_parallel(tree, scop, dependences(scop), reductions(scop, "reassociate"))
    with pytest.raises(IllegalSchedule):
        check_parallel(tree, scop, dependences(scop), reductions(scop, "strict"))
    plain = isl.Schedule(str(tree).replace("parallel y", "parallel"))
    with pytest.raises(IllegalSchedule, match="cannot be parallel"):
        check_parallel(plain, scop, dependences(scop), reductions(scop, "reassociate"))


PIECES = {
    "rows": "r[i] += A[i, j] * c[j]",
    "columns": "d[j] += A[i, j] * q[i]",
    "turned": "e[i] += B[j, i] * q[j]",
    "needs rows": "d[j] -= A[i, j] * r[i]",
    "changes": "A[i, j] = A[i, j] + q[i] * c[j]",
    "other": "B[i, j] = B[i, j] - A[i, j]",
    "backwards": "B[i, j] = A[A.shape[0] - 1 - i, j] * 2.0",
    "largest": "r[i] = max(r[i], A[i, j])",
}


LONGER = [("rows", "columns", "turned"), ("changes", "columns", "rows"), ("rows", "needs rows", "changes", "columns")]


def written(names):
    """A kernel of one nest for each piece."""
    lines = ["def f(A, B, r, c, d, e, q):"]
    for name in names:
        i, j = ("A.shape[1]", "A.shape[0]") if name == "turned" else ("A.shape[0]", "A.shape[1]")
        lines += [f"    for i in range({i}):", f"        for j in range({j}):", f"            {PIECES[name]}"]
    return "\n".join(lines)


def arguments(n, m, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((n, m), (n, m), n, m, m, m, n)
    return [rng.integers(-2, 3, s).astype(float) for s in shapes]


COMBINED = [*product(PIECES, repeat=2), *LONGER]
FUSED = [  # a quarter of them in every way, all as the model chooses
    pytest.param(names, fusion, id="-".join((*names, fusion)))
    for names in COMBINED
    for fusion in ("no", "smart", "max", "model")
    if fusion == "model" or sum(map(len, names)) % 4 == 0
]


@pytest.mark.parametrize("names, fusion", FUSED)
@pytest.mark.sweep(keep=20)
def test_pairs_of_nests_compute_what_python_does(names, fusion, tmp_path, monkeypatch):
    (tmp_path / "pairs.py").write_text(written(names))
    space = {"np": np}
    exec(compile_text(tmp_path / "pairs.py"), space)
    f = space["f"]
    for fp, threads in (("reassociate", 2), ("strict", 2), ("reassociate", 1)):
        kernel = polyml.kernel(cache=False, fallback="error", threads=threads, fp=fp, fusion=fusion)(f)
        for n, m in ((0, 0), (1, 1), (0, 3), (9, 8), (19, 37)):
            got, expected = arguments(n, m), arguments(n, m)
            kernel(*got)
            f(*expected)
            for a, b in zip(got, expected):
                np.testing.assert_array_equal(a, b, err_msg=f"{fp} {threads} {n} {m}")


def compile_text(path):
    return compile(path.read_text(), str(path), "exec")


@pytest.mark.parametrize("fusion", ["no", "smart", "max", "model"])
@pytest.mark.parametrize("name", "mvt bicg atax gemver gesummv covariance k2mm jacobi_1d trisolv gramschmidt".split())
@pytest.mark.sweep(keep=20)
def test_every_choice_is_bit_identical_in_strict_mode(name, fusion):
    case = polybench.case(name)
    plain = [np.copy(v) if isinstance(v, np.ndarray) else v for v in case.args]
    given = [np.copy(v) if isinstance(v, np.ndarray) else v for v in case.args]
    case.function(*plain)
    kernel = polyml.kernel(cache=False, fallback="error", threads=2, fp="strict", fusion=fusion)(case.function)
    kernel(*given)
    assert f"fusion {fusion}" in kernel.explain()
    for a, b in zip(plain, given):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()


def test_a_product_beside_nests_that_share_a_pass():
    def f(A, B, C, r, c):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                r[i] += A[i, j]
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                c[j] += A[i, j]
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]

    rng = np.random.default_rng(0)
    A, B = (rng.integers(-3, 4, s).astype(float) for s in ((70, 90), (90, 110)))
    C, r, c = np.zeros((70, 110)), np.zeros(70), np.zeros(90)
    kernel = polyml.kernel(cache=False, fallback="error", threads=2)(f)
    kernel(A, B, C, r, c)
    np.testing.assert_array_equal(C, A @ B)
    np.testing.assert_array_equal(r, A.sum(1))
    np.testing.assert_array_equal(c, A.sum(0))
    assert "partial results of c" in kernel.explain() and "not laid out" not in kernel.explain()


def gradient(X, y, w, g):
    r = X @ w
    g += 1.0
    r -= y
    g += X.T @ r


def in_loops(X, y, w, g):
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            y[i] += X[i, k] * w[k]
    for k in range(X.shape[1]):
        g[k] = 1.0
    for i in range(X.shape[0]):
        y[i] = y[i] * y[i]
    for k in range(X.shape[1]):
        for i in range(X.shape[0]):
            g[k] += X[i, k] * y[i]


def weighted(X, y, w, g):  # what follows a row's sum comes between, in two nests, and what the first nest alone needs behind
    r = X @ w
    s = np.exp(r * 0.01)
    t = r * 2
    g += X.T @ (s - y)
    y[:] = t


def from_other_rows(X, y, w, g):  # the second nest reads sums of other rows
    r = X @ w
    s = r[::-1] - y
    g += X.T @ s


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function, fires", [(gradient, True), (weighted, True), (from_other_rows, False)])
@pytest.mark.parametrize("rows", [1, 7, 8, 65, 600])
def test_what_leads_from_one_nest_to_the_other_is_fused_with_both(function, fires, rows, threads):
    rng = np.random.default_rng(rows)
    given = [rng.random((rows, 300)), rng.random(rows), rng.random(300), rng.random(300)]
    wanted = [a.copy() for a in given]
    kernel = polyml.kernel(function, cache=False, threads=threads)
    kernel(*given)
    function(*wanted)
    for a, b in zip(given, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    assert ("tiles of 8 rows instead of several" in str(kernel.explain())) == fires


def test_a_row_s_sum_and_what_uses_it_move_the_matrix_once():
    scop = of(in_loops, X=np.ones((2, 2)), y=np.ones(2), w=np.ones(2), g=np.ones(2))
    made, free = plan(scop)
    (note,) = (note for note in made.notes if "instead of" in note)
    assert "tiles of 8 rows instead of several: 32," in note and "bytes instead of 64," in note
    assert any(mark.startswith("parallel ") for mark in marks(made.tree))
    check_legal(made.tree, scop, dependences(scop), free)
    check_parallel(made.tree, scop, dependences(scop), free)
    strict, _ = plan(scop, fp="strict")
    assert not any("instead of" in note for note in strict.notes)
