"""Conditions on arguments inside of branches on data: of numbers they are selects, so that the loop has lanes."""

import numpy as np
import pytest

import polyml


def distances(q, x, m, x_flags, q_flag):
    out = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        t, flag = x[i], x_flags[i]
        if np.isinf(t) or np.isinf(q):
            d = np.inf
        elif q_flag and flag:
            d = 0
        elif q_flag or flag:
            d = m
        else:
            d = abs(2 * m * (1.0 - min((t - q) / max(t, 1e-14), 1.0)))
        out[i] = d
    return out


def nested(q, x, m, x_flags, q_flag):
    total = 0.0
    for i in range(x.shape[0]):
        a, b, step = x[i], q, x[i] * 0
        if x_flags[i]:
            if m > 3:
                if q_flag:
                    step = a - b
                else:
                    step = a * b
            elif m == 2:
                step = a
        total += step
    return total


def elements(q, x, m, x_flags, q_flag):
    """An element that only calls with the flag have is read under it alone."""
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        d = 0.0
        if x_flags[i]:
            if q_flag:
                d = x[i + m]
            else:
                d = q
        out[i] = d
    return out


FUNCTIONS = (distances, nested, elements)


def given(dtype, size, m):
    rng = np.random.default_rng(size)
    x = rng.random(size).astype(dtype) * 4
    x[:: max(size // 4, 1)] = np.inf
    return 0.75, x, m, rng.random(size) < 0.4


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_those_of_python(function, dtype, fp, threads):
    compiled = polyml.kernel(function, cache=False, fallback="error", fp=fp, threads=threads)
    for size in (0, 1, 7, 300) if function is not nested else (1, 7, 300):
        for q_flag in (False, True):
            for m in (0,) if function is elements else (2, 3, 5):
                arguments = *given(dtype, size, m), q_flag
                with np.errstate(all="ignore"):
                    found, wanted = compiled(*arguments), function(*arguments)
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == np.float32 else 1e-13)


def test_a_loop_whose_numbers_arguments_and_data_choose_has_lanes():
    types = ("float", "f64[:]", "int", "bool[:]", "pybool")
    code = str(polyml.kernel(distances, threads=1).inspect_ast(*types))
    assert "vector of" in code and "else d" not in code


def test_elements_under_a_flag_are_read_where_it_is_set():
    compiled = polyml.kernel(elements, cache=False, fallback="error")
    q, x, _, flags = given(np.float64, 8, 0)
    assert compiled(q, x, 100, flags, False).tolist() == elements(q, x, 100, flags, False).tolist()
