"""Sixty functions as people write them, each with something that Python runs: what `benchmarks.plain` times."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A Case is a function to be called on what `make` gives. kind: what of Python it has."""

    function: Callable
    kind: str
    make: Callable[[], tuple]


CASES: list[Case] = []


def case(kind: str, make: Callable[[], tuple]):
    """Adds the function to the cases and leaves it as it is."""

    def added(function: Callable) -> Callable:
        CASES.append(Case(function, kind, make))
        return function

    return added


def vector(n: int = 1000) -> np.ndarray:
    return np.random.default_rng(n).random(n)


def matrix(n: int = 30, m: int | None = None) -> np.ndarray:
    return np.random.default_rng(n).random((n, m or n))


# assert and raise


@case("assert", lambda: (vector(), 0.5))
def checked_scale(x, a):
    assert x.ndim == 1
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * a
    return y


@case("assert", lambda: (3.0,))
def checked_root(x):
    assert x >= 0, "negative"
    return math.sqrt(x)


@case("assert", lambda: (matrix(), vector(30)))
def checked_product(A, x):
    if A.shape[1] != x.shape[0]:
        raise ValueError("shapes")
    return A @ x


@case("assert", lambda: (vector(200),))
def normalised(x):
    total = x.sum()
    if total == 0:
        raise ZeroDivisionError("nothing to divide by")
    return x / total


@case("assert", lambda: (5, 3))
def binomial(n, k):
    assert 0 <= k <= n
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


# print


@case("print", lambda: (vector(100), False))
def verbose_sum(x, verbose):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    if verbose:
        print("total", total)
    return total


@case("print", lambda: (4,))
def countdown(n):
    while n > 0:
        n -= 1
        if n == 100:
            print(n)
    return n


@case("print", lambda: (matrix(10), 5))
def logged_power(A, n):
    x = np.ones(10)
    for step in range(n):
        x = A @ x
        x = x / np.abs(x).max()
        if step > 50:
            print("step", step)
    return x


# try


@case("try", lambda: (np.arange(100.0), 99))
def tried_element(x, i):
    try:
        return x[i]
    except IndexError:
        return 0.0


@case("try", lambda: ("12",))
def parsed(text):
    try:
        return int(text)
    except ValueError:
        return None


@case("try", lambda: (vector(300), {}))
def cached_norm(x, cache):
    try:
        return cache["norm"]
    except KeyError:
        cache["norm"] = math.sqrt((x * x).sum())
        return cache["norm"]


@case("try", lambda: (vector(300), vector(300)))
def divided(a, b):
    out = np.zeros(a.shape[0])
    with np.errstate(divide="ignore"):
        out[:] = a / b
    return out


@case("try", lambda: ([1, 2, 0, 4],))
def safe_inverses(values):
    out = []
    for v in values:
        try:
            out.append(1 / v)
        except ZeroDivisionError:
            out.append(math.inf)
    return out


# dicts


@case("dict", lambda: ("the cat and the hat and the bat",))
def word_counts(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


@case("dict", lambda: ({"lr": 0.1, "steps": 5}, vector(500)))
def configured(options, x):
    for _ in range(options["steps"]):
        x = x - options["lr"] * x
    return x


@case("dict", lambda: (vector(50), vector(50)))
def statistics(x, y):
    return {"mean": x.mean(), "cov": ((x - x.mean()) * (y - y.mean())).mean(), "n": x.shape[0]}


@case("dict", lambda: ([(0, 1), (1, 2), (2, 0)], 3))
def degrees(edges, n):
    found = {k: 0 for k in range(n)}
    for a, b in edges:
        found[a] += 1
        found[b] += 1
    return found


@case("dict", lambda: ({"a": vector(100), "b": vector(100)},))
def summed_values(arrays):
    total = 0.0
    for name in arrays:
        total += arrays[name].sum()
    return total


# lists


@case("list", lambda: (vector(40),))
def running_best(x):
    best, places = x[0], []
    for i in range(x.shape[0]):
        if x[i] >= best:
            best = x[i]
            places.append(i)
    return best, places


@case("list", lambda: ([5, 3, 8, 1, 9, 2],))
def bubble_sorted(values):
    values = list(values)
    for i in range(len(values)):
        for j in range(len(values) - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values


@case("list", lambda: ([1.0, 2.0, 3.0], 3))
def incremented(x, n):
    i = 0
    while i < n:
        x[i] = x[i] + 1.0
        i += 1
    return x


@case("list", lambda: (100,))
def primes(n):
    found = []
    for k in range(2, n):
        if all(k % p for p in found):
            found.append(k)
    return found


@case("list", lambda: (vector(64),))
def pairs_of(x):
    return [(x[i], x[i + 1]) for i in range(0, len(x), 2)]


@case("list", lambda: ([vector(50), vector(60)],))
def joined(parts):
    return np.concatenate([p * 2 for p in parts])


# tuples


@case("tuple", lambda: (vector(500),))
def extent(x):
    low, high = x.min(), x.max()
    return low, high, (high - low, x)


@case("tuple", lambda: (matrix(20),))
def upper_ones(A):
    t = np.triu_indices(A.shape[0], 1)
    A[t] = 1.0
    return A


@case("tuple", lambda: ((3.0, 4.0),))
def length(p):
    x, y = p
    return math.hypot(x, y)


@case("tuple", lambda: (10, 4))
def divided_with_rest(a, b):
    q, r = divmod(a, b)
    return q, r


@case("tuple", lambda: ((1, 2), (3, 4)))
def added_tuples(a, b):
    return a + b


@case("tuple", lambda: (1, 2, 3, 4))
def any_number(*values):
    first, *rest = values
    return first, sum(rest)


# recursion


@case("recursion", lambda: (12,))
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@case("recursion", lambda: (vector(64).astype(complex),))
def fft(x):
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = fft(x[::2]), fft(x[1::2])
    turn = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turn, even - turn))


@case("recursion", lambda: ([3, 1, 4, 1, 5, 9, 2, 6],))
def quicksorted(values):
    if len(values) < 2:
        return values
    pivot, rest = values[0], values[1:]
    return quicksorted([v for v in rest if v < pivot]) + [pivot] + quicksorted([v for v in rest if v >= pivot])


@case("recursion", lambda: (vector(256),))
def pairwise_sum(x):
    n = x.shape[0]
    if n <= 8:
        total = 0.0
        for i in range(n):
            total += x[i]
        return total
    return pairwise_sum(x[: n // 2]) + pairwise_sum(x[n // 2 :])


@case("recursion", lambda: (48, 18))
def greatest_divisor(a, b):
    return a if b == 0 else greatest_divisor(b, a % b)


@case("recursion", lambda: (lambda x: x * x - 2.0, 0.0, 2.0, 30))
def bisected(f, low, high, n):
    if n == 0:
        return low
    middle = (low + high) / 2
    if f(low) * f(middle) <= 0:
        return bisected(f, low, middle, n - 1)
    return bisected(f, middle, high, n - 1)


# while


@case("while", lambda: (27,))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case("while", lambda: (2.0, 1e-12))
def newton_root(a, tolerance):
    x = a
    while abs(x * x - a) > tolerance:
        x = (x + a / x) / 2
    return x


@case("while", lambda: (vector(2000), 1e-3))
def relaxed(x, tolerance):
    change, steps = 1.0, 0
    while change > tolerance and steps < 50:
        new = x.copy()
        for i in range(1, x.shape[0] - 1):
            new[i] = (x[i - 1] + x[i + 1]) / 2
        change = np.abs(new - x).max()
        x = new
        steps += 1
    return x, steps


@case("while", lambda: (np.arange(1000.0), 567.0))
def binary_search(x, value):
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@case("while", lambda: (vector(100), 0.95))
def first_above(x, limit):
    for i in range(x.shape[0]):
        if x[i] > limit:
            break
    else:
        return None
    return i


# strings and None


@case("string", lambda: ("polyhedral",))
def reversed_text(text):
    return text[::-1].upper()


@case("string", lambda: (vector(20), "mean"))
def reduced(x, how):
    if how == "mean":
        return x.mean()
    if how == "sum":
        return x.sum()
    raise ValueError(how)


@case("string", lambda: (3, 4.5))
def described(n, x):
    return f"{n} of {x:.2f}"


@case("string", lambda: ("a1b22c333",))
def numbers_in(text):
    return [int(found) for found in re.findall(r"\d+", text)]


@case("none", lambda: (vector(300), None))
def weighted(x, weights):
    if weights is None:
        return x.mean()
    return (x * weights).sum() / weights.sum()


@case("none", lambda: (None,))
def or_default(x):
    return x or 7


@case("none", lambda: (vector(400), None))
def filled(x, out):
    if out is None:
        out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = x[i] + 1.0
    return out


# generators and functions inside


@case("generator", lambda: (6,))
def squares(n):
    for i in range(n):
        yield i * i


@case("generator", lambda: (vector(100), 10))
def chunk_sums(x, size):
    return list(x[k : k + size].sum() for k in range(0, x.shape[0], size))


@case("generator", lambda: (50,))
def summed_lazily(n):
    return sum(k * k for k in range(n))


@case("function", lambda: (vector(50),))
def with_inner(x):
    def scaled(v):
        return v * 2.0

    total = 0.0
    for i in range(x.shape[0]):
        total += scaled(x[i])
    return total


@case("function", lambda: ([3, 1, 2],))
def sorted_by_key(values):
    return sorted(values, key=lambda v: -v)


@case("function", lambda: (4, 5))
def reduced_product(a, b):
    return functools.reduce(lambda x, y: x * y, range(a, b + 1))


@case("function", lambda: (vector(10),))
def with_context(x):
    with contextlib.suppress(ValueError):
        return x.sum()
    return None


# linear algebra, random numbers, transforms


@case("linalg", lambda: (matrix(20) + 20 * np.eye(20), vector(20)))
def solved(A, b):
    x = np.linalg.solve(A, b)
    r = b - A @ x
    return x + np.linalg.solve(A, r)


@case("linalg", lambda: (matrix(12),))
def spectrum(A):
    S = A + A.T
    return np.linalg.eigvalsh(S)


@case("linalg", lambda: (matrix(25), 20))
def power_iteration(A, n):
    v = np.ones(A.shape[0])
    for _ in range(n):
        w = A @ v
        v = w / np.linalg.norm(w)
    return v


@case("rng", lambda: (np.random.default_rng(1), 500))
def walk(rng, n):
    steps = rng.standard_normal(n)
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = x[i - 1] + steps[i]
    return x


@case("rng", lambda: (np.random.default_rng(2), 2000))
def pi_estimate(rng, n):
    x, y = rng.random(n), rng.random(n)
    return 4.0 * (x * x + y * y < 1.0).mean()


@case("rng", lambda: (np.random.default_rng(3), [1, 2, 3]))
def shuffled(rng, values):
    rng.shuffle(values)
    return values


@case("fft", lambda: (vector(256), vector(256)))
def convolved(a, b):
    return np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(b))


@case("fft", lambda: (vector(512),))
def filtered(x):
    f = np.fft.rfft(x)
    f[20:] = 0
    return np.fft.irfft(f)


class Accumulator:
    """An Accumulator is an object that methods are called on."""

    def __init__(self) -> None:
        self.total, self.weights = 0.0, vector(400)


@case("method", lambda: (Accumulator(), 1.5))
def added(self, value):
    self.total += value
    return self.total


@case("method", lambda: (Accumulator(), vector(400)))
def weighted_sum(self, x):
    total = 0.0
    for i in range(x.shape[0]):
        total += self.weights[i] * x[i]
    return total


def chosen(names: Sequence[str]) -> list[Case]:
    """Returns the cases of these names or kinds; all of them for none."""
    return [c for c in CASES if not names or c.function.__name__ in names or c.kind in names]
