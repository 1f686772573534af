"""The setting `check`: nothing is found in the kernels as they are, and what is found is raised whatever else is set."""

import importlib
import re

import numpy as np
import pytest

import polyml
from polyml import config
from polyml.codegen.passes import privatize
from polyml.errors import PassError
from tests.checks.passing import small

KERNELS = (
    "atax", "durbin", "gemm", "gesummv", "heat_3d", "jacobi_1d", "jacobi_2d", "lu", "mvt", "nussinov", "seidel_2d", "trisolv", "trmm",
)  # fmt: skip


@pytest.mark.sweep(keep=4)
@pytest.mark.parametrize("name", KERNELS)
def test_no_pass_is_found_wrong_in_a_kernel(name):
    module = importlib.import_module(f"polyml.kernels.{name}")
    arguments = module.inputs(module.SIZES["SMALL"], np.random.default_rng(0))
    with config.scope(check=True, fallback="error"):
        getattr(module, name)(**arguments)


def strips(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            B[i, j] = T[i, j] + T[i, j - 1]


def with_a_bug(patch):
    right = privatize._window
    patch.setattr(privatize, "_window", lambda low, lengths: right(low, [n and n - 1 for n in lengths]))


def test_what_is_found_is_raised_with_the_pass_the_instance_and_the_element(monkeypatch):
    monkeypatch.setenv("POLYML_CHECK", "1")
    with small() as patch:
        with_a_bug(patch)
        with pytest.raises(PassError) as raised:
            polyml.kernel(on_defect="simpler")(strips)(np.zeros((40, 40)), np.zeros((40, 40)))
    found = re.fullmatch(  # sizes, and so the instance, follow from the length of the host's vectors
        r"error: pass privatize is wrong: (S0\[\d+, \d+\]) touches (T\[\d+, \d+\]), for which T has no memory there, "
        r"with A_0 = \d+, A_1 = \d+, B_0 = \d+, B_1 = \d+\n"
        r"  note: the instance: (S0\[\d+, \d+\])\n"
        r"  note: the element: (T\[\d+, \d+\])\n"
        r"  note: this is a defect of polyml; the function itself is fine",
        str(raised.value),
    )
    assert found
    assert found.group(1, 2) == found.group(3, 4)


def test_without_the_setting_nothing_is_checked():
    with small() as patch:
        with_a_bug(patch)
        with config.scope(cache=False):
            polyml.kernel(strips)(np.zeros((4, 4)), np.zeros((4, 4)))


def test_a_checked_compilation_takes_nothing_from_the_cache():
    with config.scope(check=True, cache=True):
        assert not config.resolve().cache
    assert not config.resolve().check
