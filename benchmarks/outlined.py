"""Functions around calls of np.linalg, np.fft and random generators, which Python runs between compiled parts:

    python -m benchmarks.outlined [NAMES]

prints each function's time as plain Python and as a kernel after its first calls, in turn, and whether results, changed arguments and
the state of the random generator are those of plain Python.
"""

from __future__ import annotations

import argparse
import copy
import sys

import numpy as np

import polyml
from benchmarks.plain import same, timed
from benchmarks.python_functions import Case


def newton(x, a, steps):
    """Newton's method for x[i]**3 + sum of neighbours = a[i]: a Jacobian in loops, and a solve, in each step."""
    n = x.shape[0]
    J, r = np.zeros((n, n)), np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            r[i] = x[i] ** 3 - a[i]
            J[i, i] = 3 * x[i] ** 2
            for j in range(n):
                if j != i:
                    r[i] += 0.01 * x[j]
                    J[i, j] = 0.01
        d = np.linalg.solve(J, r)
        for i in range(n):
            x[i] -= d[i]
    return x


def kalman(F, H, Q, R, x, P, observed):
    """A Kalman filter: predictions and updates of a state by observations, one after the other."""
    states = np.zeros((observed.shape[0], x.shape[0]))
    eye = np.eye(x.shape[0])
    for t in range(observed.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (observed[t] - H @ x)
        P = (eye - K @ H) @ P
        states[t] = x
    return states


def power_iteration(A, x, steps):
    """The greatest eigenvalue of a matrix, by products with a vector, and a check by np.linalg.eigvalsh."""
    value = 0.0
    for _ in range(steps):
        y = A @ x
        value = np.sqrt((y * y).sum())
        x = y / value
    return value, np.linalg.eigvalsh(A)[-1]


def burgers(u, k, steps, dt):
    """Burgers' equation on a circle by Fourier transforms: products in space, derivatives in frequencies."""
    for _ in range(steps):
        v = np.fft.fft(u)
        slope = np.real(np.fft.ifft(1j * k * v))
        bend = np.real(np.fft.ifft(-(k**2) * v))
        for i in range(u.shape[0]):
            u[i] += dt * (0.05 * bend[i] - u[i] * slope[i])
    return u


def option_price(rng, paths, steps, s0, rate, sigma, strike):
    """The price of an Asian option by blocks of random paths, which one generator draws."""
    total = 0.0
    for _ in range(paths // 1000):
        z = rng.standard_normal((1000, steps))
        for p in range(1000):
            s, mean = s0, 0.0
            for t in range(steps):
                s *= np.exp((rate - 0.5 * sigma**2) / steps + sigma * np.sqrt(1.0 / steps) * z[p, t])
                mean += s
            total += max(mean / steps - strike, 0.0)
    return np.exp(-rate) * total / paths


def ridge(X, y, penalties):
    """Errors of ridge regressions for several penalties: Gram matrices, a solve for each, and residuals in loops."""
    G, b = X.T @ X, X.T @ y
    errors = np.zeros(penalties.shape[0])
    for q in range(penalties.shape[0]):
        A = G + penalties[q] * np.eye(X.shape[1])
        w = np.linalg.solve(A, b)
        for i in range(X.shape[0]):
            fitted = 0.0
            for j in range(X.shape[1]):
                fitted += X[i, j] * w[j]
            errors[q] += (y[i] - fitted) ** 2
    return errors


def principal_components(X, count):
    """Scores of principal components: centred columns, a covariance matrix, its eigenvectors, and products with them."""
    mean = X.mean(axis=0)
    C = np.zeros_like(X)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            C[i, j] = X[i, j] - mean[j]
    values, vectors = np.linalg.eigh(C.T @ C / (X.shape[0] - 1))
    scores = np.abs(C @ vectors[:, -count:])
    return values[-count:] * 1, scores


def gibbs(rng, x, y, sweeps):
    """A Gibbs sampler of a line with noise: intercept, slope and variance, one after the other."""
    n = x.shape[0]
    a, b, variance = 0.0, 0.0, 1.0
    chain = np.zeros((sweeps, 3))
    for t in range(sweeps):
        rest = 0.0
        for i in range(n):
            rest += y[i] - b * x[i]
        a = rest / n + np.sqrt(variance / n) * rng.standard_normal()
        top, below = 0.0, 0.0
        for i in range(n):
            top += x[i] * (y[i] - a)
            below += x[i] * x[i]
        b = top / below + np.sqrt(variance / below) * rng.standard_normal()
        squares = 0.0
        for i in range(n):
            squares += (y[i] - a - b * x[i]) ** 2
        variance = squares / (2 * rng.standard_gamma(n / 2))
        chain[t, 0], chain[t, 1], chain[t, 2] = a, b, variance
    return chain


def ising(rng, spins, beta, sweeps):
    """Sweeps of the Metropolis algorithm over a grid of spins, for each of which a block of random numbers is drawn."""
    n, m = spins.shape
    for _ in range(sweeps):
        drawn = rng.random((n, m))
        for i in range(n):
            for j in range(m):
                around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % m]
                if drawn[i, j] < np.exp(-2.0 * beta * spins[i, j] * around):
                    spins[i, j] = -spins[i, j]
    return spins.sum()


def filtered_image(A, width):
    """A picture that is blurred in frequencies, and the slopes of the result."""
    n, m = A.shape
    F = np.fft.fft2(A)
    for i in range(n):
        for j in range(m):
            u, v = min(i, n - i), min(j, m - j)
            F[i, j] *= np.exp(-(u * u + v * v) / (2.0 * width * width))
    B = np.real(np.fft.ifft2(F))
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = np.sqrt((B[i + 1, j] - B[i - 1, j]) ** 2 + (B[i, j + 1] - B[i, j - 1]) ** 2)
    return out


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape)


def _symmetric(n: int) -> np.ndarray:
    A = _numbers(n, n)
    return A + A.T


def _generator() -> np.random.Generator:
    return np.random.default_rng(7)


def _waves(n: int) -> tuple:
    return np.sin(np.linspace(0, 2 * np.pi, n, endpoint=False)), np.fft.fftfreq(n, 1 / n), 20, 1e-3


def _filter(n: int, m: int, steps: int) -> tuple:
    F, H = np.eye(n) + 0.1 * np.eye(n, k=1), _numbers(m, n)
    return F, H, 0.01 * np.eye(n), 0.1 * np.eye(m), np.zeros(n), np.eye(n), _numbers(steps, m)


CASES = [
    Case(newton, "solve", lambda: (_numbers(60) + 1, _numbers(60) + 2, 6)),
    Case(kalman, "inv", lambda: _filter(6, 3, 100)),
    Case(power_iteration, "eigvalsh", lambda: (_symmetric(200), _numbers(200), 50)),
    Case(burgers, "fft", lambda: _waves(512)),
    Case(option_price, "random", lambda: (_generator(), 4000, 50, 100.0, 0.05, 0.2, 100.0)),
    Case(ridge, "solve", lambda: (_numbers(500, 20), _numbers(500), 0.1 + _numbers(10))),
    Case(principal_components, "eigh", lambda: (_numbers(500, 20), 3)),
    Case(gibbs, "random", lambda: (_generator(), _numbers(300), 2 * _numbers(300), 50)),
    Case(ising, "random", lambda: (_generator(), np.where(_numbers(40, 40) > 0.5, 1, -1), 0.4, 10)),
    Case(filtered_image, "fft", lambda: (_numbers(128, 128), 20.0)),
]


def main() -> int:
    """Returns the exit status: 0 where all results are those of plain Python."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outlined", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions, or what they call")
    names = parser.parse_args().names
    wrong = 0
    print(f"{'calls':10} {'function':22} {'Python':>12} {'kernel':>12} {'ratio':>8}  form")
    for case in CASES:
        if names and case.kind not in names and case.function.__name__ not in names:
            continue
        is_right = agrees(case)
        wrong += not is_right
        form, plain, ours = timed(case)
        print(f"{case.kind:10} {case.function.__name__:22} {plain * 1e3:9.3f} ms {ours * 1e3:9.3f} ms {plain / ours:7.2f}x  "
              f"{form}{'' if is_right else '   OTHER RESULTS'}")  # fmt: skip
    return 1 if wrong else 0


def agrees(case: Case) -> bool:
    """Returns whether a kernel gives what its function gives in each of its first calls, and leaves its arguments as it does."""
    kernel = polyml.kernel(cache=False, fallback="silent")(case.function)
    for _ in range(3):
        ours, theirs = (copy.deepcopy(case.make()) for _ in range(2))
        if not same(kernel(*ours), case.function(*theirs)) or not all(map(_left_alike, ours, theirs)):
            return False
    return True


def _left_alike(one: object, other: object) -> bool:
    """Returns whether two arguments are alike after a call: random generators are where they draw the same numbers next."""
    if isinstance(one, np.random.Generator) and isinstance(other, np.random.Generator):
        return one.bit_generator.state == other.bit_generator.state
    return same(one, other)


if __name__ == "__main__":
    sys.exit(main())
