"""Simulation, finance, images and sparse matrices."""

import math

import numpy as np

from polyml.kernels.arrays._workload import workload


def _wave_inputs(size, rng):
    shape = (size["N"],) * 3
    return size["steps"], 0.1, *rng.uniform(-1, 1, (2, *shape)), np.zeros(shape)


def _wave(steps, c, u, before, after):
    u, before, after = u.copy(), before.copy(), after.copy()
    inner = (slice(1, -1),) * 3
    for _ in range(steps):
        around = sum(np.roll(u, s, axis) for axis in range(3) for s in (1, -1))[inner]
        after[inner] = 2 * u[inner] - before[inner] + c * (around - 6 * u[inner])
        before, u = u.copy(), after.copy()
    return {"u": u, "before": before, "after": after}


@workload(
    sizes={"SMALL": {"steps": 3, "N": 7}, "LARGE": {"steps": 10, "N": 100}},
    inputs=_wave_inputs,
    reference=_wave,
)
def wave_3d(steps, c, u, before, after):
    for t in range(steps):
        after[1:-1, 1:-1, 1:-1] = (
            2 * u[1:-1, 1:-1, 1:-1] - before[1:-1, 1:-1, 1:-1]
            + c * (
                u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
                + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * u[1:-1, 1:-1, 1:-1]
            )
        )  # fmt: skip
        before[:] = u
        u[:] = after


def _gray_scott_inputs(size, rng):
    n = size["N"]
    return size["steps"], rng.uniform(0.5, 1, (n, n)), rng.uniform(0, 0.5, (n, n)), 0.16, 0.08, 0.06, 0.062


def _gray_scott(steps, u, v, du, dv, feed, kill):
    u, v = u.copy(), v.copy()
    inner = (slice(1, -1),) * 2
    for _ in range(steps):
        around = [sum(np.roll(a, s, axis) for axis in range(2) for s in (1, -1)) - 4 * a for a in (u, v)]
        reaction = u * v**2
        new_u = u + du * around[0] - reaction + feed * (1 - u)
        new_v = v + dv * around[1] + reaction - (feed + kill) * v
        u[inner], v[inner] = new_u[inner], new_v[inner]
    return {"u": u, "v": v}


@workload(
    sizes={"SMALL": {"steps": 3, "N": 9}, "LARGE": {"steps": 20, "N": 500}},
    inputs=_gray_scott_inputs,
    reference=_gray_scott,
)
def gray_scott(steps, u, v, du, dv, feed, kill):
    for t in range(steps):
        U, V = u[1:-1, 1:-1], v[1:-1, 1:-1]
        lu = u[:-2, 1:-1] + u[1:-1, :-2] - 4 * U + u[1:-1, 2:] + u[2:, 1:-1]
        lv = v[:-2, 1:-1] + v[1:-1, :-2] - 4 * V + v[1:-1, 2:] + v[2:, 1:-1]
        reaction = U * V * V
        U += du * lu - reaction + feed * (1 - U)
        V += dv * lv + reaction - (feed + kill) * V


def cumulative_normal(d):
    """Returns the distribution function of the normal distribution (Abramowitz and Stegun 26.2.17)."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    p = 0.3989422804014327 * np.exp(-0.5 * d * d) * tail
    return np.where(d > 0, 1 - p, p)


def _black_scholes_inputs(size, rng):
    n = size["N"]
    return rng.uniform(10, 100, n), rng.uniform(10, 100, n), rng.uniform(0.1, 1, n), 0.02, 0.3


def _black_scholes(spot, strike, years, rate, volatility):
    spot, strike, years = (a.astype(np.longdouble) for a in (spot, strike, years))
    spread = volatility * years**0.5
    d1 = (np.log(spot) - np.log(strike) + (rate + volatility**2 / 2) * years) / spread
    first, second = cumulative_normal(d1), cumulative_normal(d1 - spread)
    call = spot * first - strike * np.exp(-rate * years) * second
    return {"result": (call, call - spot + strike * np.exp(-rate * years))}


@workload(
    sizes={"SMALL": {"N": 50}, "LARGE": {"N": 1_000_000}},
    inputs=_black_scholes_inputs,
    reference=_black_scholes,
)
def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * cumulative_normal(d1) - discounted * cumulative_normal(d2)
    put = discounted * (1 - cumulative_normal(d2)) - spot * (1 - cumulative_normal(d1))
    return call, put


def _kmeans(points, centres):
    return {"result": np.array([min(range(len(centres)), key=lambda k: math.dist(p, centres[k])) for p in points])}


@workload(
    sizes={"SMALL": {"N": 20, "K": 4, "D": 3}, "LARGE": {"N": 10000, "K": 64, "D": 16}},
    inputs=lambda size, rng: (rng.uniform(-1, 1, (size["N"], size["D"])), rng.uniform(-1, 1, (size["K"], size["D"]))),
    reference=_kmeans,
)
def kmeans_assignment(points, centres):
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return distances.argmin(axis=1)


def _filtered(image, weights):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    return np.einsum("hwij,ij->hw", windows, np.array(weights, float))


@workload(
    sizes={"SMALL": {"N": 9}, "LARGE": {"N": 1500}},
    inputs=lambda size, rng: (rng.uniform(0, 1, (size["N"], size["N"])),),
    reference=lambda image: {
        "result": np.hypot(
            _filtered(image, [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]), _filtered(image, [[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
        )
    },
)
def sobel(image):
    a = image
    gx = a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:] - a[:-2, :-2] - 2 * a[1:-1, :-2] - a[2:, :-2]
    gy = a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:] - a[:-2, :-2] - 2 * a[:-2, 1:-1] - a[:-2, 2:]
    return np.sqrt(gx * gx + gy * gy)


def _bilateral(image, sharpness):
    windows = np.lib.stride_tricks.sliding_window_view(image, (5, 5))
    centre = image[2:-2, 2:-2, None, None]
    far = np.add.outer((np.arange(5) - 2) ** 2, (np.arange(5) - 2) ** 2) / 4.5
    weights = np.exp(-far - (windows - centre) ** 2 * sharpness)
    return (weights * windows).sum(axis=(2, 3)) / weights.sum(axis=(2, 3))


@workload(
    sizes={"SMALL": {"N": 9}, "LARGE": {"N": 500}},
    inputs=lambda size, rng: (rng.uniform(0, 1, (size["N"], size["N"])), 5.0),
    reference=lambda image, sharpness: {"result": _bilateral(image, sharpness)},
)
def bilateral(image, sharpness):
    h, w = image.shape[0] - 4, image.shape[1] - 4
    centre = image[2:-2, 2:-2]
    total = np.zeros((h, w))
    weights = np.zeros((h, w))
    for i in range(5):
        for j in range(5):
            part = image[i : i + h, j : j + w]
            weight = np.exp(-((i - 2) ** 2 + (j - 2) ** 2) / 4.5 - (part - centre) ** 2 * sharpness)
            total += weight * part
            weights += weight
    return total / weights


def _ell_inputs(size, rng):
    n, k = size["N"], size["K"]
    return rng.uniform(-1, 1, (n, k)), rng.integers(0, n, (n, k)), rng.uniform(-1, 1, n)


def _ell(values, columns, x):
    n = values.shape[0]
    result = np.zeros(n)
    for k in range(values.shape[1]):
        result += values[:, k] * np.take(x, columns[:, k])
    return result


@workload(
    sizes={"SMALL": {"N": 20, "K": 3}, "LARGE": {"N": 200_000, "K": 16}},
    inputs=_ell_inputs,
    reference=lambda values, columns, x: {"result": _ell(values, columns, x)},
)
def ell_spmv(values, columns, x):
    return (values * x[columns]).sum(axis=1)


def _dct_matrix():
    k, n = np.arange(8)[:, None], np.arange(8)[None, :]
    return np.where(k == 0, np.sqrt(1 / 8), np.sqrt(2 / 8) * np.cos(np.pi * (2 * n + 1) * k / 16))


@workload(
    sizes={"SMALL": {"N": 16}, "LARGE": {"N": 1024}},
    inputs=lambda size, rng: (rng.uniform(-128, 127, (size["N"], size["N"])), _dct_matrix()),
    reference=lambda image, c: {
        "result": np.block(
            [[c @ image[i : i + 8, j : j + 8] @ c.T for j in range(0, image.shape[1], 8)] for i in range(0, image.shape[0], 8)]
        )
    },
)
def block_dct(image, c):
    h, w = image.shape
    blocks = image.reshape(h // 8, 8, w // 8, 8).transpose(0, 2, 1, 3)
    return (c @ blocks @ c.T).transpose(0, 2, 1, 3).reshape(h, w)
