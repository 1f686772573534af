"""Programs that put borders around arrays, and copies beside each other."""

import numpy as np

from tests.arrays.corpus import floats, integers, program


@program(floats(7, 6))
def blurred(image):
    wide = np.pad(image, 1, mode="edge")
    return (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) / 4


@program(integers(4, 5), integers(3))
def every_mode(A, x):
    total = np.pad(A, ((1, 2), (0, 3))).sum() + np.pad(x, 2, constant_values=7).sum()
    mirrored = np.pad(A, (2, 1), mode="reflect") - np.pad(A, (2, 1), "symmetric")
    return total, mirrored, np.pad(A, 1, mode="wrap") * np.pad(A + 1, [(1,), (1,)], "edge")


@program(floats(3, 4))
def checkered(A):
    return np.tile(A, (2, 3)) - 1, np.tile(A[0], 2), np.tile(A[:, 0], (2, 2))
