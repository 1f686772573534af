"""The report on a GPU against the emulator's counts and ptxas, on fourteen kernels."""

import numpy as np
import pytest

from tests.cuda.compiler import nvcc
from tests.cuda.emulator.compiler import compiler
from tests.cuda.predicted import DTYPES, SUBJECTS, requests_of, resources_of


@pytest.mark.sweep(keep=6)
@pytest.mark.skipif(compiler() is None, reason="there is no g++")
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda each: each.name)
def test_requests_are_those_that_the_emulator_counts(subject):
    """Requests, sectors, wavefronts and bank conflicts, exactly, of whole and of cut tiles."""
    for call in subject.calls:
        found = list(requests_of(subject, subject.arguments(call, np.float32)))
        assert found and [each for each in found if not each.is_right] == []


@pytest.mark.skipif(compiler() is None, reason="there is no g++")
def test_wide_elements_are_those_that_the_emulator_counts():
    (subject,) = [each for each in SUBJECTS if each.name == "transpose"]
    assert all(each.is_right for each in requests_of(subject, subject.arguments(subject.calls[1], np.float64)))


@pytest.mark.skipif(nvcc() is None, reason="there is no nvcc")
@pytest.mark.parametrize("dtype", DTYPES)
def test_registers_and_shared_memory_are_those_of_ptxas(dtype):
    """Shared memory exactly, registers within 16 or 15 %."""
    for subject in (each for each in SUBJECTS if dtype in each.dtypes):
        found = list(resources_of(subject, subject.arguments(subject.calls[0], dtype), nvcc()))
        assert found and [each for each in found if not each.is_right] == []
