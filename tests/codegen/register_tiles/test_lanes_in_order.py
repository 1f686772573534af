"""Loops whose iterations depend on each other at a distance have lanes, and compute bit for bit what one iteration at a time does."""

import linecache
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import Jam, every
from polyml.codegen.register_tiles.nest_prices import NestPrices
from polyml.machines import catalogue
from polyml.quasi_affine.affine import variable
from tests.codegen.native import WIDE, assert_as_defined, compiled, defined, presets, program_of


def back_9(A, B):
    for i in range(9, A.shape[0]):
        A[i] = A[i - 9] * A[i] + B[i]


def back_7(A, B):
    for i in range(7, A.shape[0]):
        A[i] = A[i - 7] * A[i] + B[i]


def back_3(A, B):
    for i in range(3, A.shape[0]):
        A[i] = A[i - 3] * A[i] + B[i]


def back_2(A, B):
    for i in range(2, A.shape[0]):
        A[i] = A[i - 2] * A[i] + B[i]


def back_16(A, B):
    for i in range(16, A.shape[0]):
        A[i] = A[i - 16] * A[i] + B[i]


def back_20_and_9(A, B):
    for i in range(20, A.shape[0]):
        A[i] = A[i - 20] * B[i] + A[i - 9]


def ahead(A, B):
    for i in range(A.shape[0] - 1):
        A[i] = A[i + 1] * A[i] + B[i]


def ahead_and_back(A, B):
    for i in range(5, A.shape[0] - 2):
        A[i] = A[i + 2] * B[i] + A[i - 5]


def downwards(A, B):
    for i in range(A.shape[0] - 5, -1, -1):
        A[i] = A[i + 4] * A[i] + B[i]


def two_statements(A, B):
    for i in range(1, A.shape[0] - 6):
        A[i] = B[i + 6] * A[i]
        B[i] = A[i] + A[i - 1]


def around(A, B):
    for i in range(10, A.shape[0]):
        A[i] = B[i - 10] * A[i]
        B[i] = A[i] + B[i]


def strided(A, B):
    for i in range(4, (A.shape[0] - 1) // 2):
        A[2 * i] = A[2 * i - 8] * B[i] + A[2 * i]


def rows(A, B):
    for k in range(3):
        for i in range(k + 4, A.shape[0]):
            A[i] = A[i - 4] * B[k] + A[i]


def never(A, B):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] * A[i] + B[i]


def never_both(A, B):
    for i in range(1, A.shape[0]):
        A[i] = B[i - 1] * A[i]
        B[i] = A[i] + B[i]


IN_ORDER = [
    back_9, back_7, back_3, back_2, back_16, back_20_and_9, ahead, ahead_and_back, downwards, two_statements, around, strided, rows,
]  # fmt: skip
LENGTHS = (1, 2, 3, 7, 9, 10, 17, 18, 19, 27, 40, 41, 64, 100, 133)


def jams(program):
    return [node for node in every(program.body) if isinstance(node, Jam) and node.in_order]


def arguments(n, dtype, seed=0):
    rng = np.random.default_rng([seed, n])
    if np.dtype(dtype).kind in "iu":
        return {name: rng.integers(0, 100, n).astype(dtype) for name in "AB"}
    return {name: rng.uniform(-1.2, 1.2, n).astype(dtype) for name in "AB"}


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8"])
@pytest.mark.parametrize("function", IN_ORDER, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=40)
def test_every_bit_is_that_of_one_iteration_at_a_time(function, dtype, preset):
    made = compiled(function, arguments(3, dtype), preset, fp="strict", form="source")
    for n in LENGTHS:
        given = arguments(n, dtype)
        if n > 24 or function in (back_9, back_7, back_3, back_2, ahead, downwards, never):
            assert_as_defined(function, given, made)


@pytest.mark.parametrize("order", ["source", "reversed", "shuffled"])
@pytest.mark.parametrize("function", IN_ORDER, ids=lambda f: f.__name__)
def test_vectors_in_order_read_before_they_write(function, order):
    """The interpreter reads for all lanes, then writes for them in another order."""
    program = program_of(function, arguments(3, "float64"), WIDE[-1], fp="strict", form="source")
    assert jams(program)
    for n in (27, 41, 100):
        wanted, _ = defined(function, arguments(n, "float64"))
        given = arguments(n, "float64")
        run(program, given, order=order)
        for name in "AB":
            np.testing.assert_array_equal(given[name], wanted[name])


@pytest.mark.parametrize("function", [never, never_both], ids=lambda f: f.__name__)
def test_iterations_that_need_the_one_before_have_no_lanes(function):
    program = program_of(function, arguments(3, "float64"), WIDE[-1], fp="strict", form="source")
    assert not [node for node in every(program.body) if isinstance(node, Jam)]


@pytest.mark.parametrize("distance", [*range(2, 34), 48, 63, 64, 72, 100, 128])
def test_blocks_are_as_long_as_the_distance(distance):
    text = f"def back(A):\n    for i in range({distance}, A.shape[0]):\n        A[i] = A[i - {distance}] * 0.5 + 1.0\n"
    file, names = f"<back {distance}>", {}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    back = names["back"]
    program = program_of(back, {"A": np.zeros(9)}, "avx512", fp="strict", form="source")
    (first, *_) = jams(program)
    block = first.count * first.lanes if first.limit is None else (first.limit - first.base).constant + 1
    assert 2 <= first.lanes <= 8 and min(first.lanes, block) <= distance
    assert block == distance  # so that what the next one reads is in registers
    for n in (distance, distance + 1, 2 * distance + 1, 7 * distance + 3):
        given = np.random.default_rng(n).random(n)
        wanted = given.copy()
        back(wanted)
        run(program, {"A": given})
        np.testing.assert_array_equal(given, wanted)


def test_whole_arrays_that_are_read_ahead_have_lanes():
    def shifted(A, B):
        A[:-1] = A[1:] + B[:-1]

    assert jams(program_of(shifted, arguments(3, "float64"), WIDE[-1], fp="strict", form="source"))
    given, wanted = arguments(1000, "float32"), arguments(1000, "float32")
    shifted(**wanted)
    polyml.kernel(shifted, cache=False, fp="strict")(**given)
    np.testing.assert_array_equal(given["A"], wanted["A"])


def test_each_vector_is_stored_before_the_next_is_computed():
    def halved(A):
        for i in range(32, A.shape[0]):
            A[i] = A[i - 32] * 0.5 + 1.0

    made = polyml.kernel(halved, cache=False, threads=1)
    made(np.zeros(100))
    main = made.inspect_llvm().rpartition("phi <")[2].partition("br i1")[0]
    steps = [word for line in main.splitlines() for word in ("fadd", "store") if f" {word} " in line]
    assert len(steps) > 2 and steps == ["fadd", "store"] * (len(steps) // 2)


def test_an_element_that_two_instances_write_is_stored_once():
    def twice(A, B):
        for i in range(16, A.shape[0]):
            A[i] = A[i - 16] * B[i]
            A[i] = A[i] + 1.0

    made = polyml.kernel(twice, cache=False, threads=1, fp="strict")
    given, wanted = arguments(1000, "float64"), arguments(1000, "float64")
    twice(**wanted)
    made(**given)
    np.testing.assert_array_equal(given["A"], wanted["A"])
    main = made.inspect_llvm().rpartition("phi <")[2].partition("br i1")[0]
    assert 0 < main.count(" store ") == main.count(" fadd ")


def test_stores_that_cross_lines_cost_more():
    program = program_of(ahead, arguments(3, "float64"), "avx512", fp="strict", form="plain")
    (loop,) = program.body
    prices = NestPrices(program, catalogue.processor("avx512"), ("C", "C"), None)
    model = prices.model(prices.nest(loop, ()))
    tiling = RegisterTiling(0, 0, 0, 2, 8, in_order=True)
    read, write = (variable(prices.phases["A"]) + offset for offset in (1, 0))
    assert {read, write} <= set(model.lines(tiling))
    assert model.per_iteration(replace(tiling, line=write)) < model.per_iteration(replace(tiling, line=read))
