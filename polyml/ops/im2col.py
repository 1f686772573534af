"""Convolution as a product of the filters with a matrix of what each pixel reads, of which a block is made at a time.

Chellapilla, Puri and Simard, "High performance convolutional neural networks for document processing" (2006); the
matrix (im2col's) has kh*kw copies of the image, so a block of it is what fits the second cache, or
what LEAST_PIXELS of the result read.
NHWC: block (pixels, kh*kw*c) @ (kh*kw*c, c_out). NCHW: (c_out, c*kh*kw) @ block (c*kh*kw, pixels); neither the image
nor the filters change their layout.
"""

from __future__ import annotations

import numpy as np

from polyml.api import kernel
from polyml.ops import kernels
from polyml.ops.costs import Costs, Term, block_bytes
from polyml.ops.geometry import Geometry
from polyml.ops.kernels import on
from polyml.ops.patches import block_shape, blocks, strided, windows_first, windows_last
from polyml.ops.workspace import piece

LEAST_PIXELS = 256  # of a block: the filters are read from memory once for each block


@kernel
def gathered(y, x):
    """y = x, of seven dimensions."""
    for g in range(y.shape[0]):
        for a in range(y.shape[1]):
            for b in range(y.shape[2]):
                for c in range(y.shape[3]):
                    for d in range(y.shape[4]):
                        for e in range(y.shape[5]):
                            for f in range(y.shape[6]):
                                y[g, a, b, c, d, e, f] = x[g, a, b, c, d, e, f]


def refusal(g: Geometry) -> str:
    return ""


def terms(g: Geometry, costs: Costs) -> tuple[Term, ...]:
    images, rows = _block(g, costs.block_bytes)
    count = -(-g.images // images) * -(-g.out_height // rows)
    pixels = images * rows * g.out_width
    found = [costs.copy("image with its zeros", 2 * g.x_bytes)] if g.is_padded else []
    found.append(costs.operand("image read", g.x_bytes))
    matrix_bytes = g.pixels * g.groups * g.depth * g.element_bytes
    by_runs = g.layout == "NHWC" or g.stride[1] == 1 and images == 1
    found.append(costs.gathered("blocks of the matrix", matrix_bytes, by_runs=by_runs))
    sides = (pixels, g.group_out) if g.layout == "NHWC" else (g.group_out, pixels)
    found.append(costs.product("products", g.groups, *sides, g.depth, times=count))
    if g.layout == "NCHW" and images > 1:
        found.append(costs.copy("result by images", 2 * g.y_bytes))
    found.append(costs.calls("kernels", 2 * count))
    return tuple(found)


def run(g: Geometry, x: np.ndarray, w: np.ndarray, bias: np.ndarray, y: np.ndarray, threads: int) -> None:
    shape = _block(g, block_bytes(threads))
    (_channels_last if g.layout == "NHWC" else _channels_first)(g, x, w, bias, y, threads, shape)


def _block(g: Geometry, size_bytes: int) -> tuple[int, int]:
    """Images and rows of the result that a block of the matrix is for."""
    pixels = max(size_bytes // (g.depth * g.groups * g.element_bytes), LEAST_PIXELS)
    return block_shape(g.images, g.out_height, g.out_width, pixels)


def _channels_last(g: Geometry, x, w, bias, y, threads, shape) -> None:
    x = kernels.image_last(x, g.layout, g.padding, threads)
    X = windows_last(x, g)  # of one row of taps and their channels at once, where these are neighbours
    if g.has_neighbouring_taps:
        X = strided(x, (*X.shape[:5], 1, g.kw * g.c_in), X.strides)
    W = w.reshape(g.depth, g.groups, g.group_out).transpose(1, 0, 2)
    bias = bias.reshape(g.groups, 1, g.group_out)
    for images, rows in blocks(g.images, g.out_height, shape):
        window = X[:, images, rows]
        part = piece("matrix", window.shape, y.dtype)
        on(gathered, threads)(part, window)
        result = y[images, rows].reshape(-1, g.groups, g.group_out).transpose(1, 0, 2)
        A = part.reshape(g.groups, -1, g.depth)
        on(kernels.products, threads)(result, A, W, np.broadcast_to(bias, result.shape))


def _channels_first(g: Geometry, x, w, bias, y, threads, shape) -> None:
    x = kernels.image_first(x, g.padding, threads)
    X = windows_first(x, g)
    W = w.reshape(g.groups, g.group_out, g.depth)
    bias = bias.reshape(g.groups, g.group_out, 1)
    Y = y.reshape(g.images, g.groups, g.group_out, g.out_height, g.out_width)
    for images, rows in blocks(g.images, g.out_height, shape):
        window = X[..., images, rows, :]
        part = piece("matrix", window.shape, y.dtype)
        on(gathered, threads)(part, window)
        B = part.reshape(g.groups, g.depth, -1)
        count = images.stop - images.start
        if count == 1:
            pixels = slice(rows.start * g.out_width, rows.stop * g.out_width)
            result = Y[images.start].reshape(g.groups, g.group_out, -1)[..., pixels]
            on(kernels.products, threads)(result, W, B, np.broadcast_to(bias, result.shape))
        else:
            result = piece("results", (g.groups, g.group_out, B.shape[2]), y.dtype)
            on(kernels.products, threads)(result, W, B, np.broadcast_to(bias, result.shape))
            result = result.reshape(g.c_out, count, g.out_height, g.out_width)
            on(kernels.copied, threads)(y[images], np.moveaxis(result, 1, 0))
