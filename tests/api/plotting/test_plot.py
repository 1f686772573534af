"""polyml.plot: what it takes, and what it refuses."""

import numpy as np
import pytest

import polyml
from polyml.api.plotting.plot import DRAWN_BY
from polyml.errors import ConfigError, PolymlTypeError


@polyml.kernel(cache=False)
def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]


def test_a_kernel_is_drawn_for_its_last_call():
    prefix(np.ones(5))
    assert polyml.plot(prefix, "domain", {"A_0": 4}).count("data-instance") == 3
    assert polyml.plot(prefix, "schedule", {"A_0": 4}).count("data-time") == 3


@pytest.mark.parametrize(
    "given, message, notes",
    [
        (("colours",), "there is no picture 'colours'", [f"expected one of {', '.join(DRAWN_BY)}"]),
        (("domain", {"N": 3}), "there is no size 'N'", ["sizes: A_0"]),
        (("domain", {"A_0": -1}), "A_0 is an integer from 0 to 1,000,000, not -1", []),
        (("domain", {"A_0": 2.5}), "A_0 is an integer from 0 to 1,000,000, not 2.5", []),
        (("domain", {"A_0": 10**6}), "S0 has too many instances for A_0 = 1000000", ["sizes of 4 to 40 can be seen"]),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, message, notes):
    with pytest.raises(ConfigError) as refused:
        polyml.plot(prefix.schedule("source", "f64[:]"), *given)
    assert (refused.value.message, list(refused.value.notes)) == (message, notes)


def test_other_objects_are_refused():
    with pytest.raises(PolymlTypeError, match="polyml.plot draws no list"):
        polyml.plot([1, 2])
