"""Extents are read as what they may be; nothing else is."""

import pytest

from polyml.quasi_affine.affine import Affine, Choice, Compare, Logic, extremum, floor_div, modulo, of_atom, variable
from polyml.runtime.calling.result_extents import rewritten

N, M = variable("N"), variable("M")
RIGHT = [
    N, N + 1, N * 2 - M, Affine(-3), floor_div(N + 3, 4), modulo(N, 5), extremum("max", [N, M * 2]), extremum("min", [N + 1, M, Affine(7)]),
    of_atom(Choice(Compare(">=", N - M), N, M)), of_atom(Choice(Compare("==", N - 3), Affine(0), floor_div(M, 2))),
    of_atom(Choice(Logic("and", (Compare(">=", N - 1), Logic("or", (Compare("==", M - 2), Compare(">=", M - 5))))), N, M)),
    of_atom(Choice(Logic("and", ()), N, M)), (N + modulo(M, 3)) * 2 - floor_div(N * 5 - M, 7) * 3,
    sum((floor_div(N + k, k + 2) for k in range(600)), M),
]  # fmt: skip


@pytest.mark.parametrize("extent", RIGHT, ids=lambda extent: str(extent)[:60])
def test_what_the_compiler_writes_means_the_same(extent):
    text = rewritten(str(extent), {"N": "_p0", "M": "_p1"})
    for n in range(-3, 9, 2):
        for m in range(-3, 9):
            assert eval(text, {"_min": min, "_max": max, "_p0": n, "_p1": m}) == extent.evaluate({"N": n, "M": m})


@pytest.mark.parametrize("text", [
    "", "N M", "X", "N.real", "N[0]", "N()", "min(N)", "max(*N, 1)", "min(N, key=M)", "N ** N", "N / 2", "N // M", "N // 0", "N % -2", "N << 9",
    "1.5", "'N'", "None", "9" * 30, "9" * 5000, "(" * 500 + "N" + ")" * 500, "-" * 50_000 + "N", "N +" * 60_000 + "N", "lambda: N",
    "[N for N in M]", "(N := M)", "__import__('os')", "N\0", "N; M", "f'{N}'", "N if N", "await N", "N < M < N", "not N", "~N", "\ud800",
])  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="extent"):
        rewritten(text, {"N": "_p0", "M": "_p1"})
