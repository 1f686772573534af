"""fdtd-2d: finite differences in time for Maxwell's equations; ex, ey, hz (NX, NY), _fict_ (TMAX,) the source."""

import numpy as np

import polyml
from polyml.kernels._data import largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("TMAX NX NY", (20, 20, 30), (40, 60, 80), (100, 200, 240), (500, 1000, 1200), (1000, 2000, 2600))
OUTPUTS = ("ex", "ey", "hz")


@polyml.kernel
def fdtd_2d(tmax, ex, ey, hz, _fict_):
    for t in range(tmax):
        for j in range(ey.shape[1]):
            ey[0, j] = _fict_[t]
        for i in range(1, ey.shape[0]):
            for j in range(ey.shape[1]):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(ex.shape[0]):
            for j in range(1, ex.shape[1]):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(hz.shape[0] - 1):
            for j in range(hz.shape[1] - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def reference(tmax, ex, ey, hz, _fict_):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(tmax):
        ey[0, :] = _fict_[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def inputs(size, rng, dtype=np.float64):
    tmax, nx, ny = size["TMAX"], size["NX"], size["NY"]
    fields = {name: uniform(rng, (nx, ny), dtype) for name in ("ex", "ey", "hz")}
    return {"tmax": tmax} | fields | {"_fict_": uniform(rng, (tmax,), dtype)}


def flops(size):
    tmax, nx, ny = size["TMAX"], size["NX"], size["NY"]
    inner_x, inner_y = max(nx - 1, 0), max(ny - 1, 0)
    return tmax * (3 * inner_x * ny + 3 * nx * inner_y + 5 * inner_x * inner_y)


def terms(size):
    """Returns 11 roundings for each time step. A step conserves the energy of the fields, so errors add up and do not grow."""
    return 11 * size["TMAX"] + 11


def magnitude(tmax, ex, ey, hz, _fict_):
    scale = 2.0 * largest(ex, ey, hz, _fict_)
    return {"ex": scale, "ey": scale, "hz": scale}
