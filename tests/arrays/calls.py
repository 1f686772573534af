"""Programs that call Python functions, which are inlined."""

import math

import numpy as np

import polyml
from tests.arrays import elsewhere
from tests.arrays.corpus import floats, program

SCALE = 3


def relu(x):
    """Of numbers and of arrays."""
    return np.maximum(x, 0)


def linear(x, weights, bias=None, *, scale=SCALE):
    y = x @ weights * scale
    if bias is not None:
        y += bias
    return y


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def nearest(i, low, high):
    if i < low:
        return low
    if i > high:
        return high
    return i


def axpy(a, x, y):
    y += a * x


def scaled(x, mode="twice"):
    if mode == "twice":
        return x * 2
    elif mode == "half":
        return x / 2
    return x


def applied(f, x):
    return f(x) + 1


def shifted(x, out=None):
    if out is None:
        out = np.zeros_like(x)
    out[1:] = x[:-1]
    return out


def moments(x):
    n = x.shape[0]
    mean = x.sum() / n
    total = 0.0
    for i in range(n):
        total += (x[i] - mean) ** 2
    return mean, total / n


@polyml.kernel
def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.79788 * (x + 0.044715 * x**3)))


@program(floats(7, 9), floats(9, 5), floats(5))
def a_function_of_arrays(x, weights, bias):
    return softmax(relu(linear(x, weights, bias))), linear(x, scale=2, weights=weights)


@program(floats(9), floats(9))
def a_function_of_numbers(A, B):
    n = A.shape[0]
    for i in range(n):
        B[i] = A[nearest(i - 2, 0, n - 1)] + relu(A[i]) * gelu(A[nearest(i + 2, low=0, high=n - 1)])


@program(2.5, floats(9), floats(9), floats(6, 6))
def arguments_that_change(a, x, y, A):
    axpy(a, x, y)
    axpy(2, x[1:], y[:-1])
    axpy(-1.0, A, A.T)
    z = shifted(x)
    w = shifted(x * 2, out=y)
    w[0] = 3.0
    return z


@program(floats(9))
def known_arguments(x):
    return scaled(x), scaled(x, "half"), scaled(x, mode="as it is") * 1, applied(np.tanh, x), applied(scaled, x)


@program(floats(9), floats(9))
def tuples(x, y):
    m, v = moments(x)
    a, b = moments(y)
    m, a = a, m
    return m + v, a - b


@program(floats(9), 0.5)
def calls_under_conditions(x, limit):
    s = 0.0
    for i in range(x.shape[0]):
        s += scaled(x[i - 1] * 3) if i > 0 and relu(x[i]) > limit else nearest(x[i], 0.1, 0.2)
    if relu(s) > limit:
        s = math.sqrt(s)
    return s


@program(floats(9), floats(9))
def functions_of_modules(x, y):
    elsewhere.swapped_sums(x, y)
    return elsewhere.centred(x) * elsewhere.FACTOR


@program(floats(9))
def returned_at_once(x):
    return moments(x)


@program(4, 2.5)
def several_returns(n, x):
    if n > 3:
        x = x + 1
        return x
    if n > 2:
        return x * 2
    else:
        x = x * 3
    return x - n
