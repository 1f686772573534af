"""Recurrences with random holes: scans, filters, distances, tables that later elements need. A template is as in `templates`."""

from __future__ import annotations

import random

from tests.fuzz.program import Argument
from tests.fuzz.template_parts import Made, any_element, arrays, half, nest


def scan(rng: random.Random) -> Made:
    """A prefix sum or another first-order recurrence, forwards or backwards, in a scalar or through the array."""
    e = any_element(rng)
    op = rng.choice(["s = s + A[i]", "s = max(s, A[i])", f"s = A[i] + {half(e)} * s", "s += A[i] * A[i]"])
    order = rng.choice(["range(A.shape[0])", "range(A.shape[0] - 1, -1, -1)"])
    zero = "0.0" if e[0] == "f" else "0"
    if rng.random() < 0.5:
        return (
            f"""
def kernel(A, P):
    s = {zero}
    for i in {order}:
        {op}
        P[i] = s
    return s
""",
            arrays(e, A="N", P="N"),
        )
    return (
        f"""
def kernel(A, P):
    for i in range(1, A.shape[0]):
        P[i] = P[i - 1] {rng.choice(["+", "-", "*"])} A[i]
""",
        arrays(e, A="N", P="N"),
    )


def shortest_paths(rng: random.Random) -> Made:
    e = any_element(rng)
    relax = rng.choice(
        ["D[i, j] = min(D[i, j], D[i, k] + D[k, j])", "D[i, j] = D[i, j] if D[i, j] < D[i, k] + D[k, j] else D[i, k] + D[k, j]"]
    )
    return (
        f"""
def kernel(D):
    for k in range(D.shape[0]):
        for i in range(D.shape[0]):
            for j in range(D.shape[0]):
                {relax}
""",
        arrays(e, D="N,N"),
    )


def alignment(rng: random.Random) -> Made:
    """Dynamic programming over two sequences: a wavefront with a data-dependent value."""
    e = rng.choice(["i32", "i64", "f64", "i16"])
    score = rng.choice(["1 if a[i - 1] == b[j - 1] else 0", "2 if a[i - 1] < b[j - 1] else -1"])
    return (
        f"""
def kernel(a, b, H):
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            H[i, j] = max(H[i - 1, j - 1] + ({score}), max(H[i - 1, j], H[i, j - 1]))
    return H
""",
        (*arrays(rng.choice(["i8", "i32"]), a="N", b="M"), *arrays(e, H="N + 1,M + 1")),
    )


def folding(rng: random.Random) -> Made:
    """nussinov-like: a triangular table filled from the last row upwards."""
    e = rng.choice(["i32", "i64", "f64"])
    return (
        f"""
def kernel(s, T):
    n = s.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                T[i, j] = max(T[i, j], T[i, j - 1])
            if i + 1 < n:
                T[i, j] = max(T[i, j], T[i + 1, j])
            if {rng.choice(["i < j - 1", "i + 1 < j"])}:
                T[i, j] = max(T[i, j], T[i + 1, j - 1] + (1 if s[i] + s[j] == 3 else 0))
            for k in range(i + 1, j):
                T[i, j] = max(T[i, j], T[i, k] + T[k + 1, j])
""",
        (*arrays("i32", s="N"), *arrays(e, T="N,N")),
    )


def recursive_filter(rng: random.Random) -> Made:
    """deriche-like: scalars carried along each row, forwards and backwards, then combined."""
    e = rng.choice(["f64", "f32", "i64"])
    zero, a = ("0.0", "0.3") if e[0] == "f" else ("0", "2")
    return (
        f"""
def kernel(X, Y1, Y2, Z):
    for i in range(X.shape[0]):
        y1 = {zero}
        x1 = {zero}
        for j in range(X.shape[1]):
            Y1[i, j] = {a} * X[i, j] + x1 - {a} * y1
            x1 = X[i, j]
            y1 = Y1[i, j]
    for i in range(X.shape[0]):
        y1 = {zero}
        for j in range(X.shape[1] - 1, -1, -1):
            Y2[i, j] = X[i, j] + {a} * y1
            y1 = Y2[i, j]
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Z[i, j] = Y1[i, j] + Y2[i, j]
""",
        arrays(e, X="N,M", Y1="N,M", Y2="N,M", Z="N,M"),
    )


def doubling(rng: random.Random) -> Made:
    """A butterfly level: strides, halves and remainders in the subscripts."""
    e = any_element(rng)
    return (
        f"""
def kernel(A, B):
    for i in range(A.shape[0] // 2):
        B[2 * i] = A[i] + A[i + A.shape[0] // 2]
        B[2 * i + 1] = A[i] - A[{rng.choice(["i // 2", "i % 4", "2 * i + 1", "-1 - i"])}]
    return B
""",
        arrays(e, A="2 * N + 4", B="2 * N + 4"),
    )


def mirrored(rng: random.Random) -> Made:
    """Elements updated by those that lie across a middle, or by a row that is one of them."""
    e = any_element(rng)
    other = rng.choice(["A[A.shape[0] - 1 - i, j]", "A[i, A.shape[1] - 1 - j]", "A[0, j]", "A[i, 0]", "A[-1, j]", "A[i - 1, j]"])
    loops = [("i", "range(A.shape[0])"), ("j", "range(A.shape[1])")]
    rng.shuffle(loops)
    return "\n".join(["def kernel(A):", *nest(loops, [f"A[i, j] = A[i, j] * 2 - {other}"])]), arrays(e, A="N,M")


def at_distance(rng: random.Random) -> Made:
    """Elements of a row that depend on earlier or later ones of it at a few distances, in one statement or two."""
    e = any_element(rng)
    far, near = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17]), rng.choice([0, 0, 1, 2, 3, 5, 8])
    ahead = rng.random() < 0.4
    first = f"range({far}, A.shape[1] - {near})"
    before, after = f"[i, j - {far}]", f"[i, j + {near}]"
    term = rng.choice(["B[i, j]", f"B{after}", f"A{after}", "2", "i"])
    statements = [f"A[i, j] = {'A' + after if ahead else 'A' + before} * {half(e)} + {term}"]
    if rng.random() < 0.4:
        statements.append(rng.choice([f"B{after} = A[i, j] - 1", f"B[i, j] = A{before} + B{after}", f"B[i, j] += A{after}"]))
        rng.shuffle(statements)
    if rng.random() < 0.3:
        return "\n".join(["def kernel(A, B):", *nest([("i", "range(1)"), ("j", first)], statements)]), arrays(
            e, A="1,5 * N", B="1,5 * N"
        )
    loops = [("i", rng.choice(["range(A.shape[0])", "range(1, A.shape[0])"])), ("j", first)]
    return "\n".join(["def kernel(A, B):", *nest(loops, statements)]), arrays(e, A="N,2 * M + 20", B="N,2 * M + 20")


def at_argument_distance(rng: random.Random) -> Made:
    """Elements of a row that depend on others of it at a distance that is an argument, which may be short, long, zero or negative."""
    e = any_element(rng)
    distance = Argument("d", "int", value=rng.choice(["N", "2 * N", "M + 20", "N - 4", "3 * K", "-2", "1", "0", "24", "50"]))
    bounds = "range(max(d, 0), A.shape[1] + min(d, 0))"
    term = rng.choice(["B[i, j]", "B[i, j - d]", "A[i, j] * 2", "2", "i"])
    statements = [f"A[i, j] = A[i, j - d] * {half(e)} + {term}"]
    if rng.random() < 0.4:
        statements.append(rng.choice(["B[i, j] = A[i, j] - 1", "B[i, j - d] = A[i, j] + 1", "B[i, j] += A[i, j - d]"]))
        rng.shuffle(statements)
    if rng.random() < 0.3:
        bounds = "range(A.shape[1] - 1 + min(d, 0), max(d, 0) - 1, -1)"
    loops = [("i", rng.choice(["range(A.shape[0])", "range(1, A.shape[0])"])), ("j", bounds)]
    if rng.random() < 0.6:  # rows are not independent
        statements[0] += " + A[i - 1, j]"
        loops[0] = ("i", "range(1, A.shape[0])")
    return "\n".join(["def kernel(A, B, d):", *nest(loops, statements)]), (
        *arrays(e, A="N,5 * M + 60", B="N,5 * M + 60"),
        distance,
    )


def fading(rng: random.Random) -> Made:
    """Each row's numbers added up after what came before is multiplied by a constant: through elements or through a scalar."""
    e = rng.choice(["f64", "f64", "f32"])
    factor, term = (
        rng.choice(["0.5", "0.9", "-0.75", "1.0", "1.25"]),
        rng.choice(["B[i, j]", "B[i, j] * 0.25", "B[i, j] - B[0, j]"]),
    )
    if rng.random() < 0.5:
        step = rng.choice([f"A[i, j] = {factor} * A[i, j - 1] + {term}", f"A[i, j] = {term} - A[i, j - 1] * {factor}"])
        loops = [("i", "range(A.shape[0])"), ("j", rng.choice(["range(1, A.shape[1])", "range(1 + i, A.shape[1])"]))]
        return "\n".join(["def kernel(A, B):", *nest(loops, [step])]), arrays(e, A="N,3 * M", B="N,3 * M")
    use = [
        "    " + line
        for line in [f"x = x * {factor} + {term}", rng.choice(["A[i, j] = x", "A[i, j] += x", "A[i, j] = x * B[i, j]"])]
    ]
    rng.shuffle(use)
    body = ["x = B[i, 0]", "for j in range(A.shape[1]):", *use]
    return "\n".join(["def kernel(A, B):", *nest([("i", "range(A.shape[0])")], body)]), arrays(e, A="N,3 * M", B="N,3 * M")
