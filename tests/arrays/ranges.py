"""Programs with numbers in equal steps."""

import numpy as np

from tests.arrays.corpus import floats, program


@program(floats(9), 5)
def steps(x, n):
    grid = np.linspace(-1, 2.5, x.shape[0])
    return grid * x, np.linspace(0, 2 * np.pi, n + 3, endpoint=False), np.linspace(-7, 7, 9, dtype=np.int64)


@program(floats(50, dtype="f4"))
def steps_of_fifty(x):
    return x + np.linspace(1, 2, dtype=np.float32)
