"""Arrays of complex numbers whose size data decide, beside NumPy's."""

import numpy as np
import pytest

from tests.frontend.library.compare import check


def selected(z, k):
    y = z[z.imag > 1]
    some = z[np.abs(z) > 2], np.nonzero(z)[0], np.flatnonzero(z), np.argwhere(z), z[np.flatnonzero(k > 2)], z[k[k > 1]]
    return some, y * 2, y.real * 1, np.abs(y), len(y), y[::-1] + 1j, np.conj(y), np.cumsum(y), np.diff(y)


def sums(z, w):
    y, u = z[z.real > 1], w[z.real > 1]
    total = 0j
    for v in y:
        total += v * v
    return y * u, y + u[0:1], total, z[(z.real > 1) & (z.imag < 5)].mean()


def allocated(z, k):
    out = np.zeros(int(k[0]) + 2, dtype=np.complex128)
    for i in range(len(out)):
        out[i] = z[i] * 1j
    out[1] = out[0] * out[1] + out[-1]
    out[0], out[1] = out[1] * 1j, out[0] * (1 + 2j)
    out[1:] *= out[:-1].copy()
    return out, np.zeros(k.sum(), dtype=z.dtype), np.full(k.sum(), 1 - 2j), np.repeat(z, k), out[1:].imag * 1


def matrices(z, k):
    table = np.zeros((k.sum(), 3), dtype=np.complex64)
    for i in range(table.shape[0]):
        for j in range(3):
            table[i, j] = z[j] * (i - 1j)
    table[:, 1] = table[:, 0] * table[:, 2]
    return table, table[1:, ::2] * 1j, table.sum(axis=0)


def exchanged(z, k):
    y = np.repeat(z, k)
    i, j = 0, len(y) - 1
    while i < j:
        y[i], y[j] = y[j] * 1j, y[i]
        y[j] = y[i] * y[j]
        i += 1
        j -= 1
    return y


def in_each_iteration(z, k):
    total = np.zeros(3, dtype=np.complex128)
    for i in range(3):
        part = np.zeros(k[i] + 1, dtype=np.complex128)
        for j in range(len(part)):
            part[j] = z[j] + i
        total[i] = part.sum() + part[-1]
    return total


def roots(z):
    found = []
    for i in range(len(z)):
        if z[i].real > 1:
            found.append(z[i])
            found.append(z[i] * 1j)
    return np.array(found), [2j * v for v in found]


@pytest.mark.parametrize("kind", ["complex128", "complex64"])
def test_numbers_are_those_of_numpy(kind):
    rng = np.random.default_rng(0)
    z, k = (rng.integers(0, 5, 9) + 1j * rng.integers(0, 5, 9)).astype(kind), rng.integers(0, 4, 9)
    bound = 1e-5 if kind == "complex64" else 1e-13
    for function, given in ((selected, (z, k)), (sums, (z, z * 2)), (allocated, (z, k)), (matrices, (z, k))):
        check(function, given, bound=bound)
    check(selected, (z * 0, k), (z[:1], k[:1] * 0), settings=({},), bound=bound)
    check(exchanged, (z * 0.25, k), (z, k * 0), bound=bound)
    check(in_each_iteration, (z, k), (z, k[::-1].copy()), bound=bound)


def test_lists_of_complex_numbers_grow():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 5, 300) + 1j * rng.integers(0, 5, 300)
    check(roots, (z,), (z + 2,))
