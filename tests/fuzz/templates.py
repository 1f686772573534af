"""Loop nests of known algorithms with random holes, so that tiling, skewing, fusion and reductions have work to do.

A template takes the random source and gives the text and the arguments; the sizes are drawn by the generator.
"""

from __future__ import annotations

import random

from tests.fuzz.product_templates import (
    added_to_elements,
    contraction,
    convolution,
    covariance,
    depth_and_point,
    doitgen,
    dot_product_matmul,
    elimination,
    factorization,
    matvec_pair,
    rows_of_products,
    small_products,
    sums_over_rows,
    symmetric_update,
    triangular_product,
    triangular_solve,
    two_products,
)
from tests.fuzz.program import NUMPY_NAME
from tests.fuzz.recurrence_templates import (
    alignment,
    at_argument_distance,
    at_distance,
    doubling,
    fading,
    folding,
    mirrored,
    recursive_filter,
    scan,
    shortest_paths,
)
from tests.fuzz.stencil_templates import as_long, fdtd, heat_3d, jacobi_1d, jacobi_2d, periodic_stencil, seidel
from tests.fuzz.template_parts import Made, any_element, arrays, half, nest


def row_reduction(rng: random.Random) -> Made:
    """A reduction along one dimension: sum, product, smallest or largest; by rows or by columns."""
    e = any_element(rng)
    first, second = rng.sample(["i", "j"], 2)
    ranges = {"i": "range(A.shape[0])", "j": "range(A.shape[1])"}
    op = rng.choice(
        [
            "R[i] += A[i, j]",
            "R[i] = min(R[i], A[i, j])",
            "R[j] = max(A[i, j], R[j])",
            "R[j] -= A[i, j]",
            "R[i] = R[i] + A[i, j] * A[i, j]",
            "R[i] = np.minimum(R[i], A[i, j])",
            "R[0] += A[i, j]",
        ]
    )
    shape = "M" if "R[j]" in op else "N"
    lines = ["def kernel(A, R):", *nest([(first, ranges[first]), (second, ranges[second])], [op])]
    return "\n".join(lines), arrays(e, A="N,M", R=shape)


def transposition(rng: random.Random) -> Made:
    """Copies with permuted, reversed and strided subscripts: locality without arithmetic."""
    e = any_element(rng)
    source = rng.choice(["A[j, i]", "A[A.shape[0] - 1 - j, i]", "A[j, -1 - i]", "A[j, i] + A[j, 0]"])
    return (
        f"""
def kernel(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] {rng.choice(["=", "+="])} {source}
""",
        arrays(e, A="M,N", B="N,M"),
    )


def triad(rng: random.Random) -> Made:
    """Several one-dimensional passes that may be fused, shifted against each other."""
    e = any_element(rng)
    d = rng.randint(0, 2)
    return (
        f"""
def kernel(A, B, C, D):
    n = A.shape[0]
    for i in range(n - {d}):
        B[i] = {half(e)} * A[i] + C[i]
    for i in range(n - {d}):
        D[i] = B[i] * C[i + {d}]
    for i in range({d}, n):
        A[i] = D[i - {d}] {rng.choice(["+", "-"])} B[i]
""",
        arrays(e, A="N", B="N", C="N", D="N"),
    )


def masked(rng: random.Random) -> Made:
    """Counts and sums of the elements that satisfy a condition on data."""
    e = any_element(rng)
    other = rng.choice(["else:\n                R[j] -= 1", ""])
    return (
        f"""
def kernel(A, M, R):
    count = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if M[i, j]{rng.choice([" and A[i, j] > 1", ""])}:
                R[j] += A[i, j]
                count += 1
            {other}
    return count
""".rstrip()
        + "\n",
        (*arrays(e, A="N,M"), *arrays("bool", M="N,M"), *arrays(e, R="M")),
    )


def batched(rng: random.Random) -> Made:
    e = any_element(rng)
    loops = [("n", "range(A.shape[0])"), ("i", "range(A.shape[1])"),
             ("j", "range(B.shape[2])"), ("k", "range(A.shape[2])")]  # fmt: skip
    rng.shuffle(loops)
    lines = ["def kernel(A, B, C):", *nest(loops, ["C[n, i, j] += A[n, i, k] * B[n, k, j]"])]
    return "\n".join(lines), arrays(e, A="3,N,K", B="3,K,M", C="3,N,M")


def pivots(rng: random.Random) -> Made:
    """All elements updated by the row and the column of each step, which the step updates as well."""
    e = rng.choice(["i64", "i32", "u8"])
    k = rng.choice(["range(A.shape[0])", "range(A.shape[0] - 1, -1, -1)", "range(1, A.shape[0])"])
    inner = [("i", "range(A.shape[0])"), ("j", "range(A.shape[0])")]
    rng.shuffle(inner)
    column, row = rng.choice(["A[i, k]", "A[i, k]", "A[k, i]", "2"]), rng.choice(["A[k, j]", "A[k, j]", "A[k, k]", "A[j, k]"])
    term = f"{column} {rng.choice('+-*')} {row}"
    value = rng.choice([f"min(A[i, j], {term})", f"A[i, j] + {term}", f"A[i, j] if A[i, j] > {term} else {term}"])
    return "\n".join(["def kernel(A):", *nest([("k", k), *inner], [f"A[i, j] = {value}"])]), arrays(e, A="N,N")


def several_loops(rng: random.Random) -> Made:
    """Sums over one to three loops for elements with three or four subscripts, of operands that each move along some of these."""
    e, deep = any_element(rng), rng.random() < 0.5
    first = rng.choice(["i", "i", "i + p", "2 * i + p", "i + W.shape[2] - 1 - p"]) if deep else "i"
    update = rng.choice(["{y} += {x} * {w}", "{y} += {x} * {w}", "{y} = max({y}, {x} - {w})", "{y} -= {w} * {x} * 2"])
    loops = [
        ("n", "range(Y.shape[0])"),
        ("f", rng.choice(["range(Y.shape[1])", "range(1, Y.shape[1])"])),
        ("i", "range(Y.shape[2])"),
    ]
    inner = [("c", "range(W.shape[1])"), ("p", rng.choice(["range(W.shape[2])", "range(W.shape[2] - 1, -1, -1)"]))][: 1 + deep]
    rng.shuffle(loops)
    rng.shuffle(inner)
    at, x, w = "Y[n, f, i]", f"X[n, c, {first}]", "W[f, c, p]" if deep else "W[f, c, 0]"
    body = [f"for {v} in {r}:" for v, r in inner]
    lines = ["    " * k + line for k, line in enumerate([*body, update.format(y=at, x=x, w=w)])]
    before = rng.choice([[], [f"{at} = 0"], [f"{at} = W[f, 0, 0] * 2"]])
    after = rng.choice([[], [], [f"{at} = max({at}, 0)"]])
    sizes = rng.choice([(1, 3), (2, 9), (3, 17)])
    shapes = {"Y": f"{sizes[0]},{sizes[1]},N", "X": f"{sizes[0]},M,2 * N + 3", "W": f"{sizes[1]},M,3"}
    return "\n".join(["def kernel(Y, X, W):", *nest(loops, [*before, *lines, *after])]), arrays(e, **shapes)


def temporaries(rng: random.Random) -> Made:
    """Local arrays one after the other, each made from those before it in another order, so that some are dead while others begin."""
    e, count = any_element(rng), rng.randint(3, 6)
    kind = {"f": "np.float", "i": "np.int", "u": "np.uint"}[e[0]] + {"u8": "8"}.get(e, e[1:])
    lines = ["def kernel(A, B):", "    N = A.shape[0]"]
    extents = [rng.choice(["N", "N", "N + 2", "2*N"]) for _ in range(count)]
    lines += [f"    T{k} = np.{rng.choice(['empty', 'zeros'])}({extent}, dtype={kind})" for k, extent in enumerate(extents)]
    index = {"forth": "i", "back": "N - 1 - i", "first": "0"}
    nests: list[str] = []
    for k in range(count):
        sources = [f"T{s}" for s in rng.sample(range(max(0, k - 3), k), min(k, 2))] or ["A"]
        terms = [f"{s}[{index[rng.choice(list(index))]}]" for s in sources] + [f"{sources[0]}[N - 1 - i]"]
        nests += nest(
            [("i", rng.choice(["range(N)"] * 9 + ["range(1, N)"]))], [f"T{k}[i] = {rng.choice([' + ', ' - ']).join(terms)}"]
        )
    if rng.random() < 0.5:
        lines = [line.replace("np.zeros", "np.empty") for line in lines]
        again = nest([("i", "range(N)")], [f"A[i] = T{count - 1}[N - 1 - i] - T{count - 2}[0]"])
        nests = ["    for t in range(2):", *(f"    {line}" for line in (*nests, *again))]
    lines += nests
    lines += nest([("i", "range(N)")], [f"B[i] = T{count - 1}[N - 1 - i] + T{rng.randrange(max(0, count - 3), count)}[i]"])
    return "\n".join(lines), arrays(e, A="N", B="N")


def other_shape(rng: random.Random) -> Made:
    """A product or a sum in a local array, of which an array of another shape is made, in the order of rows or nearly so."""
    e = any_element(rng)
    kind = f"np.{NUMPY_NAME[e]}"
    a, b, c, m = rng.choice([2, 3]), rng.choice([2, 4]), rng.choice([3, 4, 8]), rng.choice([2, 5, 9])
    one, other = (a, b * c), (a * b, c)
    if rng.random() < 0.5:
        one, other = other, one
    lines = ["def kernel(A, B, C):", f"    T = np.empty(({one[0]}, {one[1]}, {m}), dtype={kind})"]
    update = rng.choice(["T[g, r, k] += A[g, r, d] * B[d, k]", "T[g, r, k] = max(T[g, r, k], A[g, r, d] - B[d, k])"])
    of_source = [("g", f"range({one[0]})"), ("r", f"range({one[1]})"), ("k", f"range({m})")]
    lines += nest(of_source, ["T[g, r, k] = 0", "for d in range(A.shape[2]):", f"    {update}"])
    number = f"({other[1]} * h + i)"
    element = f"T[{number} // {one[1]}, {number} % {one[1]}, k]"
    change = rng.choice([element, f"max({element}, 0)", f"{element} * 2 - B[0, k]", f"{element} + A[0, 0, 0]", f"{element} - h"])
    stop = rng.choice([f"{other[0]}", f"{other[0]}", f"{other[0]}", f"{other[0] - 1}"])
    lines += nest([("h", f"range({stop})"), ("i", f"range({other[1]})"), ("k", f"range({m})")], [f"C[h, i, k] = {change}"])
    return "\n".join(lines), arrays(e, A=f"{one[0]},{one[1]},N", B=f"N,{m}", C=f"{other[0]},{other[1]},{m}")


TEMPLATES = (
    rows_of_products, rows_of_products, sums_over_rows, depth_and_point,
    fading,
    small_products, small_products,
    at_distance, at_argument_distance, at_argument_distance,
    pivots, mirrored,
    elimination,
    contraction, contraction, dot_product_matmul, two_products, symmetric_update, triangular_product, triangular_solve,
    factorization, jacobi_1d, jacobi_2d, heat_3d, seidel, periodic_stencil, fdtd, as_long, as_long, scan, row_reduction, covariance,
    convolution, matvec_pair, doitgen, shortest_paths, alignment, folding, recursive_filter, transposition, triad,
    doubling, masked, batched, several_loops, temporaries, other_shape, added_to_elements,
)  # fmt: skip
