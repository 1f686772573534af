"""Functions that are not affine as a whole: Python runs the statement that is not, parts around it are compiled."""

import copy
import warnings

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlPerformanceWarning

FACTOR = 3.0


def relaxed(old, new, tolerance):
    steps = 0
    change = 1.0
    while change > tolerance:
        new[1:-1] = (old[:-2] + old[2:]) / 2
        change = np.abs(new - old).max()
        old, new = new, old
        steps += 1
    return old, steps, change


def power_iteration(A, v, n):
    for it in range(n):
        w = A @ v
        s = np.sqrt((w * w).sum())
        v = w / s
        if np.abs(s - (v * w).sum()) < 1e-9 and it > 3:
            break
    return v, s, it


def library_in_the_middle(A, b, x):
    r = b - A @ x
    y = np.linalg.solve(A, r)
    x += y * FACTOR
    return ((A @ x - b) ** 2).sum(axis=0)


def a_call_in_a_condition(A):
    count = 0
    while (A * A).sum() > 10:
        A *= 0.5
        count += 1
        if count > 50:
            return None
    return count


def a_view_is_bound(A, n):
    x = A[1:]
    y = x * 2
    while n > 0:
        x = x[:-1]
        n -= 1
    x[:] = 1
    return x, y.sum()


def perhaps_without_a_value(A, n):
    if n > 3:
        extra = A * 2
    while n > 3:
        A += extra
        n -= 1
    for i in range(A.shape[0]):
        A[i] += i
    return A


def named_again(A):
    total = 0.0
    while True:
        for i in range(A.shape[0]):
            total += A[i].sum()
        last = total
        break
    total = total + last
    return np.float64(total), last


def ragged(y, starts, columns, values, x):
    for i in range(y.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    y *= 2


# fmt: off
def two_lines_in_one(A):
    B = A + 1; C = B * 2  # noqa: E702
    while C.sum() > 1e9:
        C = C / 2
    return C


def broken_lines(A, B):
    C = (
        A
        + B
    )
    while np.abs(
        C
    ).max() > 1e9:
        C = C / 2
    return (C
            * 2)
# fmt: on


def helper(x):
    return np.linalg.norm(x)


def refused_in_a_function(A):
    B = A * 2
    return helper(B) + B.sum()


def tries(A, n):
    while n > 0:
        try:
            x = A * 2 if n > 1 else None.shape
        except AttributeError as problem:
            name = type(problem).__name__
        n -= 1
    return x + 1, name


def a_tuple_of_indices(A, n):
    t = np.triu_indices(n, 1)
    A[t] = 5.0
    return A


def a_list_is_changed(x, n):
    i = 0
    while i < n:
        x[i] = x[i] + 1.0
        i += 1
    return x


def the_same_variable_twice(A, B, n):
    for i in range(A.shape[0]):
        A[i] += 1.0
    counts = [str(n)]
    for i in range(A.shape[0]):
        B[i] = A[i] * 2.0
    return B, counts


def draws(rng, n):
    x = rng.standard_normal(n)
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i] * 2.0
    return y


def read_by_a_function_inside(A, n):
    total = 1.0

    def seen(v):
        return v + total

    while n > 0:
        for i in range(A.shape[0]):
            total = total + 1.0
            A[i] = seen(A[i])
        n -= 1
    return A, total


def changed_by_a_function_inside(A, n):
    count = 0.0

    def counted():
        nonlocal count
        count += 1.0

    while n > 0:
        for i in range(A.shape[0]):
            A[i] += count
        counted()
        n -= 1
    return A, count


def two_views(A, n):
    while n > 0:
        n -= 1
    T = A * 2.0
    V = T[1:]
    V[:] = 3.0
    return T, V, A[:]


def caught_in_the_middle(A, n):
    try:
        for i in range(n):
            A[i] = 2.0
    except IndexError:
        n = -1
    return A, n


def data(*shape):
    return np.random.default_rng(1).random(shape)


CALLS = {
    relaxed: (np.r_[1.0, np.zeros(500)], np.r_[1.0, np.zeros(500)], 1e-3),
    power_iteration: (data(40, 40), data(40), 60),
    library_in_the_middle: (data(30, 30) + 30 * np.eye(30), data(30), np.zeros(30)),
    a_call_in_a_condition: (data(40, 40),),
    a_view_is_bound: (data(30, 40), 3),
    perhaps_without_a_value: (data(300), 6),
    named_again: (data(20, 30),),
    ragged: (np.zeros(20), np.arange(21) * 3, np.arange(60) % 20, data(60), data(20)),
    two_lines_in_one: (data(300),),
    broken_lines: (data(300), data(300)),
    refused_in_a_function: (data(300),),
    tries: (data(300), 3),
    a_tuple_of_indices: (data(4, 4), 4),
    a_list_is_changed: ([1.0, 2, 3.5], 3),
    the_same_variable_twice: (data(300), data(300), 3),
    draws: (np.random.default_rng(3), 300),
    read_by_a_function_inside: (data(300), 2),
    changed_by_a_function_inside: (data(300), 2),
    two_views: (data(300), 2),
    caught_in_the_middle: (data(300), 400),
}


def parts(kernel):
    """Every part that a kernel's calls have been taken apart into, those of parts too."""
    for _, calls in kernel._parts.values():
        for call in calls:
            yield call.kernel
            yield from parts(call.kernel)


def same(one, other):
    if isinstance(one, str):
        return one == other
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.random.Generator):
        return one.bit_generator.state == other.bit_generator.state
    return type(one) is type(other) and (one is None or np.allclose(one, other, rtol=1e-12))


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_parts_do_what_the_whole_does(function):
    kernel = polyml.kernel(cache=False)(function)
    for _ in range(2):
        wanted, got = copy.deepcopy(CALLS[function]), copy.deepcopy(CALLS[function])
        assert same(function(*wanted), kernel(*got))
        assert all(map(same, wanted, got))


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize(
    "function",
    [relaxed, library_in_the_middle, a_call_in_a_condition, broken_lines, the_same_variable_twice, draws],
)
def test_the_work_is_compiled(function):
    kernel = polyml.kernel(cache=False)(function)
    kernel(*copy.deepcopy(CALLS[function]))
    assert [part for part in parts(kernel) if part.compiled]
    assert kernel.compiled is False


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_explain_says_which_lines_are_compiled():
    kernel = polyml.kernel(cache=False)(relaxed)
    kernel(*copy.deepcopy(CALLS[relaxed]))
    first = relaxed.__code__.co_firstlineno + 4
    assert f"  compiled: lines {first} to {first + 3}" in kernel.explain().splitlines()


def test_one_warning_says_where_and_that_the_rest_is_compiled():
    kernel = polyml.kernel(cache=False)(library_in_the_middle)
    with pytest.warns(PolymlPerformanceWarning) as caught:
        kernel(*copy.deepcopy(CALLS[library_in_the_middle]))
    (warning,) = caught
    line = library_in_the_middle.__code__.co_firstlineno + 2
    assert "runs partly as plain Python" in str(warning.message)
    assert f"{__file__}:{line}:" in str(warning.message) and "`np.linalg.solve`" in str(warning.message)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_what_python_raises_is_raised():
    def unbound(A, n):
        while n > 5:
            extra = A * 2
            n -= 1
        return extra + A

    kernel = polyml.kernel(cache=False)(unbound)
    with pytest.raises(UnboundLocalError):
        kernel(data(300), 3)
    np.testing.assert_allclose(kernel(data(300), 7), data(300) * 3)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_values_of_closures_and_defaults_are_the_function_s():
    scale, helper = 2.0, lambda x: x

    def outer(A, n=4, *, shift=1.0):
        while n > 0:
            A[:] = A * scale + shift
            n -= 1
        return helper(A)

    kernel = polyml.kernel(cache=False)(outer)
    A, B = data(300), data(300)
    np.testing.assert_allclose(kernel(A), outer(B))
    np.testing.assert_allclose(kernel(A, 2, shift=0.5), outer(B, 2, shift=0.5))
    scale = 5.0
    np.testing.assert_allclose(kernel(A), outer(B))


@polyml.kernel(cache=False)
def halved(A, n):
    if n < 2:
        return A
    for i in range(n):
        A[i] = A[i] * 0.5
    return halved(A[: n // 2], n // 2)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_a_function_that_calls_itself_does_not_come_back_to_the_kernel(monkeypatch):
    A, wanted = data(512), data(512)
    halved(A, 512)
    monkeypatch.setitem(globals(), "halved", halved.py_func)
    halved(wanted, 512)
    np.testing.assert_array_equal(A, wanted)
    monkeypatch.undo()
    calls = halved._as_python.calls
    halved(data(512), 512)
    assert halved._as_python.calls == calls + 1


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_results_that_share_memory_do_so_and_a_view_is_none_of_the_argument():
    A = data(300)
    T, V, same = polyml.kernel(cache=False)(two_views)(A, 2)
    assert np.shares_memory(T, V) and V.base is T
    assert same is not A and same.base is A
    (whole,) = (polyml.kernel(cache=False)(lambda_free)(A),)
    assert whole is not A and whole.base is A


def lambda_free(A):
    A *= 2.0
    return A[:]


class Scaled:
    """Methods of every kind."""

    offset = 3.0

    def __init__(self, weights):
        self.weights, self.scale = weights, 2.0

    @polyml.kernel(cache=False, fp="strict")
    def run(self, x):
        for i in range(x.shape[0]):
            x[i] = self.weights[i] * self.scale + self.offset
        return x

    @polyml.kernel(cache=False)
    @classmethod
    def of_class(cls, x):
        return x * cls.offset

    @polyml.kernel(cache=False)
    @staticmethod
    def of_none(x):
        return x * 4.0


def test_methods_are_compiled_for_what_their_object_holds():
    held, x = Scaled(data(300)), np.zeros(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert held.run(x) is x
        held.scale = 5.0
        np.testing.assert_array_equal(held.run(np.zeros(300)), data(300) * 5.0 + 3.0)
        np.testing.assert_array_equal(Scaled.of_class(np.ones(300)), np.full(300, 3.0))
        np.testing.assert_array_equal(held.of_none(np.ones(300)), np.full(300, 4.0))
    np.testing.assert_array_equal(x, data(300) * 2.0 + 3.0)
    assert list(Scaled.run.compiled_parts()) and list(Scaled.of_class.compiled_parts())
    assert Scaled.of_none.compiled


def test_a_property_is_python_s_to_read():
    reads = []

    class Watched:
        @property
        def scale(self):
            reads.append(1)
            return 2.0

        @polyml.kernel(cache=False, fallback="silent")
        def run(self, x):
            for i in range(x.shape[0]):
                x[i] = x[i] * self.scale
            return x

    assert Watched().run(np.ones(300)).sum() == 600.0
    assert len(reads) == 300


def test_the_stances():
    kernel = polyml.kernel(cache=False)(draws)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with polyml.config.scope(fallback="silent"):
            kernel(np.random.default_rng(1), 5)
    with polyml.config.scope(fallback="error"), pytest.raises(polyml.PolymlError, match="rng"):
        kernel(np.random.default_rng(1), 5)

    def doubled(A):
        return A * 2.0

    kernel = polyml.kernel(cache=False)(doubled)
    kernel(data(4))
    with polyml.config.scope(recompile="fail"):
        np.testing.assert_array_equal(kernel(data(5)), data(5) * 2.0)
        with pytest.raises(polyml.RecompileError, match="has no code for"):
            kernel(data(4, 4))
    with polyml.config.scope(recompile="plain", fallback="silent"):
        np.testing.assert_array_equal(kernel(data(4, 4)), data(4, 4) * 2.0)
        assert not kernel.compiled
    kernel(data(4, 4))
    assert kernel.compiled


def test_parts_too_small_for_a_call_are_left_to_python():
    size = 200
    arguments = (np.zeros(size), np.arange(size + 1) * 3, np.arange(3 * size) % size, data(3 * size), data(size))
    kernel = polyml.kernel(cache=False)(ragged)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            kernel(*copy.deepcopy(arguments))
    inner = ragged.__code__.co_firstlineno + 3
    assert not [part for part in parts(kernel) if f"(lines {inner} " in part.py_func.__code__.co_filename]


def imported_inside(r):
    import math

    return math.pi * r * r


def defined_inside(A):
    def twice(x):
        return 2.0 * x

    for i in range(A.shape[0]):
        A[i] = twice(A[i]) + 1.0


@pytest.mark.parametrize("function", [imported_inside, defined_inside], ids=lambda f: f.__name__)
def test_names_that_imports_and_inner_functions_bind_are_the_functions_own(function):
    wanted, got = np.arange(4.0), np.arange(4.0)
    returned, expected = polyml.kernel(fallback="silent")(function)(got), function(wanted)
    assert np.array_equal(got, wanted)
    assert returned is expected is None or np.array_equal(returned, expected)
