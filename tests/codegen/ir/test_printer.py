"""Programs as text: plain loops print as Python that computes the same."""

import json

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.printer import program_data, text
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Program, Unroll
from polyml.quasi_affine.affine import Affine, Compare, variable
from tests.codegen.samples import SAMPLES, arguments_for, matmul, scop_of

I, J, N = variable("i"), variable("j"), variable("N")


def executed(source, name, arguments):
    """The text run as Python, plain numbers standing for the scalars of the program."""
    names = {"empty": np.empty, "f64": np.float64, "i64": np.int64}
    exec(source, names)
    return names[name](**arguments)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda f: f.__name__)
def test_the_text_of_plain_loops_is_python_that_computes_the_same(sample):
    wanted, got = arguments_for(sample, 7), arguments_for(sample, 7)
    scop = scop_of(sample, got)
    program = build(scop, scop.schedule)
    result = run(program, wanted)
    printed = executed(text(program), sample.__name__, got)
    for a, b in zip(got.values(), wanted.values()):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(np.atleast_1d(printed), np.atleast_1d(result)):
        np.testing.assert_array_equal(a, b)


def test_a_matrix_product_as_text():
    args = arguments_for(matmul, 4)
    scop = scop_of(matmul, args)
    assert text(build(scop, scop.schedule)).splitlines() == [
        "def matmul(alpha, beta, C, A, B):",
        "    C_0 = C.shape[0]",
        "    C_1 = C.shape[1]",
        "    A_0 = A.shape[0]",
        "    A_1 = A.shape[1]",
        "    B_0 = B.shape[0]",
        "    B_1 = B.shape[1]",
        "    for c0 in range(0, C_0):",
        "        for c1 in range(0, C_1):",
        "            C[c0, c1] = C[c0, c1]*beta  # S0",
        "        for c1 in range(0, A_1):",
        "            for c2 in range(0, C_1):",
        "                C[c0, c2] = C[c0, c2] + alpha*A[c0, c1]*B[c1, c2]  # S1",
    ]


def jammed_program():
    """C *= beta by tiles of 32 rows, a remainder of columns under a limit."""
    args = arguments_for(matmul, 4)
    scop = scop_of(matmul, args)
    instance = Instance("S0", (I, J))
    vectors = Jam("j", Affine(0), 2, 8, variable("C_1") - 1, (instance,))
    unrolled = Unroll("k", Affine(0), 3, (Instance("S1", (I, variable("k"), Affine(0))),))
    rows = Jam("i", variable("t"), 4, 1, None, (vectors, unrolled))
    guard = Guard(Compare(">=", variable("C_0") - variable("t") - 4), (rows,))
    tile = Loop("t", (Affine(0), N), (variable("C_0") - 1, N + 7), 32, (guard,), parallel=True, role="tile")
    return Program(scop, (tile,))


def test_tiles_vectors_and_unrolled_loops_show():
    assert text(jammed_program()).splitlines()[7:] == [
        "    for t in range(max(0, N), min(C_0, N + 8), 32):  # tile, parallel",
        "        if C_0 >= t + 4:",
        "            together i = t .. t + 3 (4 iterations):",
        "                together j = 0 .. 15 (2 vectors of 8), j <= C_1 - 1:",
        "                    C[i, j] = C[i, j]*beta  # S0",
        "                unrolled k = 0 .. 2:",
        "                    C[i, 0] = C[i, 0] + alpha*A[i, k]*B[k, 0]  # S1",
    ]


def test_a_program_is_data_for_json():
    data = json.loads(json.dumps(program_data(jammed_program())))
    (tile,) = data["body"]
    assert (tile["node"], tile["step"], tile["parallel"], tile["role"]) == ("loop", 32, True, "tile")
    assert (tile["lower"], tile["upper"]) == (["0", "N"], ["C_0 - 1", "N + 7"])
    (guard,) = tile["body"]
    assert (guard["node"], guard["condition"]) == ("guard", "C_0 >= t + 4")
    (rows,) = guard["body"]
    vectors, unrolled = rows["body"]
    assert (rows["count"], rows["lanes"], rows["limit"]) == (4, 1, None)
    assert (vectors["node"], vectors["lanes"], vectors["limit"]) == ("jam", 8, "C_1 - 1")
    assert vectors["body"] == [{"node": "instance", "statement": "S0", "point": ["i", "j"]}]
    assert (unrolled["node"], unrolled["base"], unrolled["count"]) == ("unroll", "0", 3)
