"""What iterations of regions add to numbers is joined behind their loop: where that is so, in which order, and what it gives."""

import numpy as np
import pytest

import polyml
from polyml.dtypes import I64
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.index_arrays.row_sums import with_terms
from polyml.pipeline.regions import shared_loops
from tests.model.index_arrays.rows import arguments
from tests.model.modelling import VECTOR

INDICES = syntax.ArrayType(I64, 1)


def change(ptr, x, y):
    total = 0.0
    most = -1.0
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += x[k]
        total += abs(s - y[i])
        most = max(most, s)
        y[i] = s
    return total, most


def entries(ptr, x, y):
    total = 0.0
    for i in range(y.shape[0]):
        for k in range(ptr[i], ptr[i + 1]):
            total += x[k]
        y[i] = 1.0
    return total


def changed_rows(ptr, x, y):
    count = 0
    for i in range(y.shape[0]):
        best = -1e30
        for k in range(ptr[i], ptr[i + 1]):
            if x[k] > best:
                best = x[k]
        if best > y[i]:
            y[i] = best
            count += 1
    return count


def positive(ptr, x, y):
    count = 0
    for i in range(y.shape[0]):
        for k in range(ptr[i], ptr[i + 1]):
            if x[k] > 0.0:
                count += 1
            elif x[k] < -2.0:
                count -= 100
        y[i] = 1.0
    return count


def places(ptr, x, y):
    total = 0
    for i in range(y.shape[0]):
        for k in range(ptr[i], ptr[i + 1]):
            total += k
        y[i] = 1.0
    return total


def least(ptr, x, y):
    low = np.inf
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += x[k]
        if s < low:
            low = s
        y[i] = s
    return low


def carried(ptr, x, y):
    total = 0.0
    for i in range(y.shape[0]):
        s = total
        for k in range(ptr[i], ptr[i + 1]):
            s += x[k]
        total += s
        y[i] = s
    return total


def from_three(ptr, x, y):
    total = -0.0
    for i in range(3, y.shape[0] - 1):
        while y[i] > 1.0:
            y[i] *= 0.5
        if y[i] < 0.5:
            continue
        total -= y[i]
    return total


def bits(numbers):
    """The bytes of results, whatever types they have."""
    return np.array(numbers, dtype=np.float64).tobytes()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [change, entries, changed_rows, positive, places, least, carried, from_three])
@pytest.mark.sweep("function", keep=2)
def test_they_give_what_python_gives(monkeypatch, function, fp, threads):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", 0)
    kernel = polyml.kernel(function, cache=False, fp=fp, threads=threads, fallback="error")
    for seed, rows in ((0, 40), (1, 3), (2, 0), (3, 1), (4, 200)):
        wanted, own = arguments(seed, rows), arguments(seed, rows)
        right, got = function(*wanted), kernel(*own)
        if fp == "strict":
            assert bits(got) == bits(right)
        else:
            np.testing.assert_allclose(got, right, rtol=1e-12)
        for one, other in zip(wanted, own):
            np.testing.assert_allclose(other, one, rtol=0 if fp == "strict" else 1e-12)


def test_what_is_no_number_is_passed_over_as_python_does(monkeypatch):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", 0)
    for function in (change, least):
        ptr, x, y = arguments(5)
        x[::3] = np.nan
        kernel = polyml.kernel(function, cache=False, fp="strict", threads=2, fallback="error")
        assert repr(kernel(ptr, x, y.copy())) == repr(function(ptr, x, y.copy()))


def rewritten(function, reorders):
    kernel = infer(parse(function), (INDICES, VECTOR, VECTOR))
    places = {stmt.loc for stmt in kernel.body if isinstance(stmt, syntax.For)}
    made = with_terms(kernel, places, reorders)
    assert with_terms(kernel, (), reorders) is kernel
    return made is not kernel, [s.name for s in statements(made.body) if isinstance(s, syntax.Alloc)]


def test_numbers_that_are_only_updated_have_terms():
    assert rewritten(change, False) == (True, ["total_terms_0", "most_terms_0"])
    assert rewritten(changed_rows, False) == (True, ["count_terms_0"])
    assert rewritten(carried, True) == (False, [])


def test_sums_over_inner_loops_need_another_order():
    assert rewritten(entries, True) == (True, ["total_terms_0"])
    assert rewritten(entries, False) == (False, [])


def test_python_ints_that_count_have_terms_over_inner_loops_too():
    assert rewritten(positive, False) == (True, ["count_terms_0"])
    assert rewritten(places, True) == (False, [])  # in another order a sum may leave 64 bits


def test_the_rows_go_to_threads_where_they_have_work():
    kernel = polyml.kernel(change, cache=False, threads=2, fallback="error")
    kernel(*arguments(0))
    assert "runs in order" in kernel.explain()
    kernel(*arguments(0, 5000))
    assert "its iterations go to threads" in kernel.explain()
