"""The kernels that every algorithm is built of: products of matrices, and copies from one layout to another."""

from __future__ import annotations

from functools import cache

import numpy as np

from polyml.api import Kernel, kernel
from polyml.ops.geometry import Borders
from polyml.ops.workspace import piece


@cache
def on(function: Kernel, threads: int) -> Kernel:
    """Returns the kernel that runs a function on so many threads; the same object each time for the same arguments."""
    return kernel(function, threads=threads)


@kernel
def products(Y, A, B, S):
    """Computes the products Y[e] = S[e] + A[e] @ B[e] of many matrices: Y and S have axes (e, i, j), A (e, i, k), B (e, k, j)."""
    for e in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[2]):
                Y[e, i, j] = S[e, i, j]
                for k in range(A.shape[2]):
                    Y[e, i, j] += A[e, i, k] * B[e, k, j]


@kernel
def copied(y, x):
    """Copies x to y, both with axes (image, row, column, channel)."""
    for n in range(y.shape[0]):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                for c in range(y.shape[3]):
                    y[n, i, j, c] = x[n, i, j, c]


@kernel
def channels_last(y, x):
    """Copies x (n, c, h, w) to y (n, h, w, c): images n, channels c, rows h and columns w."""
    for n in range(y.shape[0]):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                for c in range(y.shape[3]):
                    y[n, i, j, c] = x[n, c, i, j]


@kernel
def channels_first(y, x):
    """Copies x (n, h, w, c) to y (n, c, h, w): images n, rows h, columns w and channels c."""
    for n in range(y.shape[0]):
        for c in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, c, i, j] = x[n, i, j, c]


@kernel
def filters_last(y, w):
    """Copies filters w (o, c, kh, kw) to y (kh, kw, c, o): filters o, channels c, rows kh and columns kw."""
    for a in range(y.shape[0]):
        for b in range(y.shape[1]):
            for c in range(y.shape[2]):
                for o in range(y.shape[3]):
                    y[a, b, c, o] = w[o, c, a, b]


def image_last(x: np.ndarray, layout: str, borders: Borders, threads: int) -> np.ndarray:
    """Returns an image as a contiguous array (n, h, w, c) with zeros around it, or x itself where it is that already.

    layout: of x, "NCHW" or "NHWC".
    borders: ((above, below), (left, right)), rows and columns of zeros.
    """
    (top, bottom), (left, right) = borders
    if layout == "NHWC":
        images, height, width, channels = x.shape
        if not (top or bottom or left or right) and x.flags.c_contiguous:
            return x
    else:
        images, channels, height, width = x.shape
    y = piece("image", (images, top + height + bottom, left + width + right, channels), x.dtype)
    y[:, :top], y[:, top + height :] = 0, 0
    y[:, top : top + height, :left], y[:, top : top + height, left + width :] = 0, 0
    if layout == "NCHW":
        on(channels_last, threads)(y[:, top : top + height, left : left + width], x)
    elif x.flags.c_contiguous:  # whole rows of pixels
        y_rows, x_rows = y.reshape(1, *y.shape[:2], -1), x.reshape(1, images, height, -1)
        on(copied, threads)(y_rows[:, :, top : top + height, left * channels : (left + width) * channels], x_rows)
    else:
        on(copied, threads)(y[:, top : top + height, left : left + width], x)
    return y


def image_first(x: np.ndarray, borders: Borders, threads: int) -> np.ndarray:
    """Returns an image x (n, c, h, w) as a contiguous array with zeros around it, or x itself where it is that already.

    borders: ((above, below), (left, right)), rows and columns of zeros.
    """
    (top, bottom), (left, right) = borders
    if not (top or bottom or left or right):
        return np.ascontiguousarray(x)
    images, channels, height, width = x.shape
    y = piece("image", (images, channels, top + height + bottom, left + width + right), x.dtype)
    y[:, :, :top], y[:, :, top + height :] = 0, 0
    y[:, :, top : top + height, :left], y[:, :, top : top + height, left + width :] = 0, 0
    on(copied, threads)(y[:, :, top : top + height, left : left + width], x)
    return y


def filter_last(w: np.ndarray, layout: str, threads: int) -> np.ndarray:
    """Returns filters as a contiguous array (kh, kw, c, o). layout: of w, "NCHW" for (o, c, kh, kw), or "NHWC"."""
    if layout == "NHWC":
        return np.ascontiguousarray(w)
    y = piece("filters", (*w.shape[2:], w.shape[1], w.shape[0]), w.dtype)
    on(filters_last, threads)(y, w)
    return y


def store(y: np.ndarray, pixels: np.ndarray, layout: str, threads: int) -> None:
    """Writes pixels (n, h, w, c) to y, which has the given layout; rows and columns beyond the shape of y are left out."""
    height, width = y.shape[1:3] if layout == "NHWC" else y.shape[2:]
    on(copied if layout == "NHWC" else channels_first, threads)(y, pixels[:, :height, :width])
