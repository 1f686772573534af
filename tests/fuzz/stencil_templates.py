"""Stencils with random holes. A template is as in `templates`."""

from __future__ import annotations

import random

from tests.fuzz.program import Argument
from tests.fuzz.template_parts import Made, any_element, arrays, nest


def jacobi_1d(rng: random.Random) -> Made:
    e = any_element(rng)
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
        (Argument("tsteps", "int"), *arrays(e, A="N", B="N")),
    )


def jacobi_2d(rng: random.Random) -> Made:
    e = any_element(rng)
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
        arrays(e, A="N,M", B="N,M"),
    )


def heat_3d(rng: random.Random) -> Made:
    e = any_element(rng)
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
        arrays(e, A="N,M,K", B="N,M,K"),
    )


def seidel(rng: random.Random) -> Made:
    """Gauss and Seidel's, in one statement for each element, or one for what is known of a row before and one for the recurrence."""
    e = any_element(rng)
    end = " / 9.0" if e[0] == "f" else " // 9"
    drawn = rng.random()
    down = drawn < 0.2
    if drawn > 0.6:
        return _seidel_in_two_steps(int(1000 * drawn), end), (*arrays(e, A="N,M"), Argument("T", "int"))
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
        (*arrays(e, A="N,M"), Argument("T", "int")),
    )


def _seidel_in_two_steps(choice: int, end: str) -> str:
    """Two loops over a row that may be one, or not: by the elements of the row that each reads, and by the first one's iterator.

    choice: its digits decide
    """
    up = choice // 10 % 3 - 1
    first = ("j + 1", "j + 2", "j + 1", "j - 1", "j")[choice % 5]
    second = ("j - 1", "j - 1", "j - 1", "j + 1", "j - 2")[choice // 5 % 5]
    body = f"A[i, j] + A[i - 1, j - 1] + A[i + 1, j + 1] + A[i, {first}]".replace(", j", f", {up} + j")
    return f"""
def kernel(A, T):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range({2 - up}, A.shape[1] - {2 + up}):
                A[i, {up} + j] = {body}
            for j in range(2, A.shape[1] - 2):
                A[i, j] = (A[i, j] + A[i, {second}]){end}
"""


def periodic_stencil(rng: random.Random) -> Made:
    e = any_element(rng)
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
        (*arrays(e, A="N", B="N"), Argument("steps", "int")),
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
        (*arrays(e, ex="N,M", ey="N,M", hz="N,M"), Argument("f", e, (str(rng.randint(1, 3)),))),
    )


def as_long(rng: random.Random) -> Made:
    """Nests over the same arrays whose loops are as long in a call, or nearly, but by sizes of different arrays or dimensions."""
    e = any_element(rng)
    rows = ["A.shape[0]", "B.shape[0]", "A.shape[1]", "C.shape[0]"]
    columns = ["A.shape[1]", "B.shape[1]", "A.shape[0]", "C.shape[0]"]
    lines = ["def kernel(A, B, C, T):"]
    nests: list[str] = []
    for _ in range(rng.randint(2, 4)):
        name, other = rng.sample(["A", "B"], 2)
        value = rng.choice(
            [
                f"{other}[i, j]",
                f"{name}[i, j - 1]",
                f"{other}[i - 1, j] - {name}[i, j]",
                f"{name}[i, j] + C[j]",
                f"{other}[i, 0] + C[i]",
            ]
        )
        loops = [(v, f"range(1, {rng.choice(of)}{rng.choice(['', '', ' - 1'])})") for v, of in (("i", rows), ("j", columns))]
        nests += nest(rng.sample(loops, 2), [f"{name}[i, j] {rng.choice(['=', '+='])} {value}"])
        if rng.random() < 0.4:
            nests += nest([("i", f"range({rng.choice(rows)})")], [f"C[i] {rng.choice(['=', '-='])} {name}[i, 0]"])
    around = ["    for t in range(T):", *(f"    {line}" for line in nests)] if rng.random() < 0.3 else nests
    b = rng.choice(["N,N", "N,N", "N,N + 1", "N + 1,N"])
    return "\n".join([*lines, *around]), (*arrays(e, A="N,N", B=b, C="N"), Argument("T", "int"))
