"""Types of values: products of int8 add up in int32, of bfloat16 in float32, as on machine-learning arrays; and float32."""

import ml_dtypes
import numpy as np
import pytest

from polyml.systolic.simulate import ENGINES
from tests.systolic.simulate.simulating import Simulated, expected

SHAPES = ((3, 5), (8, 8))


def of_bytes(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])


def of_halves(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def arrays(kind, result, scale=1):
    rng = np.random.default_rng(1)
    A, B = (rng.standard_normal(shape) * scale for shape in ((13, 21), (21, 10)))
    return [A.astype(kind), B.astype(kind), np.zeros((13, 10), result)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bytes_add_up_in_words(shape, engine):
    args = arrays(np.int8, np.int32, scale=100)
    simulated = Simulated(of_bytes, args)
    for plans in simulated.plans(shape):
        _, (_, _, C) = simulated.run(args, plans, engine)
        assert C.dtype == np.int32
        np.testing.assert_array_equal(C, args[0].astype(np.int64) @ args[1].astype(np.int64))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function, kind", [(product, np.float32), (of_halves, ml_dtypes.bfloat16)], ids=["f32", "bf16"])
def test_floats_are_within_the_bound(function, kind, engine):
    args = arrays(kind, np.float32)
    simulated = Simulated(function, args)
    A, B = (arg.astype(np.float64) for arg in args[:2])
    bound = 22 * np.finfo(np.float32).eps * (abs(A) @ abs(B))  # K terms, each rounded twice (Higham, Accuracy and Stability, 3.5)
    for plans in simulated.plans((4, 6)):
        _, (_, _, C) = simulated.run(args, plans, engine)
        assert np.all(abs(C - A @ B) <= bound)


def test_engines_agree_bit_for_bit():
    args = arrays(np.float32, np.float32)
    simulated = Simulated(product, args)
    for plans in simulated.plans((4, 6)):
        (_, (_, _, first)), (_, (_, _, second)) = (simulated.run(args, plans, engine) for engine in ENGINES)
        np.testing.assert_array_equal(first, second)


def test_values_in_their_source_order_are_python_s():
    """With the sum in its units and terms in order, bit for bit."""
    args = arrays(np.float32, np.float32)
    simulated = Simulated(product, args)
    plans = next(p for p in simulated.plans((13, 10)) if p[0].dataflow == "os" and p[0].mapping.time[2] > 0)
    _, (_, _, C) = simulated.run(args, plans, "numpy")
    np.testing.assert_array_equal(C, expected(product, args)[1][2])
