"""The array programs of kernels.arrays are right, under NumPy and compiled."""

import numpy as np
import pytest

import polyml
from polyml.kernels.arrays import workloads

named = pytest.mark.parametrize("workload", workloads().values(), ids=lambda w: w.name)


@named
def test_numpy_gives_what_the_reference_gives(workload):
    with np.errstate(all="ignore"):
        assert workload.problem("SMALL", workload.function) == ""


@named
@pytest.mark.sweep(keep=17)
def test_compiled_programs_give_what_the_reference_gives(workload):
    kernel = polyml.kernel(cache=False, fallback="error")(workload.function)
    assert workload.problem("SMALL", kernel, seed=1) == ""
