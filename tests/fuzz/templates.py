"""Loop nests of known algorithms with random holes, so that tiling, skewing, fusion and reductions have work to do.

A template takes the random source and gives the text and the arguments; the sizes are drawn by the generator.
"""

from __future__ import annotations

import random

from tests.fuzz.program import NUMPY_NAME, Argument

Made = tuple[str, tuple[Argument, ...]]


def _element(rng: random.Random) -> str:
    return rng.choices(["f64", "f32", "i64", "i32", "u8"], [8, 3, 3, 2, 1])[0]


def _arrays(element: str, **shapes: str) -> tuple[Argument, ...]:
    """A="N,M" gives an array of shape (N, M)."""
    return tuple(Argument(name, element, tuple(s for s in shape.split(",") if s)) for name, shape in shapes.items())


def _nest(loops: list[tuple[str, str]], body: list[str]) -> list[str]:
    """The loops around the body, each line indented; loops: (variable, range)."""
    lines = ["    " * (d + 1) + f"for {v} in {r}:" for d, (v, r) in enumerate(loops)]
    return lines + ["    " * (len(loops) + 1) + line for line in body]


def _half(element: str) -> str:
    return "0.5" if element[0] == "f" else "3"


def contraction(rng: random.Random) -> Made:
    """C += A * B in any loop order, operands possibly transposed, with a first or a last scaling."""
    e = _element(rng)
    loops = [("i", "range(C.shape[0])"), ("j", "range(C.shape[1])"), ("k", "range(K)")]
    rng.shuffle(loops)
    ta, tb = rng.random() < 0.4, rng.random() < 0.4
    a, b = ("A[k, i]" if ta else "A[i, k]"), ("B[j, k]" if tb else "B[k, j]")
    lines = ["def kernel(A, B, C):", f"    K = A.shape[{0 if ta else 1}]"]
    if rng.random() < 0.6:
        lines += _nest(
            [("i", "range(C.shape[0])"), ("j", "range(C.shape[1])")],
            [rng.choice(["C[i, j] = 0", "C[i, j] *= 2", f"C[i, j] = C[i, j] * {_half(e)}"])],
        )
    factor = rng.choice(["", "", f"{_half(e)} * "])
    lines += _nest(loops, [f"C[i, j] {rng.choice(['+=', '+=', '-='])} {factor}{a} * {b}"])
    return "\n".join(lines), _arrays(e, A="K,N" if ta else "N,K", B="M,K" if tb else "K,M", C="N,M")


def dot_product_matmul(rng: random.Random) -> Made:
    e = _element(rng)
    zero = "0.0" if e[0] == "f" else "0"
    update = rng.choice(["s += A[i, k] * B[k, j]", "s = s + A[i, k] * B[k, j]", "s = max(s, A[i, k] + B[k, j])"])
    return (
        f"""
def kernel(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            s = {rng.choice([zero, "C[i, j]", "A[i, 0]"])}
            for k in range(A.shape[1]):
                {update}
            C[i, j] {rng.choice(["=", "+="])} s
""",
        _arrays(e, A="N,K", B="K,M", C="N,M"),
    )


def two_products(rng: random.Random) -> Made:
    e = _element(rng)
    local = rng.random() < 0.5
    body = ["def kernel(A, B, C, D%s):" % ("" if local else ", T")]
    if local:
        name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
        body.append(f"    T = np.{rng.choice(['zeros', 'empty'])}((A.shape[0], B.shape[1]), dtype=np.{name})")
    body += _nest(
        [("i", "range(A.shape[0])"), ("j", "range(B.shape[1])")],
        ["T[i, j] = 0", "for k in range(A.shape[1]):", "    T[i, j] += A[i, k] * B[k, j]"],
    )
    body += _nest(
        [("i", "range(A.shape[0])"), ("j", "range(C.shape[1])")],
        [f"D[i, j] *= {_half(e)}", "for k in range(B.shape[1]):", "    D[i, j] += T[i, k] * C[k, j]"],
    )
    arrays = _arrays(e, A="N,K", B="K,M", C="M,N", D="N,N", **({} if local else {"T": "N,M"}))
    return "\n".join(body), arrays


def rows_of_products(rng: random.Random) -> Made:
    """A product whose rows are changed, reduced or normalised, and perhaps a second one of these rows."""
    e = _element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    again = rng.random() < 0.6
    body = ["def kernel(A, B, C, D):", "    N, M, K = A.shape[0], B.shape[1], A.shape[1]"]
    body += [f"    T = np.empty((N, M), dtype=np.{name})", f"    r = np.empty(N, dtype=np.{name})"]
    rows, elements = ("i", "range(N)"), ("j", "range(M)")
    product = "T[i, j] += A[i, k] * B[k, j]"
    body += _nest([rows, elements], ["T[i, j] = 0", "for k in range(K):", f"    {product}"])
    for _ in range(rng.randint(1, 3)):
        mask = f"T[i, j] = {rng.choice(['T[i, j] if j <= i + 1 else 1', '2 if i < j else T[i, j]', 'T[i, j] if i - 2 < j else 0'])}"
        change = rng.choice(["T[i, j] = max(T[i, j], 0)", "T[i, j] += C[j, 0]", "T[i, j] = T[i, j] * 2 - A[i, 0]", mask])
        reduce = rng.choice(["r[i] = max(r[i], T[i, j])", "r[i] += T[i, j]", "r[i] = min(r[i], T[i, j] + 1)"])
        choice = rng.random()
        if choice < 0.15:
            body += ["    U = np.empty((N, M), dtype=T.dtype)"]
            body += _nest([rows, elements], [rng.choice(["U[i, j] = T[i, j] * 2", "U[i, j] = T[i, j] - C[j, 0]"])])
            body += _nest([rows, elements], [rng.choice(["T[i, j] = max(U[i, j], 0)", "T[i, j] += U[i, j]"])])
        elif choice < 0.4:
            body += _nest([rows, elements], [change])
        else:
            body += _nest([rows], ["r[i] = T[i, 0]" if "= m" in reduce else "r[i] = 0", "for j in range(M):", f"    {reduce}"])
            body += _nest([rows, elements], [rng.choice(["T[i, j] -= r[i]", "T[i, j] = max(T[i, j], r[i])", change])])
    if again:
        first = rng.choice(["D[i, j] = 0", f"D[i, j] *= {_half(e)}"])
        body += _nest([rows, ("j", "range(N)")], [first, "for k in range(M):", "    D[i, j] += T[i, k] * C[k, j]"])
    else:
        body += _nest([rows], ["for j in range(M):", f"    D[i, 0] {rng.choice(['+=', '-='])} T[i, j]"])
    return "\n".join(body), _arrays(e, A="N,K", B="K,M", C="M,N", D="N,N")


def sums_over_rows(rng: random.Random) -> Made:
    """A product whose rows are changed and then add to what does not move with them: a number, a row, or another product."""
    e = _element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    body = ["def kernel(A, B, C, D, E):", "    N, M, K = A.shape[0], B.shape[1], A.shape[1]"]
    body += [f"    T = np.empty((N, M), dtype=np.{name})"]
    rows, elements, depth = ("i", "range(N)"), ("j", "range(M)"), ("k", "range(K)")
    body += _nest([rows, elements], ["T[i, j] = 0", "for k in range(K):", "    T[i, j] += A[i, k] * B[k, j]"])
    if rng.random() < 0.6:
        change = ["T[i, j] = max(T[i, j], 0)", "T[i, j] -= A[i, 0]", "T[i, j] = T[i, j] * 2 - B[0, j]"]
        body += _nest([rows, elements], [rng.choice(change)])
    for _ in range(rng.randint(1, 3)):
        update = rng.choice(
            ["C[j] += T[i, j]", "C[j] = max(C[j], T[i, j])", "E[0] += T[i, j] * T[i, j]", "D[k, j] += A[i, k] * T[i, j]"]
        )
        loops = [rows, elements, *([depth] if "D" in update else [])]
        rng.shuffle(loops)
        if "C" in update and rng.random() < 0.5:
            body += _nest([elements], [rng.choice(["C[j] = 0", f"C[j] *= {_half(e)}"])])
        body += _nest(loops, [update])
    if rng.random() < 0.5:
        body += _nest([elements], ["C[j] += E[0]"])
    return "\n".join(body), _arrays(e, A="N,K", B="K,M", C="M", D="K,M", E="1")


def depth_and_point(rng: random.Random) -> Made:
    """A sum over the windows of each channel, and a product over channels behind it, which begins with another loop."""
    e = _element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    taps = rng.randint(1, 3)
    body = [
        "def kernel(A, B, C, D):",
        "    N, M = A.shape[1], A.shape[2]",
        f"    T = np.zeros((A.shape[0], N, M), dtype=np.{name})",
    ]
    loops = [("c", "range(A.shape[0])"), ("i", "range(N)"), ("j", f"range(M - {taps - 1})")]
    body += _nest(loops, [f"for q in range({taps}):", "    T[c, i, j] += A[c, i, j + q] * B[c, q]"])
    if rng.random() < 0.5:
        body += _nest(rng.sample(loops, 3), [rng.choice(["T[c, i, j] = max(T[c, i, j], 0)", "T[c, i, j] -= A[c, i, j]"])])
    axes = [("o", "range(D.shape[0])"), *loops[1:]]
    if rng.random() < 0.3:
        axes = [axes[1], axes[0], axes[2]]
    body += _nest(axes, ["for c in range(A.shape[0]):", "    D[o, i, j] += T[c, i, j] * C[o, c]"])
    return "\n".join(body), _arrays(e, A="K,N,M", B="K,3", C="P,K", D="P,N,M")


def symmetric_update(rng: random.Random) -> Made:
    e = _element(rng)
    inclusive = rng.choice(["i + 1", "i"])
    return (
        f"""
def kernel(A, B, C, alpha):
    for i in range(C.shape[0]):
        for j in range({inclusive}):
            C[i, j] *= alpha
        for k in range(A.shape[1]):
            for j in range({inclusive}):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * A[i, k]
""",
        (*_arrays(e, A="N,K", B="N,K", C="N,N"), Argument("alpha", "float" if e == "f64" else "int")),
    )


def triangular_product(rng: random.Random) -> Made:
    e = _element(rng)
    return (
        f"""
def kernel(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = {_half(e)} * B[i, j]
""",
        _arrays(e, A="N,N", B="N,M"),
    )


def triangular_solve(rng: random.Random) -> Made:
    e = rng.choice(["f64", "f64", "f32", "i64"])
    divide = rng.choice(["x[i] = x[i] / (2.0 + abs(L[i, i]))", "x[i] *= 0.5"]) if e[0] == "f" else "x[i] = x[i] // 3"
    header = rng.choice(["range(L.shape[0])", "range(L.shape[0] - 1, -1, -1)"])
    inner = "range(i)" if "-1" not in header else "range(i + 1, L.shape[0])"
    return (
        f"""
def kernel(L, b, x):
    for i in {header}:
        x[i] = b[i]
        for j in {inner}:
            x[i] -= L[i, j] * x[j]
        {divide}
""",
        _arrays(e, L="N,N", b="N", x="N"),
    )


def factorization(rng: random.Random) -> Made:
    """lu or cholesky without a square root, damped so that values stay finite."""
    e = rng.choice(["f64", "f64", "f32", "i64", "i32"])
    divide = "A[i, j] = A[i, j] / (3.0 + abs(A[j, j]))" if e[0] == "f" else "A[i, j] = A[i, j] // 5"
    upper = rng.random() < 0.6
    tail = (
        """
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]"""
        if upper
        else """
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]"""
    )
    return (
        f"""
def kernel(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[{"k, j" if upper else "j, k"}]
            {divide}
{tail}
""",
        _arrays(e, A="N,N"),
    )


def elimination(rng: random.Random) -> Made:
    """Columns divided and the rest updated, step by step, in place or on right-hand sides, forwards or backwards."""
    e = rng.choice(["f64", "f64", "f32", "i64", "i32"])
    half = "/ (3.0 + abs(A[k, k]))" if e[0] == "f" else "// 5"
    steps, below = rng.choice(
        [("range(A.shape[0])", "range(k + 1, A.shape[0])")] * 2 + [("range(A.shape[0] - 1, -1, -1)", "range(k)")]
    )
    target, columns = rng.choice([("A", below), ("A", below), ("A", "range(k, i + 1)"), ("B", "range(B.shape[1])")])
    divided = ("B[k, j]", "range(B.shape[1])", "j") if target == "B" else (rng.choice(["A[i, k]", "A[k, i]"]), below, "i")
    pivot = "B[k, j]" if target == "B" else rng.choice(["A[k, j]", "A[j, k]"])
    row = rng.choice(["A[i, k]", "A[i, k]", "A[k, i]"])
    return "\n".join(
        [
            "def kernel(A, B):",
            f"    for k in {steps}:",
            f"        for {divided[2]} in {divided[1]}:",
            f"            {divided[0]} = {divided[0]} {half}",
            f"        for i in {below}:",
            f"            for j in {columns}:",
            f"                {target}[i, j] {rng.choice(['-=', '-=', '+='])} {row} * {pivot}",
        ]
    ), _arrays(e, A="N,N", B="N,M")


def jacobi_1d(rng: random.Random) -> Made:
    e = _element(rng)
    w = rng.randint(1, 2)

    def stencil(x):
        return f"({x}[i - {w}] + {x}[i] + {x}[i + {w}])" + (" / 3.0" if e[0] == "f" else " // 3")

    return (
        f"""
def kernel(tsteps, A, B):
    N = A.shape[0]
    for t in range(tsteps):
        for i in range({w}, N - {w}):
            B[i] = {stencil("A")}
        for i in range({w}, N - {w}):
            A[i] = {rng.choice([stencil("B"), "B[i]"])}
""",
        (Argument("tsteps", "int"), *_arrays(e, A="N", B="N")),
    )


def jacobi_2d(rng: random.Random) -> Made:
    e = _element(rng)
    scale = "0.2 * " if e[0] == "f" else ""

    def star(x):
        return f"{scale}({x}[i, j] + {x}[i, j - 1] + {x}[i, 1 + j] + {x}[1 + i, j] + {x}[i - 1, j])"

    return (
        f"""
def kernel(A, B):
    for t in range({rng.randint(1, 4)}):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = {star("A")}
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = {rng.choice([star("B"), "B[i, j]"])}
""",
        _arrays(e, A="N,M", B="N,M"),
    )


def heat_3d(rng: random.Random) -> Made:
    e = _element(rng)
    second = rng.choice(["B", "A"])  # in place: a three-dimensional seidel
    return (
        f"""
def kernel(A, B):
    for t in range({rng.randint(1, 2)}):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    {second}[i, j, k] = (A[i + 1, j, k] + A[i - 1, j, k] - 2 * A[i, j, k]
                                         + A[i, j + 1, k] - A[i, j, k - 1])
""",
        _arrays(e, A="N,M,K", B="N,M,K"),
    )


def seidel(rng: random.Random) -> Made:
    e = _element(rng)
    end = " / 9.0" if e[0] == "f" else " // 9"
    down = rng.random() < 0.2
    rows = "range(A.shape[0] - 2, 0, -1)" if down else "range(1, A.shape[0] - 1)"
    return (
        f"""
def kernel(A, T):
    for t in range(T):
        for i in {rows}:
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j] + A[i, j + 1]
                           + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]){end}
""",
        (*_arrays(e, A="N,M"), Argument("T", "int")),
    )


def periodic_stencil(rng: random.Random) -> Made:
    e = _element(rng)
    right = rng.choice(["A[i + 1 - A.shape[0]]", "A[i + 1 if i + 1 < A.shape[0] else 0]"])
    return (
        f"""
def kernel(A, B, steps):
    for t in range(steps):
        for i in range(A.shape[0]):
            B[i] = A[i - 1] + {right}
        for i in range(A.shape[0]):
            A[i] = B[i]
""",
        (*_arrays(e, A="N", B="N"), Argument("steps", "int")),
    )


def fdtd(rng: random.Random) -> Made:
    e = rng.choice(["f64", "f32", "i64"])
    c = "0.5 * " if e[0] == "f" else ""
    return (
        f"""
def kernel(ex, ey, hz, f):
    n, m = hz.shape[0], hz.shape[1]
    for t in range(f.shape[0]):
        for j in range(m):
            ey[0, j] = f[t]
        for i in range(1, n):
            for j in range(m):
                ey[i, j] -= {c}(hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] -= {c}(hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] -= {c}(ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
""",
        (*_arrays(e, ex="N,M", ey="N,M", hz="N,M"), Argument("f", e, (str(rng.randint(1, 3)),))),
    )


def scan(rng: random.Random) -> Made:
    """A prefix sum or another first-order recurrence, forwards or backwards, in a scalar or through the array."""
    e = _element(rng)
    op = rng.choice(["s = s + A[i]", "s = max(s, A[i])", f"s = A[i] + {_half(e)} * s", "s += A[i] * A[i]"])
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
            _arrays(e, A="N", P="N"),
        )
    return (
        f"""
def kernel(A, P):
    for i in range(1, A.shape[0]):
        P[i] = P[i - 1] {rng.choice(["+", "-", "*"])} A[i]
""",
        _arrays(e, A="N", P="N"),
    )


def row_reduction(rng: random.Random) -> Made:
    """A reduction along one dimension: sum, product, smallest or largest; by rows or by columns."""
    e = _element(rng)
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
    lines = ["def kernel(A, R):", *_nest([(first, ranges[first]), (second, ranges[second])], [op])]
    return "\n".join(lines), _arrays(e, A="N,M", R=shape)


def covariance(rng: random.Random) -> Made:
    e = rng.choice(["f64", "f32"])
    return (
        """
def kernel(data, cov, mean):
    n = data.shape[0]
    for j in range(data.shape[1]):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n + 1.0
    for i in range(n):
        for j in range(data.shape[1]):
            data[i, j] -= mean[j]
    for i in range(data.shape[1]):
        for j in range(i, data.shape[1]):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[j, i] = cov[i, j]
""",
        _arrays(e, data="N,M", cov="M,M", mean="M"),
    )


def convolution(rng: random.Random) -> Made:
    e = _element(rng)
    if rng.random() < 0.5:
        flip = rng.choice(["i + k", "i + W.shape[0] - 1 - k"])
        return (
            f"""
def kernel(X, W, Y):
    for i in range(Y.shape[0]):
        {rng.choice(["Y[i] = 0", "Y[i] += 1"])}
        for k in range(W.shape[0]):
            Y[i] += X[{flip}] * W[k]
""",
            _arrays(e, X="N + K", W="K", Y="N"),
        )
    stride = rng.choice([1, 2])
    return (
        f"""
def kernel(X, W, Y):
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            for p in range(W.shape[0]):
                for q in range(W.shape[1]):
                    Y[i, j] += X[{stride} * i + p, j + q] * W[p, q]
""",
        _arrays(e, X=f"{stride} * N + 3,M + 2", W="3,2", Y="N,M"),
    )


def matvec_pair(rng: random.Random) -> Made:
    e = _element(rng)
    if rng.random() < 0.4:  # in nests of their own, with what leads from the one to the other between them
        rows, columns = ("i", "range(A.shape[0])"), ("j", "range(A.shape[1])")
        between = ["q[i] -= x[i]", "q[i] = max(q[i], 0)", f"x[i] = q[i] * {_half(e)}", "x[i] += q[i]"]
        body = ["def kernel(A, x, y, p, q):", *_nest([rows, columns], ["q[i] += A[i, j] * p[j]"])]
        body += _nest([columns], ["y[j] = 0"]) if rng.random() < 0.5 else []
        for change in rng.sample(between, rng.randint(1, 2)):
            body += _nest([rows], [change])
        loops = [rows, columns]
        rng.shuffle(loops)
        body += _nest(loops, [f"y[j] += A[i, j] * {rng.choice(['q', 'x'])}[i]"])
        return "\n".join(body), _arrays(e, A="N,M", x="N", y="M", p="M", q="N")
    return (
        f"""
def kernel(A, x, y, p, q):
    for i in range(A.shape[0]):
        {rng.choice(["q[i] = 0", "q[i] += x[i]"])}
        for j in range(A.shape[1]):
            {rng.choice(["q[i] += A[i, j] * p[j]", "q[i] = q[i] + A[i, j] * p[j]"])}
            y[j] += x[i] * A[i, j]
""",
        _arrays(e, A="N,M", x="N", y="M", p="M", q="N"),
    )


def doitgen(rng: random.Random) -> Made:
    e = _element(rng)
    local = (
        "    s = np.zeros(A.shape[2], dtype=np.%s)\n"
        % {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    )
    return (
        f"""
def kernel(A, C):
{local}
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                s[p] = 0
                for t in range(A.shape[2]):
                    s[p] += A[r, q, t] * C[t, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]
""",
        _arrays(e, A="N,M,K", C="K,K"),
    )


def shortest_paths(rng: random.Random) -> Made:
    e = _element(rng)
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
        _arrays(e, D="N,N"),
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
        (*_arrays(rng.choice(["i8", "i32"]), a="N", b="M"), *_arrays(e, H="N + 1,M + 1")),
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
        (*_arrays("i32", s="N"), *_arrays(e, T="N,N")),
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
        _arrays(e, X="N,M", Y1="N,M", Y2="N,M", Z="N,M"),
    )


def transposition(rng: random.Random) -> Made:
    """Copies with permuted, reversed and strided subscripts: locality without arithmetic."""
    e = _element(rng)
    source = rng.choice(["A[j, i]", "A[A.shape[0] - 1 - j, i]", "A[j, -1 - i]", "A[j, i] + A[j, 0]"])
    return (
        f"""
def kernel(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] {rng.choice(["=", "+="])} {source}
""",
        _arrays(e, A="M,N", B="N,M"),
    )


def triad(rng: random.Random) -> Made:
    """Several one-dimensional passes that may be fused, shifted against each other."""
    e = _element(rng)
    d = rng.randint(0, 2)
    return (
        f"""
def kernel(A, B, C, D):
    n = A.shape[0]
    for i in range(n - {d}):
        B[i] = {_half(e)} * A[i] + C[i]
    for i in range(n - {d}):
        D[i] = B[i] * C[i + {d}]
    for i in range({d}, n):
        A[i] = D[i - {d}] {rng.choice(["+", "-"])} B[i]
""",
        _arrays(e, A="N", B="N", C="N", D="N"),
    )


def doubling(rng: random.Random) -> Made:
    """A butterfly level: strides, halves and remainders in the subscripts."""
    e = _element(rng)
    return (
        f"""
def kernel(A, B):
    for i in range(A.shape[0] // 2):
        B[2 * i] = A[i] + A[i + A.shape[0] // 2]
        B[2 * i + 1] = A[i] - A[{rng.choice(["i // 2", "i % 4", "2 * i + 1", "-1 - i"])}]
    return B
""",
        _arrays(e, A="2 * N + 4", B="2 * N + 4"),
    )


def masked(rng: random.Random) -> Made:
    """Counts and sums of the elements that satisfy a condition on data."""
    e = _element(rng)
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
        (*_arrays(e, A="N,M"), *_arrays("bool", M="N,M"), *_arrays(e, R="M")),
    )


def batched(rng: random.Random) -> Made:
    e = _element(rng)
    loops = [("n", "range(A.shape[0])"), ("i", "range(A.shape[1])"),
             ("j", "range(B.shape[2])"), ("k", "range(A.shape[2])")]  # fmt: skip
    rng.shuffle(loops)
    lines = ["def kernel(A, B, C):", *_nest(loops, ["C[n, i, j] += A[n, i, k] * B[n, k, j]"])]
    return "\n".join(lines), _arrays(e, A="3,N,K", B="3,K,M", C="3,N,M")


def pivots(rng: random.Random) -> Made:
    """All elements updated by the row and the column of each step, which the step updates as well."""
    e = rng.choice(["i64", "i32", "u8"])
    k = rng.choice(["range(A.shape[0])", "range(A.shape[0] - 1, -1, -1)", "range(1, A.shape[0])"])
    inner = [("i", "range(A.shape[0])"), ("j", "range(A.shape[0])")]
    rng.shuffle(inner)
    column, row = rng.choice(["A[i, k]", "A[i, k]", "A[k, i]", "2"]), rng.choice(["A[k, j]", "A[k, j]", "A[k, k]", "A[j, k]"])
    term = f"{column} {rng.choice('+-*')} {row}"
    value = rng.choice([f"min(A[i, j], {term})", f"A[i, j] + {term}", f"A[i, j] if A[i, j] > {term} else {term}"])
    return "\n".join(["def kernel(A):", *_nest([("k", k), *inner], [f"A[i, j] = {value}"])]), _arrays(e, A="N,N")


def mirrored(rng: random.Random) -> Made:
    """Elements updated by those that lie across a middle, or by a row that is one of them."""
    e = _element(rng)
    other = rng.choice(["A[A.shape[0] - 1 - i, j]", "A[i, A.shape[1] - 1 - j]", "A[0, j]", "A[i, 0]", "A[-1, j]", "A[i - 1, j]"])
    loops = [("i", "range(A.shape[0])"), ("j", "range(A.shape[1])")]
    rng.shuffle(loops)
    return "\n".join(["def kernel(A):", *_nest(loops, [f"A[i, j] = A[i, j] * 2 - {other}"])]), _arrays(e, A="N,M")


def several_loops(rng: random.Random) -> Made:
    """Sums over one to three loops for elements with three or four subscripts, of operands that each move along some of these."""
    e, deep = _element(rng), rng.random() < 0.5
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
    return "\n".join(["def kernel(Y, X, W):", *_nest(loops, [*before, *lines, *after])]), _arrays(e, **shapes)


def at_distance(rng: random.Random) -> Made:
    """Elements of a row that depend on earlier or later ones of it at a few distances, in one statement or two."""
    e = _element(rng)
    far, near = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17]), rng.choice([0, 0, 1, 2, 3, 5, 8])
    ahead = rng.random() < 0.4
    first = f"range({far}, A.shape[1] - {near})"
    before, after = f"[i, j - {far}]", f"[i, j + {near}]"
    term = rng.choice(["B[i, j]", f"B{after}", f"A{after}", "2", "i"])
    statements = [f"A[i, j] = {'A' + after if ahead else 'A' + before} * {_half(e)} + {term}"]
    if rng.random() < 0.4:
        statements.append(rng.choice([f"B{after} = A[i, j] - 1", f"B[i, j] = A{before} + B{after}", f"B[i, j] += A{after}"]))
        rng.shuffle(statements)
    if rng.random() < 0.3:
        return "\n".join(["def kernel(A, B):", *_nest([("i", "range(1)"), ("j", first)], statements)]), _arrays(
            e, A="1,5 * N", B="1,5 * N"
        )
    loops = [("i", rng.choice(["range(A.shape[0])", "range(1, A.shape[0])"])), ("j", first)]
    return "\n".join(["def kernel(A, B):", *_nest(loops, statements)]), _arrays(e, A="N,2 * M + 20", B="N,2 * M + 20")


def at_argument_distance(rng: random.Random) -> Made:
    """Elements of a row that depend on others of it at a distance that is an argument, which may be short, long, zero or negative."""
    e = _element(rng)
    distance = Argument("d", "int", value=rng.choice(["N", "2 * N", "M + 20", "N - 4", "3 * K", "-2", "1", "0", "24", "50"]))
    bounds = "range(max(d, 0), A.shape[1] + min(d, 0))"
    term = rng.choice(["B[i, j]", "B[i, j - d]", "A[i, j] * 2", "2", "i"])
    statements = [f"A[i, j] = A[i, j - d] * {_half(e)} + {term}"]
    if rng.random() < 0.4:
        statements.append(rng.choice(["B[i, j] = A[i, j] - 1", "B[i, j - d] = A[i, j] + 1", "B[i, j] += A[i, j - d]"]))
        rng.shuffle(statements)
    if rng.random() < 0.3:
        bounds = "range(A.shape[1] - 1 + min(d, 0), max(d, 0) - 1, -1)"
    loops = [("i", rng.choice(["range(A.shape[0])", "range(1, A.shape[0])"])), ("j", bounds)]
    if rng.random() < 0.6:  # rows are not independent
        statements[0] += " + A[i - 1, j]"
        loops[0] = ("i", "range(1, A.shape[0])")
    return "\n".join(["def kernel(A, B, d):", *_nest(loops, statements)]), (
        *_arrays(e, A="N,5 * M + 60", B="N,5 * M + 60"),
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
        return "\n".join(["def kernel(A, B):", *_nest(loops, [step])]), _arrays(e, A="N,3 * M", B="N,3 * M")
    use = [
        "    " + line
        for line in [f"x = x * {factor} + {term}", rng.choice(["A[i, j] = x", "A[i, j] += x", "A[i, j] = x * B[i, j]"])]
    ]
    rng.shuffle(use)
    body = ["x = B[i, 0]", "for j in range(A.shape[1]):", *use]
    return "\n".join(["def kernel(A, B):", *_nest([("i", "range(A.shape[0])")], body)]), _arrays(e, A="N,3 * M", B="N,3 * M")


def small_products(rng: random.Random) -> Made:
    """Sums of products of small numbers in a wider type, in any loop order, of arrays large enough for copies in words."""
    left, right = rng.choice([("i8", "i8"), ("u8", "i8"), ("i8", "u8"), ("u8", "u8"), ("i16", "i16"), ("i8", "i16")])
    result = rng.choice(["i32", "i32", "i32", "u32", "i64"])
    kind = f"np.{NUMPY_NAME[result]}"
    loops = [("i", "range(C.shape[0])"), ("j", "range(C.shape[1])"), ("k", rng.choice(["range(K)", "range(K)", "range(1, K - 2)"]))]
    rng.shuffle(loops)
    ta, tb = rng.random() < 0.3, rng.random() < 0.2
    factors = [f"{kind}({'A[k, i]' if ta else 'A[i, k]'})", f"{kind}({'B[j, k]' if tb else 'B[k, j]'})"]
    rng.shuffle(factors)
    lines = ["def kernel(A, B, C):", f"    K = A.shape[{0 if ta else 1}]"]
    lines += _nest(loops, [f"C[i, j] {rng.choice(['+=', '+=', '+=', '-='])} {' * '.join(factors)}"])
    n, m, k = "N // 3 + 34", "M // 2 + 24", "K + 3"
    return "\n".join(lines), (
        *_arrays(left, A=f"{k},{n}" if ta else f"{n},{k}"),
        *_arrays(right, B=f"{m},{k}" if tb else f"{k},{m}"),
        *_arrays(result, C=f"{n},{m}"),
    )


def temporaries(rng: random.Random) -> Made:
    """Local arrays one after the other, each made from those before it in another order, so that some are dead while others begin."""
    e, count = _element(rng), rng.randint(3, 6)
    kind = {"f": "np.float", "i": "np.int", "u": "np.uint"}[e[0]] + {"u8": "8"}.get(e, e[1:])
    lines = ["def kernel(A, B):", "    N = A.shape[0]"]
    extents = [rng.choice(["N", "N", "N + 2", "2*N"]) for _ in range(count)]
    lines += [f"    T{k} = np.{rng.choice(['empty', 'zeros'])}({extent}, dtype={kind})" for k, extent in enumerate(extents)]
    index = {"forth": "i", "back": "N - 1 - i", "first": "0"}
    nests: list[str] = []
    for k in range(count):
        sources = [f"T{s}" for s in rng.sample(range(max(0, k - 3), k), min(k, 2))] or ["A"]
        terms = [f"{s}[{index[rng.choice(list(index))]}]" for s in sources] + [f"{sources[0]}[N - 1 - i]"]
        nests += _nest(
            [("i", rng.choice(["range(N)"] * 9 + ["range(1, N)"]))], [f"T{k}[i] = {rng.choice([' + ', ' - ']).join(terms)}"]
        )
    if rng.random() < 0.5:
        lines = [line.replace("np.zeros", "np.empty") for line in lines]
        again = _nest([("i", "range(N)")], [f"A[i] = T{count - 1}[N - 1 - i] - T{count - 2}[0]"])
        nests = ["    for t in range(2):", *(f"    {line}" for line in (*nests, *again))]
    lines += nests
    lines += _nest([("i", "range(N)")], [f"B[i] = T{count - 1}[N - 1 - i] + T{rng.randrange(max(0, count - 3), count)}[i]"])
    return "\n".join(lines), _arrays(e, A="N", B="N")


def other_shape(rng: random.Random) -> Made:
    """A product or a sum in a local array, of which an array of another shape is made, in the order of rows or nearly so."""
    e = _element(rng)
    kind = f"np.{NUMPY_NAME[e]}"
    a, b, c, m = rng.choice([2, 3]), rng.choice([2, 4]), rng.choice([3, 4, 8]), rng.choice([2, 5, 9])
    one, other = (a, b * c), (a * b, c)
    if rng.random() < 0.5:
        one, other = other, one
    lines = ["def kernel(A, B, C):", f"    T = np.empty(({one[0]}, {one[1]}, {m}), dtype={kind})"]
    update = rng.choice(["T[g, r, k] += A[g, r, d] * B[d, k]", "T[g, r, k] = max(T[g, r, k], A[g, r, d] - B[d, k])"])
    of_source = [("g", f"range({one[0]})"), ("r", f"range({one[1]})"), ("k", f"range({m})")]
    lines += _nest(of_source, ["T[g, r, k] = 0", "for d in range(A.shape[2]):", f"    {update}"])
    number = f"({other[1]} * h + i)"
    element = f"T[{number} // {one[1]}, {number} % {one[1]}, k]"
    change = rng.choice([element, f"max({element}, 0)", f"{element} * 2 - B[0, k]", f"{element} + A[0, 0, 0]", f"{element} - h"])
    stop = rng.choice([f"{other[0]}", f"{other[0]}", f"{other[0]}", f"{other[0] - 1}"])
    lines += _nest([("h", f"range({stop})"), ("i", f"range({other[1]})"), ("k", f"range({m})")], [f"C[h, i, k] = {change}"])
    return "\n".join(lines), _arrays(e, A=f"{one[0]},{one[1]},N", B=f"N,{m}", C=f"{other[0]},{other[1]},{m}")


TEMPLATES = (
    rows_of_products, rows_of_products, sums_over_rows, depth_and_point,
    fading,
    small_products, small_products,
    at_distance, at_argument_distance, at_argument_distance,
    pivots, mirrored,
    elimination,
    contraction, contraction, dot_product_matmul, two_products, symmetric_update, triangular_product, triangular_solve,
    factorization, jacobi_1d, jacobi_2d, heat_3d, seidel, periodic_stencil, fdtd, scan, row_reduction, covariance,
    convolution, matvec_pair, doitgen, shortest_paths, alignment, folding, recursive_filter, transposition, triad,
    doubling, masked, batched, several_loops, temporaries, other_shape,
)  # fmt: skip
