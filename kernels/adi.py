"""adi: alternating direction implicit solver of the 2D heat equation; u, v, p, q (N, N).

p and q hold the factors of the tridiagonal systems, v the half step.
"""

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

SIZES = size_table("TSTEPS N", (20, 20), (40, 60), (100, 200), (500, 1000), (1000, 2000))
OUTPUTS = ("u",)


@polyml.kernel
def adi(tsteps, u, v, p, q):
    DX = 1.0 / u.shape[0]
    DY = 1.0 / u.shape[0]
    DT = 1.0 / tsteps
    B1 = 2.0
    B2 = 1.0
    mul1 = B1 * DT / (DX * DX)
    mul2 = B2 * DT / (DY * DY)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d

    for t in range(1, tsteps + 1):
        for i in range(1, u.shape[0] - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, u.shape[0] - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (-d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[u.shape[0] - 1, i] = 1.0
            for j in range(u.shape[0] - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, u.shape[0] - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, u.shape[0] - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (-a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]) / (d * p[i, j - 1] + e)
            u[i, u.shape[0] - 1] = 1.0
            for j in range(u.shape[0] - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def reference(tsteps, u, v, p, q):
    """Returns {"u": u after all time steps}. One routine runs both sweeps, for all lines of a direction together."""
    n = u.shape[0]
    x_ratio, y_ratio = (b * n * n / max(tsteps, 1) for b in (2.0, 1.0))
    u, v = u.copy(), v.copy()
    for _ in range(tsteps):
        _sweep(u, v, x_ratio, y_ratio)
        rows, half = u.T.copy(), v.T.copy()
        _sweep(half, rows, y_ratio, x_ratio)
        u = rows.T.copy()
    return {"u": u}


def _sweep(old, new, implicit, explicit):
    """Runs one sweep of a time step: solves a tridiagonal system for each column i of `new`, in place.

        -m/2 new[j - 1, i] + (1 + m) new[j, i] - m/2 new[j + 1, i] = rhs[j, i],    m = implicit

    The right side is an explicit step of `old` across its columns; boundary rows of `new` are 1.

    implicit, explicit: the diffusion coefficient times the time step over the squared grid spacing, in either direction.
    """
    n = old.shape[0]
    if n < 3:
        return
    side, centre = 0.5 * explicit, 1.0 - explicit
    rhs = side * old[:, :-2] + centre * old[:, 1:-1] + side * old[:, 2:]
    new[0, 1:-1] = new[n - 1, 1:-1] = 1.0
    ratio, partial = np.zeros(n, old.dtype), np.ones((n, n - 2), old.dtype)
    for j in range(1, n - 1):
        pivot = 1.0 + implicit - 0.5 * implicit * ratio[j - 1]
        ratio[j] = 0.5 * implicit / pivot
        partial[j] = (rhs[j] + 0.5 * implicit * partial[j - 1]) / pivot
    for j in range(n - 2, 0, -1):
        new[j, 1:-1] = ratio[j] * new[j + 1, 1:-1] + partial[j]


def inputs(size, rng, dtype=np.float64):
    """Returns the arguments with a smooth random field u: a few waves of random phase and amplitude over the unit square."""
    n = size["N"]
    x = np.linspace(0.0, 1.0, n)
    u = np.ones((n, n))
    for wave in range(1, 4):
        phase = rng.uniform(0.0, 2.0 * np.pi, 2)
        u += rng.uniform(-1.0, 1.0) * np.outer(np.sin(wave * x + phase[0]), np.cos(wave * x + phase[1]))
    zeros = {name: np.zeros((n, n), dtype) for name in ("v", "p", "q")}
    return {"tsteps": size["TSTEPS"], "u": u.astype(dtype)} | zeros


def flops(size):
    return 30 * size["TSTEPS"] * max(size["N"] - 2, 0) ** 2


def terms(size):
    """Returns 22 roundings for each time step, which is two sweeps of 11 each."""
    return 22 * size["TSTEPS"]


def magnitude(tsteps, u, v, p, q):
    """Returns the scale of u's errors: the explicit half of a sweep multiplies short waves, and rounding errors, by up to N^2 /
    TSTEPS.
    """
    return {"u": (1.0 + u.shape[0] ** 2 / max(tsteps, 1)) * max(1.0, largest(u))}
