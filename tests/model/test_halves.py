"""float16 where the processor does not have it, and that each operation is rounded."""

from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml import machine
from polyml.errors import PolymlPerformanceWarning


def scaled(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] * B[i] + B[i]


def test_each_operation_is_rounded_as_numpy_s():
    random = np.random.default_rng(5)
    A, B = (random.normal(size=1000).astype("f2") for _ in range(2))
    wanted = A * B + B
    polyml.kernel(cache=False, fp="strict")(scaled)(A, B)
    np.testing.assert_array_equal(A, wanted)


def test_a_double_is_rounded_once():
    def narrowed(A, B):
        for i in range(A.shape[0]):
            A[i] = B[i]

    middle = 1 + 2.0**-11  # half way between two numbers
    B = np.array([middle, middle + 2.0**-40, middle - 2.0**-40, 65519.999, 65520.0, 1e300, -1e-300, np.nan, np.inf, 6e-8, 3e-8, 2.98e-8])
    B = np.concatenate([B, -B, np.random.default_rng(6).normal(size=500) * 2.0 ** np.random.default_rng(7).integers(-30, 20, 500)])
    with np.errstate(all="ignore"):
        wanted = B.astype("f2")
    A = np.zeros(len(B), "f2")
    polyml.kernel(cache=False)(narrowed)(A, B)
    np.testing.assert_array_equal(A, wanted)


def test_a_processor_without_float16_runs_python(monkeypatch):
    host = machine.host()
    monkeypatch.setattr(machine, "host", lambda: replace(host, preset_target=replace(host.target, features="-f16c"), isa="x86-64"))
    A, B = np.ones(3, "f2"), np.ones(3, "f2")
    with pytest.warns(PolymlPerformanceWarning, match="no instructions for float16"):
        polyml.kernel(cache=False)(scaled)(A, B)
    assert A.tolist() == [2, 2, 2]
