"""Products, convolutions and factorizations, and what is made of them, with random holes. A template is as in `templates`."""

from __future__ import annotations

import random

from tests.fuzz.program import NUMPY_NAME, Argument
from tests.fuzz.template_parts import Made, any_element, arrays, half, nest


def contraction(rng: random.Random) -> Made:
    """C += A * B in any loop order, operands possibly transposed, with a first or a last scaling."""
    e = any_element(rng)
    loops = [("i", "range(C.shape[0])"), ("j", "range(C.shape[1])"), ("k", "range(K)")]
    rng.shuffle(loops)
    ta, tb = rng.random() < 0.4, rng.random() < 0.4
    a, b = ("A[k, i]" if ta else "A[i, k]"), ("B[j, k]" if tb else "B[k, j]")
    lines = ["def kernel(A, B, C):", f"    K = A.shape[{0 if ta else 1}]"]
    if rng.random() < 0.6:
        lines += nest(
            [("i", "range(C.shape[0])"), ("j", "range(C.shape[1])")],
            [rng.choice(["C[i, j] = 0", "C[i, j] *= 2", f"C[i, j] = C[i, j] * {half(e)}"])],
        )
    factor = rng.choice(["", "", f"{half(e)} * "])
    lines += nest(loops, [f"C[i, j] {rng.choice(['+=', '+=', '-='])} {factor}{a} * {b}"])
    return "\n".join(lines), arrays(e, A="K,N" if ta else "N,K", B="M,K" if tb else "K,M", C="N,M")


def dot_product_matmul(rng: random.Random) -> Made:
    e = any_element(rng)
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
        arrays(e, A="N,K", B="K,M", C="N,M"),
    )


def two_products(rng: random.Random) -> Made:
    e = any_element(rng)
    local = rng.random() < 0.5
    body = ["def kernel(A, B, C, D%s):" % ("" if local else ", T")]
    if local:
        name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
        body.append(f"    T = np.{rng.choice(['zeros', 'empty'])}((A.shape[0], B.shape[1]), dtype=np.{name})")
    body += nest(
        [("i", "range(A.shape[0])"), ("j", "range(B.shape[1])")],
        ["T[i, j] = 0", "for k in range(A.shape[1]):", "    T[i, j] += A[i, k] * B[k, j]"],
    )
    body += nest(
        [("i", "range(A.shape[0])"), ("j", "range(C.shape[1])")],
        [f"D[i, j] *= {half(e)}", "for k in range(B.shape[1]):", "    D[i, j] += T[i, k] * C[k, j]"],
    )
    given = arrays(e, A="N,K", B="K,M", C="M,N", D="N,N", **({} if local else {"T": "N,M"}))
    return "\n".join(body), given


def rows_of_products(rng: random.Random) -> Made:
    """A product whose rows are changed, reduced or normalised, and perhaps a second one of these rows."""
    e = any_element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    again = rng.random() < 0.6
    body = ["def kernel(A, B, C, D):", "    N, M, K = A.shape[0], B.shape[1], A.shape[1]"]
    body += [f"    T = np.empty((N, M), dtype=np.{name})", f"    r = np.empty(N, dtype=np.{name})"]
    rows, elements = ("i", "range(N)"), ("j", "range(M)")
    product = "T[i, j] += A[i, k] * B[k, j]"
    body += nest([rows, elements], ["T[i, j] = 0", "for k in range(K):", f"    {product}"])
    for _ in range(rng.randint(1, 3)):
        mask = f"T[i, j] = {rng.choice(['T[i, j] if j <= i + 1 else 1', '2 if i < j else T[i, j]', 'T[i, j] if i - 2 < j else 0'])}"
        change = rng.choice(["T[i, j] = max(T[i, j], 0)", "T[i, j] += C[j, 0]", "T[i, j] = T[i, j] * 2 - A[i, 0]", mask])
        reduce = rng.choice(["r[i] = max(r[i], T[i, j])", "r[i] += T[i, j]", "r[i] = min(r[i], T[i, j] + 1)"])
        choice = rng.random()
        if choice < 0.15:
            body += ["    U = np.empty((N, M), dtype=T.dtype)"]
            body += nest([rows, elements], [rng.choice(["U[i, j] = T[i, j] * 2", "U[i, j] = T[i, j] - C[j, 0]"])])
            body += nest([rows, elements], [rng.choice(["T[i, j] = max(U[i, j], 0)", "T[i, j] += U[i, j]"])])
        elif choice < 0.4:
            body += nest([rows, elements], [change])
        else:
            body += nest([rows], ["r[i] = T[i, 0]" if "= m" in reduce else "r[i] = 0", "for j in range(M):", f"    {reduce}"])
            body += nest([rows, elements], [rng.choice(["T[i, j] -= r[i]", "T[i, j] = max(T[i, j], r[i])", change])])
    if again:
        first = rng.choice(["D[i, j] = 0", f"D[i, j] *= {half(e)}"])
        body += nest([rows, ("j", "range(N)")], [first, "for k in range(M):", "    D[i, j] += T[i, k] * C[k, j]"])
    else:
        body += nest([rows], ["for j in range(M):", f"    D[i, 0] {rng.choice(['+=', '-='])} T[i, j]"])
    return "\n".join(body), arrays(e, A="N,K", B="K,M", C="M,N", D="N,N")


def sums_over_rows(rng: random.Random) -> Made:
    """A product whose rows are changed and then add to what does not move with them: a number, a row, or another product."""
    e = any_element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    body = ["def kernel(A, B, C, D, E):", "    N, M, K = A.shape[0], B.shape[1], A.shape[1]"]
    body += [f"    T = np.empty((N, M), dtype=np.{name})"]
    rows, elements, depth = ("i", "range(N)"), ("j", "range(M)"), ("k", "range(K)")
    body += nest([rows, elements], ["T[i, j] = 0", "for k in range(K):", "    T[i, j] += A[i, k] * B[k, j]"])
    if rng.random() < 0.6:
        change = ["T[i, j] = max(T[i, j], 0)", "T[i, j] -= A[i, 0]", "T[i, j] = T[i, j] * 2 - B[0, j]"]
        body += nest([rows, elements], [rng.choice(change)])
    for _ in range(rng.randint(1, 3)):
        update = rng.choice(
            ["C[j] += T[i, j]", "C[j] = max(C[j], T[i, j])", "E[0] += T[i, j] * T[i, j]", "D[k, j] += A[i, k] * T[i, j]"]
        )
        loops = [rows, elements, *([depth] if "D" in update else [])]
        rng.shuffle(loops)
        if "C" in update and rng.random() < 0.5:
            body += nest([elements], [rng.choice(["C[j] = 0", f"C[j] *= {half(e)}"])])
        body += nest(loops, [update])
    if rng.random() < 0.5:
        body += nest([elements], ["C[j] += E[0]"])
    return "\n".join(body), arrays(e, A="N,K", B="K,M", C="M", D="K,M", E="1")


def depth_and_point(rng: random.Random) -> Made:
    """A sum over the windows of each channel, and a product over channels behind it, which begins with another loop."""
    e = any_element(rng)
    name = {"f64": "float64", "f32": "float32", "i64": "int64", "i32": "int32", "u8": "uint8"}[e]
    taps = rng.randint(1, 3)
    body = [
        "def kernel(A, B, C, D):",
        "    N, M = A.shape[1], A.shape[2]",
        f"    T = np.zeros((A.shape[0], N, M), dtype=np.{name})",
    ]
    loops = [("c", "range(A.shape[0])"), ("i", "range(N)"), ("j", f"range(M - {taps - 1})")]
    body += nest(loops, [f"for q in range({taps}):", "    T[c, i, j] += A[c, i, j + q] * B[c, q]"])
    if rng.random() < 0.5:
        body += nest(rng.sample(loops, 3), [rng.choice(["T[c, i, j] = max(T[c, i, j], 0)", "T[c, i, j] -= A[c, i, j]"])])
    axes = [("o", "range(D.shape[0])"), *loops[1:]]
    if rng.random() < 0.3:
        axes = [axes[1], axes[0], axes[2]]
    body += nest(axes, ["for c in range(A.shape[0]):", "    D[o, i, j] += T[c, i, j] * C[o, c]"])
    return "\n".join(body), arrays(e, A="K,N,M", B="K,3", C="P,K", D="P,N,M")


def added_to_elements(rng: random.Random) -> Made:
    """A sum of products in a number, which is finally added to an element, or taken from it."""
    e = any_element(rng)
    rows = [("i", "range(N)"), *([("j", rng.choice(["range(N)", "range(i)", "range(i, N)"]))] if rng.random() < 0.7 else [])]
    place = "C[i, j]" if len(rows) == 2 else rng.choice(["C[i, i]", "C[i, 0]"])
    column = "j" if len(rows) == 2 else rng.choice(["i", "0"])
    factors = rng.choice([f"A[i, k] * B[k, {column}]", f"A[i, k] * C[k, {column}]", "A[i, k] * A[i, k]", "A[i, k]"])
    stop = rng.choice(["N", "N", column, "i"])
    lines = [
        f"s = {'0.0' if e[0] == 'f' else '0'}",
        f"for k in range({stop}):",
        f"    s {rng.choice(['+=', '+=', '-='])} {factors}",
    ]
    value = rng.choice(
        [f"{place} + s", f"{place} - s", f"{place} - s", f"s + {place}", f"max({place} - s, B[i, 0])", f"{place} - s + B[i, i]"]
    )
    lines.append(f"{place} = {value}")
    return "\n".join(["def kernel(A, B, C):", "    N = A.shape[0]", *nest(rows, lines)]), arrays(e, A="N,N", B="N,N", C="N,N")


def symmetric_update(rng: random.Random) -> Made:
    e = any_element(rng)
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
        (*arrays(e, A="N,K", B="N,K", C="N,N"), Argument("alpha", "float" if e == "f64" else "int")),
    )


def triangular_product(rng: random.Random) -> Made:
    e = any_element(rng)
    return (
        f"""
def kernel(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = {half(e)} * B[i, j]
""",
        arrays(e, A="N,N", B="N,M"),
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
        arrays(e, L="N,N", b="N", x="N"),
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
        arrays(e, A="N,N"),
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
    ), arrays(e, A="N,N", B="N,M")


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
        arrays(e, data="N,M", cov="M,M", mean="M"),
    )


def convolution(rng: random.Random) -> Made:
    e = any_element(rng)
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
            arrays(e, X="N + K", W="K", Y="N"),
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
        arrays(e, X=f"{stride} * N + 3,M + 2", W="3,2", Y="N,M"),
    )


def matvec_pair(rng: random.Random) -> Made:
    e = any_element(rng)
    if rng.random() < 0.4:  # in nests of their own, with what leads from the one to the other between them
        rows, columns = ("i", "range(A.shape[0])"), ("j", "range(A.shape[1])")
        between = ["q[i] -= x[i]", "q[i] = max(q[i], 0)", f"x[i] = q[i] * {half(e)}", "x[i] += q[i]"]
        body = ["def kernel(A, x, y, p, q):", *nest([rows, columns], ["q[i] += A[i, j] * p[j]"])]
        body += nest([columns], ["y[j] = 0"]) if rng.random() < 0.5 else []
        for change in rng.sample(between, rng.randint(1, 2)):
            body += nest([rows], [change])
        loops = [rows, columns]
        rng.shuffle(loops)
        body += nest(loops, [f"y[j] += A[i, j] * {rng.choice(['q', 'x'])}[i]"])
        return "\n".join(body), arrays(e, A="N,M", x="N", y="M", p="M", q="N")
    return (
        f"""
def kernel(A, x, y, p, q):
    for i in range(A.shape[0]):
        {rng.choice(["q[i] = 0", "q[i] += x[i]"])}
        for j in range(A.shape[1]):
            {rng.choice(["q[i] += A[i, j] * p[j]", "q[i] = q[i] + A[i, j] * p[j]"])}
            y[j] += x[i] * A[i, j]
""",
        arrays(e, A="N,M", x="N", y="M", p="M", q="N"),
    )


def doitgen(rng: random.Random) -> Made:
    e = any_element(rng)
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
        arrays(e, A="N,M,K", C="K,K"),
    )


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
    lines += nest(loops, [f"C[i, j] {rng.choice(['+=', '+=', '+=', '-='])} {' * '.join(factors)}"])
    n, m, k = "N // 3 + 34", "M // 2 + 24", "K + 3"
    return "\n".join(lines), (
        *arrays(left, A=f"{k},{n}" if ta else f"{n},{k}"),
        *arrays(right, B=f"{m},{k}" if tb else f"{k},{m}"),
        *arrays(result, C=f"{n},{m}"),
    )
