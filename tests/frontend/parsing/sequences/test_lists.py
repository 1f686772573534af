"""Lists of fixed lengths: what makes them, their elements, which keep Python's types, loops over them, and what is refused."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal


def of_constants(A, x, n):
    w = [0.25, 0.5, 0.25]
    total = 0.0
    for k in range(3):
        total += w[k] * A[0, k]
    return total, w[-1], len(w)


def repeated(A, x, n):
    w = [0.0] * n
    for i in range(n):
        w[i] = A[i, 0] * 2
    total = A[0, 0] * 1
    for v in w:
        total += v
    return total, len(w), w[n - 1]


def counted(A, x, n):
    c = n * [0]
    for i in range(A.shape[0]):
        c[int(abs(A[i, 0])) % n] += 1
    return c[0], c[1], c[-1], sum(c), min(c), max(c)


def comprehension(A, x, n):
    w = [v * 2 for v in A[0]]
    squares: list = [i * i for i in range(1, n + 1)]
    return w[0], w[-1], len(w), squares[n - 1], sum(squares), max(squares), min(squares)


def nested(A, x, n):
    M = [[0.0] * n for _ in range(4)]
    T = [[i * j for j in range(n)] for i in range(4)]
    for i in range(4):
        for j in range(n):
            M[i][j] = i * 10.0 + j
    total = 0.0
    for row in M:
        for v in row:
            total += v
    U = [[1, 2], [3, 4]]
    return total, len(M), len(M[0]), M[1][2], T[2][n - 1], sum(T[3]), U[1][0], U[-1][-1]


def shared(A, x, n):
    w = [x, 2 * x]
    v = w
    v[0] = 3 * x
    return w[0]


def doubled(w, k):
    w[k] = w[k] * 2
    return w[0] + w[1]


def to_functions(A, x, n):
    w = [float(x), 1.0]
    return doubled(w, 1), w[1]


def in_loops(A, x, n):
    B = np.zeros(A.shape[0])
    s = 0
    for i in range(A.shape[0]):
        h = [0.0] * 4
        for j in range(4):
            h[3 - j] = A[i, j] + 0.5
        for j in range(4):
            B[i] += h[j] * j
        t = [i, i + 1, i + 2]
        s += t[0] * t[2]
    return B, s


def with_zip(A, x, n):
    w = [float(v) for v in A[0]]
    total = 0.0
    for i, v in enumerate(w):
        total += i * v
    for a, b in zip(w, A[1]):
        total += a * float(b)
    for v in reversed(w):
        total = total * 2 + v
    return total


def copied(A, x, n):
    w = list(range(n))
    v = list(A[0])
    return w[1], v[1]


def of_truths(A, x, n):
    w = [True, False, n > 2]
    return w[0], w[2], any(w), all(w)


def stack(A, x, n):
    waiting = [0] * 16
    waiting[0] = n
    top, total = 1, 0
    while top > 0:
        top -= 1
        k = waiting[top]
        total += k
        if k > 1:
            waiting[top] = k - 1
            waiting[top + 1] = k - 2
            top += 2
    return total


def of_no_length(A, x, n):
    w = [0.0] * (n - 5)
    v = []
    return len(w), len(v)


COMPILED = [
    of_constants,
    repeated,
    counted,
    comprehension,
    nested,
    shared,
    to_functions,
    in_loops,
    with_zip,
    copied,
    of_truths,
    stack,
    of_no_length,
]


@pytest.mark.parametrize("x", [0.5, 2, np.float32(1.5)], ids=repr)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1"])
@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
def test_lists_are_those_of_python(function, dtype, x):
    assert_python(function, (np.arange(12).reshape(3, 4) % 5).astype(dtype), x, 3)


def arrays_of_lists(A, x, n):
    w = [1.5, 2.5, -1.0]
    return np.array(w), np.sum(w), np.array([i for i in range(n)]), np.array(w, dtype=int), np.array([A[0, k] for k in range(n)])


def test_arrays_of_lists_have_the_type_of_the_elements():
    for dtype in ("f8", "f4", "i2"):
        assert_python(arrays_of_lists, np.ones((3, 4), dtype), 0.5, 3)
    assert_python(arrays_of_lists, np.ones((3, 4)), 0.5, 0)


def outside(A, x, n):
    w = [1, 2, 3]
    return w[n]


def outside_by_data(A, x, n):
    w = [1, 2, 3]
    total = 0
    for i in range(A.shape[0]):
        total += w[int(A[i, 0])]
    return total


def stored_outside(A, x, n):
    w = [1, 2, 3]
    for i in range(n):
        w[-i] = i
    return w[0]


def least_of_none(A, x, n):
    w = [i for i in range(n - 3)]
    return min(w)


def too_large(A, x, n):
    w = [2**62] * 2
    w[0] += w[1]
    return w[0]


def test_errors_are_those_of_python():
    A = np.ones((3, 4))
    for n in (-4, -3, 2):
        assert_python(outside, A, 0.5, n)
    assert_python(outside_by_data, A * 3, 0.5, 3)
    assert_python(outside_by_data, A * -3, 0.5, 3)
    for n in (3, 4, 5):
        assert_python(stored_outside, A, 0.5, n)
        assert_python(least_of_none, A, 0.5, n)
    with pytest.raises(OverflowError):
        polyml.kernel(too_large, cache=False, fallback="error")(A, 0.5, 3)


def rows_read_outside(A, x, n):
    w = [[1] * 2 for i in range(2)]
    A[0, 0] = 7
    w[int(A[1, 0])][n] = 5
    return w[0][0]


def added_to_outside(A, x, n):
    w = [1, 2, 3]
    A[0, 0] = 7
    w[int(A[1, 0]) + n] += 1
    return w[0]


def stored_outside_by_data(A, x, n):
    w = [1, 2, 3]
    A[0, 0] = 7
    w[int(A[1, 0]) + n] = 1
    return w[0]


@pytest.mark.parametrize(
    ("function", "n", "text"),
    [
        (outside, 3, "list index out of range"),
        (outside_by_data, 3, "list index out of range"),
        (stored_outside, 5, "list assignment index out of range"),
        (rows_read_outside, 2, "list assignment index out of range"),
        (rows_read_outside, -3, "list assignment index out of range"),
        (added_to_outside, 9, "list index out of range"),
        (stored_outside_by_data, 9, "list assignment index out of range"),
    ],
)
def test_indices_outside_of_a_list_have_the_text_of_python(function, n, text):
    A, plain = (
        np.ones((3, 4)) * (3 if function is outside_by_data else 1),
        np.ones((3, 4)) * (3 if function is outside_by_data else 1),
    )
    for called, given in ((function, plain), (polyml.kernel(function, cache=False, fallback="error"), A)):
        with pytest.raises(IndexError) as caught:
            called(given, 0.5, n)
        assert str(caught.value) == text and type(caught.value) is IndexError
    assert (A == plain).all()


def test_a_list_of_lists_has_no_such_list():
    def function(A, n):
        w = [[1] * 2 for i in range(2)]
        return w[int(A[0])][n]

    for given in ((np.full(1, 2.0), 0), (np.full(1, 1.0), 2), (np.full(1, -3.0), 1)):
        with pytest.raises(IndexError, match="^list index out of range$"):
            polyml.kernel(function, cache=False, fallback="error")(*given)


def element_of_mixed_types(A, n):
    w = [0.0] * 3
    w[1] = A[0]
    return w[0]


def number_of_mixed_types(A, n):
    w = [0.0] * n
    for i in range(1, n):
        w[i] = A[0]
    s = w[n - 1]
    return s


def added(A, n):
    w = [0] * n
    v = w * 2
    return len(v)


def sliced(A, n):
    w = [0] * n
    return len(w[::2])


def of_arrays(A, n):
    w = [A, A]
    return w[0][0]


def enlarged(A, n):
    w = [1, 2]
    w *= 2
    return len(w)


def in_a_branch(A, n):
    if n > 2:
        w = [1, 2]
    else:
        w = [3, 4]
    return w[0]


def renamed(A, n):
    w = [1, 2]
    v = w
    for k in range(n):
        w = [k, k]
    return v[0] + w[0]


def by_arrays(A, n):
    w = [1, 2, 3]
    return w[A.astype(np.int64)]


def ragged(A, n):
    w = [[[0] * j for j in range(i)] for i in range(n)]
    return len(w[1])


REFUSED = {
    element_of_mixed_types: "a Python float or float64",
    number_of_mixed_types: "a Python float or float64",
    added: "`w` is a list, which is neither a number nor an array",
    sliced: "a slice of a list",
    of_arrays: "a list that has arrays in it",
    enlarged: "`w` is a tuple or list, which is changed as a whole",
    in_a_branch: "is bound to an array under a condition",
    renamed: "`w` is this tuple on one path and something else on another",
    by_arrays: "a list has a subscript that is an array",
    ragged: "a list or shape in a list of numbers",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    A = np.ones(3)
    assert REFUSED[function] in refusal(function, A, 3)
    assert_python(function, A, 3, compiles=False)
