"""Contractions of many forms, with caches so small that few elements need every level of blocks, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyml
from polyml.schedule.tiling import contraction_axes
from tests.codegen.forms import small_machine


@pytest.fixture(autouse=True)
def small_caches(monkeypatch):
    small_machine(monkeypatch)


def loops(equation: str, init: str = "acc = 0", update: str = "acc += {a}*{b}", last: str = "{c} = acc"):
    """The contraction as a function of plain loops, the result's outside."""
    inputs, c = equation.split("->")
    a, b = inputs.split(",")
    text = {"a": f"A[{', '.join(a)}]", "b": f"B[{', '.join(b)}]", "c": f"C[{', '.join(c)}]"}
    where = {d: f"{name}.shape[{dims.index(d)}]" for name, dims in (("A", a), ("B", b)) for d in dims}
    lines = ["def contraction(C, A, B):"]
    for depth, d in enumerate(c, 1):
        lines.append(f"{'    ' * depth}for {d} in range({where[d]}):")
    inside = "    " * (len(c) + 1)
    lines.append(inside + init.format(**text))
    summed = sorted(set(a + b) - set(c))
    for depth, d in enumerate(summed):
        lines.append(f"{inside}{'    ' * depth}for {d} in range({where[d]}):")
    lines.append(f"{inside}{'    ' * len(summed)}{update.format(**text)}")
    lines.append(inside + last.format(**text))
    return define("\n".join(lines) + "\n", "contraction")


def define(text: str, name: str):
    import linecache

    file = f"<{name} {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made: dict = {"np": np}
    exec(compile(text, file, "exec"), made)
    return made[name]


def operands(equation: str, extents: dict[str, int], dtype="float64", seed=0):
    inputs, c = equation.split("->")
    random = np.random.default_rng(seed)
    made = [random.integers(-9, 9, [extents[d] for d in dims]).astype(dtype) for dims in (c, *inputs.split(","))]
    return made


EQUATIONS = (
    "ik,kj->ij", "ki,jk->ij", "ik,jk->ji", "bik,bkj->bij", "ikl,klj->ij", "lki,kjl->ji", "kli,lj->kji", "kmli,ljm->kji",
    "njmi,mknl->lkji", "ap,srqp->srqa", "akbc,jk->cjba", "cabkd,kj->dcjba", "amji,cbkm->kjicba", "baie,cekj->kjicba",
)  # fmt: skip
EXTENTS = ((1, 1, 1, 1, 1, 1, 1, 1), (2, 3, 4, 5, 3, 2, 6, 4), (9, 17, 5, 3, 8, 4, 2, 7), (33, 5, 18, 9, 2, 7, 3, 4))


def extents_of(equation: str, numbers) -> dict[str, int]:
    return dict(zip(sorted(set(equation) - set("->,")), numbers))


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.sweep(keep=5)
def test_loops_give_what_numpy_gives(equation):
    compiled = polyml.kernel(cache=False, threads=3)(loops(equation))
    for numbers in EXTENTS:
        C, A, B = operands(equation, extents_of(equation, numbers))
        compiled(C, A, B)
        np.testing.assert_array_equal(C, np.einsum(equation, A, B))


@pytest.mark.parametrize("equation", EQUATIONS[::3])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_so_do_einsums_in_place(equation, dtype):
    kernel = define(f"def contraction(C, A, B):\n    C[...] = np.einsum('{equation}', A, B)\n", "contraction")
    compiled = polyml.kernel(cache=False, threads=2)(kernel)
    for numbers in EXTENTS[1:]:
        C, A, B = operands(equation, extents_of(equation, numbers), dtype)
        compiled(C, A, B)
        np.testing.assert_array_equal(C, np.einsum(equation, A, B))


@pytest.mark.parametrize(
    "form",
    [
        {"init": "{c} = 2*{c}", "update": "{c} += {a}*{b}", "last": "pass"},
        {"init": "{c} = -1", "update": "{c} += {a}*{b}", "last": "{c} = max({c}, 0)"},
        {"init": "acc = 1", "update": "acc -= 2*{a}*{b}", "last": "{c} += acc + 3"},
        {"init": "{c} = 0", "update": "{c} = max({c}, {a} + {b})", "last": "pass"},
    ],
    ids=["scaled", "activated", "added", "largest"],
)
@pytest.mark.parametrize("equation", ["ik,kj->ij", "bmji,cakm->kjicba"])
def test_what_is_done_with_each_element_before_and_after(equation, form):
    kernel = loops(equation, **form)
    compiled = polyml.kernel(cache=False, threads=3)(kernel)
    for numbers in EXTENTS[1:]:
        numbers = [min(n, 9) for n in numbers]
        C, A, B = operands(equation, extents_of(equation, numbers))
        wanted = C.copy()
        compiled(C, A, B)
        kernel(wanted, A, B)
        np.testing.assert_array_equal(C, wanted)


def convolution_nhwc(Y, X, W):
    for n in range(Y.shape[0]):
        for h in range(Y.shape[1]):
            for w in range(Y.shape[2]):
                for o in range(Y.shape[3]):
                    for r in range(W.shape[0]):
                        for s in range(W.shape[1]):
                            for c in range(X.shape[3]):
                                Y[n, h, w, o] += X[n, 2 * h + r, w + s, c] * W[r, s, c, o]


def convolution_nchw(Y, X, W):
    for n in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            for h in range(Y.shape[2]):
                for w in range(Y.shape[3]):
                    for c in range(X.shape[1]):
                        for r in range(W.shape[2]):
                            for s in range(W.shape[3]):
                                Y[n, o, h, w] += X[n, c, 2 * h + r, w + s] * W[o, c, r, s]


@pytest.mark.parametrize(
    "n, h, w, o, c, r, s", [(1, 5, 7, 9, 4, 3, 3), (3, 2, 18, 5, 6, 1, 2), (2, 4, 9, 17, 3, 3, 1), (6, 7, 7, 40, 8, 3, 3)]
)
def test_convolutions(n, h, w, o, c, r, s):
    random = np.random.default_rng(0)
    X = random.integers(-9, 9, (n, 2 * h + r, w + s, c)).astype("f4")
    W = random.integers(-9, 9, (r, s, c, o)).astype("f4")
    windows = np.lib.stride_tricks.sliding_window_view(X, (r, s), (1, 2))[:, : 2 * h : 2, :w]
    wanted = np.einsum("nhwcrs,rsco->nhwo", windows, W)
    Y = np.zeros((n, h, w, o), "f4")
    polyml.kernel(cache=False, threads=3)(convolution_nhwc)(Y, X, W)
    np.testing.assert_array_equal(Y, wanted)
    Y = np.zeros((n, o, h, w), "f4")
    channels_first = [np.ascontiguousarray(a) for a in (X.transpose(0, 3, 1, 2), W.transpose(3, 2, 0, 1))]
    polyml.kernel(cache=False, threads=3)(convolution_nchw)(Y, *channels_first)
    np.testing.assert_array_equal(Y, wanted.transpose(0, 3, 1, 2))


@st.composite
def contractions(draw):
    """Equations of up to six loops: each is the result's and one operand's, or both operands', or all three's."""
    names = "abcdef"[: draw(st.integers(3, 6))]
    roles = [draw(st.sampled_from(["left", "right", "depth", "batch"])) for _ in names]
    roles[:3] = ["left", "right", "depth"]
    held = {"A": ("left", "depth", "batch"), "B": ("right", "depth", "batch"), "C": ("left", "right", "batch")}
    dims = {array: [n for n, role in zip(names, roles) if role in held[array]] for array in held}
    a, b, c = ("".join(draw(st.permutations(dims[array]))) for array in ("A", "B", "C"))
    return f"{a},{b}->{c}", {n: draw(st.integers(1, 12)) for n in names}


@settings(max_examples=16, derandomize=True, deadline=None)
@given(contractions(), st.sampled_from(["float64", "float32"]), st.sampled_from(["reassociate", "strict"]), st.booleans())
def test_random_contractions(contraction, dtype, fp, across):
    """across: panels run across the result's rows wherever more of each vector is used so."""
    equation, extents = contraction
    C, A, B = operands(equation, extents, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contraction_axes, "ACROSS_GAIN", 100.0 if across else contraction_axes.ACROSS_GAIN)
        polyml.kernel(cache=False, threads=3, fp=fp)(loops(equation))(C, A, B)
    np.testing.assert_array_equal(C, np.einsum(equation, A, B))


# What else nests of three loops do


def update(body: str, *, k: str = "A.shape[1]", before: str = "pass", after: str = "pass") -> str:
    """A kernel of loops over the result's elements i, j, around a sum over k."""
    return f"""def kernel(C, A, B, x):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            {before}
            for k in range({k}):
                {body}
            {after}
"""


NESTS = {
    "offsets": update("C[i, j] += A[i + 1, k]*B[k, j + 2]"),
    "steps": update("C[i, j] += A[2*i, k]*B[k, 3*j]"),
    "from the end": update("C[i, j] += A[A.shape[0] - 1 - i, k]*B[k, -1 - j]"),
    "quotients and remainders": update("C[i, j] += A[i//2, k]*B[k, j % 5]"),
    "windows": update("C[i, j] += A[2*i + k, j]*B[k, j]", k="5"),
    "skewed": update("C[i, j] += A[i + j, k]*B[k, j]"),
    "three factors": update("C[i, j] -= A[i, k]*B[k, j]*x[k]"),
    "a condition on loops": update("if i > j + 2 or k > 3: C[i, j] += A[i, k]*B[k, j]"),
    "a condition on data": update("if B[k, j] > 0: C[i, j] += A[i, k]*B[k, j]"),
    "a lower triangle": update("C[i, j] += A[i, k]*B[k, j]", k="i + 1", after="C[i, j] = C[i, j]*2"),
    "an upper triangle": update("C[i, j] += A[i, k]*B[k, j]", k="i, A.shape[1]"),
    "in place": update("C[i, j] -= A[i, k]*C[k, j]", k="i", after="C[i, j] = min(max(C[i, j], -3), 3)"),
    "another sum first": update("C[i, j] += A[i, k]*B[k, j]", before="for l in range(3): C[i, j] += B[l, j]"),
    "a sum and a maximum": update("C[i, j] = max(C[i, j] + A[i, k]*B[k, j], x[i])"),
}  # fmt: skip


def check(text: str, *arguments, **options) -> None:
    """The kernel of that text on the arguments, compiled and as Python."""
    kernel = define(text, "kernel")
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel(*wanted)
    polyml.kernel(cache=False, **options)(kernel)(*arguments)
    for got, want in zip(arguments, wanted):
        np.testing.assert_array_equal(got, want)


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(float)


@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
def test_nests_that_are_nearly_contractions(text):
    check(text, integers(19, 18), integers(63, 33), integers(33, 63), integers(63), threads=3)


# What went wrong once


def test_panels_where_threads_shares_begin_anywhere():
    text = """def kernel(C, A, B, V):
    for e in range(C.shape[1]):
        for b in range(C.shape[0]):
            for a in range(C.shape[2]):
                C[b, e, a] = V[e]
                for k in range(A.shape[1]):
                    C[b, e, a] += A[a, k, e]*B[b, k]
"""
    for extent in (9, 13, 14):
        C, A, B, V = integers(20, extent, 5), integers(5, 3, extent), integers(20, 3), np.arange(float(extent))
        check(text, C, A, B, V, threads=3)


def test_a_local_array_whose_sizes_are_numbers_of_the_call():
    text = """def kernel(C, A, B, n, m):
    T = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                T[i, j] += A[i, k]*B[k, j]
    for i in range(n):
        for j in range(m):
            for k in range(m):
                C[i, j] += T[i, k]*B[0, j]
"""
    check(text, integers(9, 17), integers(9, 13), integers(13, 17), 9, 17)


@pytest.mark.parametrize("name", ["panel3", "c0", "last0", "A_tile0", "p", "S0", "mod", "α"])
def test_a_number_may_have_any_name(name):
    text = update(f"C[i, j] += A[i, k]*B[k, j]*{name}").replace("x)", f"{name})")
    check(text, integers(19, 18), integers(19, 33), integers(33, 18), 3, threads=2)


def one_in_place(C, D, A, B, E):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            for k in range(D.shape[0] - 1, -1, -1):
                D[i, j] += E[i, k] * D[k, j]


def test_a_contraction_that_must_keep_its_order_does_not_hinder_another():
    random = np.random.default_rng(0)
    C, A, B = (random.integers(-2, 3, (12, 12)).astype(float) for _ in range(3))
    D, E = (random.integers(-2, 3, (11, 11)).astype(float) for _ in range(2))
    wanted = C.copy(), D.copy()
    compiled = polyml.kernel(cache=False, threads=2)(one_in_place)
    compiled(C, D, A, B, E)
    one_in_place(*wanted, A, B, E)
    np.testing.assert_array_equal(C, wanted[0])
    np.testing.assert_array_equal(D, wanted[1])
    assert "contraction S0" in compiled.explain() and "contraction of S1 not laid out" in compiled.explain()


TRIANGLES = {
    "left operand above": ("C", "range(n)", "range(m)", "range(i + 1, n)", "C[i, j] += A[i, k] * B[k, j]"),
    "left operand below, turned": ("C", "range(n)", "range(m)", "range(i)", "C[i, j] += A[k, i] * B[k, j]"),
    "in place, from above": ("B", "range(n)", "range(m)", "range(i + 1, n)", "B[i, j] += A[k, i] * B[k, j]"),
    "in place, backwards": ("B", "range(n - 1, -1, -1)", "range(m)", "range(i)", "B[i, j] += A[i, k] * B[k, j]"),
    "solved from above": ("B", "range(n)", "range(m)", "range(i)", "B[i, j] -= A[i, k] * B[k, j]"),
    "right operand": ("C", "range(n)", "range(m)", "range(j, n)", "C[i, j] += A[i, k] * B[k, j]"),
    "both": ("C", "range(n)", "range(i, m)", "range(i, min(j + 1, n))", "C[i, j] += A[i, k] * B[k, j]"),
    "result": ("C", "range(n)", "range(min(i + 1, m))", "range(n)", "C[i, j] += alpha * A[i, k] * A[j, k]"),
    "result, two products": ("C", "range(n)", "range(min(i + 1, m))", "range(n)", "C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]"),
    "result above": ("C", "range(n)", "range(i, m)", "range(n)", "C[i, j] += A[i, k] * (2.0 - alpha * B[k, j])"),
    "parallelogram": ("C", "range(n)", "range(m)", "range(max(0, i - 5), min(n, i + 7))", "C[i, j] += A[k, i] * B[k, j]"),
}  # fmt: skip


@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("form", TRIANGLES)
def test_triangles(form, fp):
    """What diagonals cut of register tiles, at sizes around those of tiles; numbers are whole, so that all orders agree."""
    written, rows, columns, depth, update = TRIANGLES[form]
    text = (
        "def triangle(n, m, alpha, C, A, B):\n"
        f"    for i in {rows}:\n        for j in {columns}:\n            for k in {depth}:\n                {update}\n"
    )
    f = define(text, "triangle")
    k = polyml.kernel(cache=False, fp=fp, fallback="error")(f)
    for n, m in ((33, 18), (16, 40), (17, 17), (9, 35), (24, 3), (1, 1), (40, 1)):
        random = np.random.default_rng(n * m)
        C, A, B = (random.integers(-2, 3, (41, 41)).astype("f8") for _ in range(3))
        if written == "B":  # or numbers grow beyond what is exact
            A[:] = np.where(random.random(A.shape) < 0.1, A, 0)
        wanted = C.copy(), A, B.copy()
        f(n, m, 3.0, wanted[0], A, wanted[2])
        k(n, m, 3.0, C, A, B)
        assert np.array_equal(C, wanted[0]) and np.array_equal(B, wanted[2]), (n, m)


def test_a_product_with_a_number_is_made_once_in_a_copy():
    def scaled(C, A, B, alpha):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += alpha * A[i, k] * B[k, j]

    k = polyml.kernel(cache=False, fp="strict")(scaled)
    random = np.random.default_rng(0)
    C, A, B = random.random((40, 37)), random.random((40, 33)), random.random((33, 37))
    wanted = C.copy()
    for step in range(33):  # in the same order, with the same roundings but for that of fused multiply-adds
        wanted += (0.1 * A[:, step : step + 1]) * B[step]
    k(C, A, B, 0.1)
    assert np.allclose(C, wanted, rtol=1e-14, atol=0)
    assert "= alpha*A[" in k.inspect_ast()
