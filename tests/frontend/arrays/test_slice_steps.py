"""Slices whose step is computed: read, stored, as views, with steps of both signs, and of zero."""

import dataclasses

import numpy as np
import pytest

import polyml
from polyml.frontend import syntax
from polyml.frontend.text import reader, writer
from tests.frontend.parsing.compared import assert_python, refusal


def sieve(A, k):
    is_prime = np.ones(A.shape[0] * 5 + 2, np.bool_)
    i = 2
    while i * i < is_prime.shape[0]:
        if is_prime[i]:
            is_prime[i * i :: i] = False
        i += 1
    return np.flatnonzero(is_prime)


def parts(A, k):
    out = np.zeros((k.shape[0], 5))
    for i in range(k.shape[0]):
        s = k[i]
        out[i, 0] = A[::s].sum()
        out[i, 1] = A[3:-2:s].sum()
        out[i, 2] = A[-2:3:s].sum()
        out[i, 3] = A[s::s].sum()
        out[i, 4] = A[:s:-s].sum()
    return out


def sizes(A, k):
    total = 0
    for i in range(k.shape[0]):
        total = total * 7 + len(A[:: k[i]]) * 100 + len(A[2 : 9 : k[i]])
    return total


def updates(A, k):
    for i in range(k.shape[0]):
        A[:: k[i]] += 1
        A[k[i] :: k[i]] *= 2
    return A.sum()


def overlapping(A, k):
    s = k[0]
    A[::s] = A[::s][::-1] + 1
    return A * 1


def views(A, k):
    s = k[1] + 0
    v = A[::s]
    total = A[0] * 0
    for i in range(v.shape[0]):
        v[i] += i
        total += A[i]
    return total, v * 2


def matrices(A, k):
    M = np.ones((4, 5))
    s = k[2] * 1
    M[::s, 1:] = 0
    return M, M[:, ::s].sum(axis=0)


@pytest.mark.parametrize("steps", [(1, 2, 3), (-1, -2, -3), (7, 40, -40), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("function", [sieve, parts, sizes, updates, overlapping, views, matrices], ids=lambda f: f.__name__)
def test_a_computed_step_is_one_of_python(function, steps):
    for size, dtype in ((0, "f8"), (1, "f4"), (30, "i4"), (30, "f8")):
        if size or function not in (views, overlapping):
            assert_python(function, np.arange(size).astype(dtype), np.array(steps))


def of_zero(A, k):
    for i in range(k.shape[0]):
        A[i] = 5
        A[:: 2 - k[i]] = 1


def test_a_step_of_zero_raises_what_python_raises():
    wanted, given = np.zeros(5), np.zeros(5)
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        of_zero(wanted, np.array([1, 2]))
    with pytest.raises(ValueError, match="^slice step cannot be zero$"):
        polyml.kernel(cache=False, fallback="error")(of_zero)(given, np.array([1, 2]))
    assert given.tolist() == wanted.tolist()


def returned(A, k):
    s = k[0] + 1
    return A[::s]


def test_a_view_is_no_result():
    assert "a view of an argument is returned" in refusal(returned, np.arange(5.0), np.array([1]))


def test_the_text_of_a_computed_step_is_read_back():
    part = syntax.Part(
        syntax.Name("A"), (syntax.Slice(None, syntax.Const(9), by=syntax.Binary("+", syntax.Name("k"), syntax.Const(1))),)
    )
    body = (syntax.Assign(syntax.Name("x"), part),)
    kernel = syntax.Kernel("f", (syntax.Param("A"), syntax.Param("k")), body, None)
    text = writer.text(kernel)
    assert "A[:9:(k + 1)]" in text
    assert dataclasses.replace(reader.parse(text), source=None) == kernel
