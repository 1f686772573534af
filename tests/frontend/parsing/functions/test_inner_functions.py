"""Functions inside of kernels: `def`, `lambda`, what they read of the function around them, and functions as arguments."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal

SCALE = 2.0


def applied(f, A, B):
    for i in range(A.shape[0]):
        B[i] = f(A[i])


def twice(f, x):
    return f(f(x))


def closure(A, B, c):
    def f(x):
        return x * c + SCALE

    for i in range(A.shape[0]):
        B[i] = f(A[i])


def late_binding(A, B, c):
    def f(x):
        return x + c

    for i in range(A.shape[0]):
        B[i] = f(A[i])
        c = 3
    return f(1)


def function_as_argument(A, B, c):
    applied(lambda x: x * c, A, B)
    c = 3
    square = lambda x: twice(lambda y: y * y + c, x)  # noqa: E731
    for i in range(A.shape[0]):
        B[i] += square(A[i])


def writes_and_returns_early(A, B, c):
    def put(i, v):
        B[i] = v

    def clamped(v, low=1.0, high=SCALE):
        if v < low:
            return low
        if v > high:
            return high
        return v

    for i in range(A.shape[0]):
        put(i, clamped(A[i]) + clamped(A[i], high=4.0))


def defaults_when_defined(A, B, c):
    t = A.shape[0]
    g = lambda k=t: t + k  # noqa: E731
    t = c
    return g(), g(1), g(k=c)


def defined_in_a_loop(A, B, c):
    total = 0
    for i in range(c):

        def g(j):
            return i * j

        for k in range(i):
            total += g(k)
    return total


def with_a_loop_of_its_own(A, B, c):
    def halvings(x):
        count = 0
        while x > 1:
            x = x // 2
            count += 1
        return count

    for i in range(A.shape[0]):
        B[i] = halvings(A[i])


def own_locals(A, B, c):
    def f(x):
        c = x + 1
        return c

    x = 5
    return f(x) + x + c + f(2.5)


def one_inside_another(A, B, c):
    def outer(x):
        def inner(y):
            return x * y + c

        return inner(x) + inner(2)

    for i in range(A.shape[0]):
        B[i] = outer(A[i]) - any(outer(a) > 3 for a in A)


def whole_arrays(A, B, c):
    scaled = lambda X: X * 2 + A  # noqa: E731
    B[:] = scaled(B)
    return scaled(A).sum()


def shadowed_loop_variable(A, B, c):
    f = lambda i: i + c  # noqa: E731
    total = 0
    for i in range(c):
        total += f(i * 2)
    return total


def rebound(A, B, c):
    f = lambda x: x + 1  # noqa: E731
    s = f(c)
    f = lambda x: x * 2  # noqa: E731
    s += f(c)
    f = 5
    return s + f


FUNCTIONS = [
    closure, late_binding, function_as_argument, writes_and_returns_early, defaults_when_defined, defined_in_a_loop,
    with_a_loop_of_its_own, own_locals, one_inside_another, whole_arrays, shadowed_loop_variable, rebound,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_calls_are_inlined(function, kind):
    if function is writes_and_returns_early and kind[0] == "i":
        pytest.skip("a number that is an int of NumPy's on one path and a float on another is refused")
    for size in (1, 6):
        assert_python(function, np.arange(1, size + 1).astype(kind), np.zeros(size, kind), 3)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_nothing_is_done_for_arrays_without_elements(function):
    assert_python(function, np.zeros(0), np.zeros(0), 3, compiles=False)


def inner_variable_behind_its_loop(A):
    def g():
        return A[i]

    total = 0.0
    for i in range(2):
        for i in range(3):
            total += 1
        total += g()
    return total


def behind_the_loop(A):
    def g():
        return A[i]

    for i in range(3):
        A[i] += 1
    return g()


def one_of_two(A):
    if A[0] > 0:
        f = lambda x: x + 1  # noqa: E731
    else:
        f = lambda x: x - 1  # noqa: E731
    return f(A[1])


def perhaps_defined(A):
    if A[0] > 0:

        def f(x):
            return x + 1

    return f(A[1])


def recursive(A):
    def f(n):
        return g(n)

    def g(n):
        return 1 if n <= 0 else f(n - 1)

    return f(3)


def with_nonlocal(A):
    count = 0

    def f():
        nonlocal count
        count += 1

    f()
    return count


def returned(A):
    def f():
        return A[0]

    return f


def changes_inside_an_expression(A):
    def f():
        A[0] = 7
        return 1

    return A[0] + f()


def decorated(A):
    @str
    def f():
        return 1

    return f is None


def before_its_definition(A):
    total = f(A[0])  # noqa: F821
    f = lambda x: x  # noqa: E731, F841
    return total


REFUSED = {
    inner_variable_behind_its_loop: "`i` is the variable of a loop around this one",
    behind_the_loop: "`i`",
    one_of_two: "`f` is a function on one path and something else on another",
    perhaps_defined: "`f` is not a function of the language",
    recursive: "`f` calls itself",
    with_nonlocal: "`nonlocal` in a function inside a kernel",
    returned: "the function `f` is not a number of the language",
    changes_inside_an_expression: "`f`, which changes its arguments, is called inside an expression",
    decorated: "a decorator of a function inside a kernel",
    before_its_definition: "`f` is not a function of the language",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    assert REFUSED[function] in refusal(function, np.arange(1.0, 7.0))
    if function is not returned:
        assert_python(function, np.arange(1.0, 7.0), compiles=False)


def test_a_global_that_an_inner_function_alone_reads_is_looked_at_in_each_call(monkeypatch):
    kernel = polyml.kernel(cache=False, fallback="error")(closure)
    given = np.ones(2), np.zeros(2), 1
    kernel(*given)
    monkeypatch.setitem(closure.__globals__, "SCALE", 10.0)
    kernel(*given)
    assert given[1].tolist() == [11.0, 11.0]
