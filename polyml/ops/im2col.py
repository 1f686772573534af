"""Convolution as a product of the filters with im2col's matrix, which holds what each result pixel reads.

The matrix has kh*kw copies of the image, so it is made in blocks that fit the second cache, or that LEAST_PIXELS results read.

    NHWC: block (pixels, kh*kw*c) @ (kh*kw*c, c_out)      NCHW: (c_out, c*kh*kw) @ block (c*kh*kw, pixels)

Neither the image nor the filters change their layout. Source: Chellapilla, Puri and Simard, "High Performance Convolutional Neural
Networks for Document Processing", IWFHR 2006.
"""

from __future__ import annotations

import numpy as np

from polyml.api import kernel
from polyml.ops import kernels
from polyml.ops.costs import Costs, CostTerm, Products, block_bytes
from polyml.ops.geometry import Geometry
from polyml.ops.kernels import on
from polyml.ops.operands import ConvolutionArrays
from polyml.ops.patches import block_shape, blocks, patches_first, patches_last, strided
from polyml.ops.workspace import piece

LEAST_PIXELS = 256  # of a block: the filters are read from memory once for each block


@kernel
def gathered(y, x):
    """Copies x to y, two arrays of the same shape with seven dimensions."""
    for g in range(y.shape[0]):
        for a in range(y.shape[1]):
            for b in range(y.shape[2]):
                for c in range(y.shape[3]):
                    for d in range(y.shape[4]):
                        for e in range(y.shape[5]):
                            for f in range(y.shape[6]):
                                y[g, a, b, c, d, e, f] = x[g, a, b, c, d, e, f]


def refusal(g: Geometry) -> str:
    """Returns "": the algorithm applies to every convolution."""
    return ""


def terms(g: Geometry, costs: Costs) -> tuple[CostTerm, ...]:
    """Returns the costs of filling im2col's matrix, of its products with the filters, and of copies in this layout."""
    images, rows = _block(g, costs.block_bytes)
    count = -(-g.images // images) * -(-g.out_height // rows)
    pixels = images * rows * g.out_width
    found = [costs.copy("image with its zeros", 2 * g.x_bytes)] if g.is_padded else []
    found.append(costs.operand("image read", g.x_bytes))
    matrix_bytes = g.pixels * g.groups * g.depth * g.element_bytes
    by_runs = g.layout == "NHWC" or g.stride[1] == 1 and images == 1
    found.append(costs.gathered("blocks of the matrix", matrix_bytes, by_runs=by_runs))
    sides = (pixels, g.group_out) if g.layout == "NHWC" else (g.group_out, pixels)
    found.append(costs.product("products", Products(g.groups, *sides, g.depth, times=count)))
    if g.layout == "NCHW" and images > 1:
        found.append(costs.copy("result by images", 2 * g.y_bytes))
    found.append(costs.calls("kernels", 2 * count))
    return tuple(found)


def run(g: Geometry, operands: ConvolutionArrays, threads: int) -> None:
    """Computes the convolution into operands.y, one block of im2col's matrix after the other."""
    shape = _block(g, block_bytes(threads))
    (_channels_last if g.layout == "NHWC" else _channels_first)(g, operands, threads, shape)


def _block(g: Geometry, size_bytes: int) -> tuple[int, int]:
    """Returns (images, rows): a block of im2col's matrix is for so many images, and so many rows of the result of each.

    size_bytes: of a block, about
    """
    pixels = max(size_bytes // (g.depth * g.groups * g.element_bytes), LEAST_PIXELS)
    return block_shape(g.images, g.out_height, g.out_width, pixels)


def _channels_last(g: Geometry, operands: ConvolutionArrays, threads: int, shape: tuple[int, int]) -> None:
    """Computes a convolution in the layout NHWC. shape: how many images and rows of the result are in a block of the matrix."""
    y = operands.y
    x = kernels.image_last(operands.x, g.layout, g.padding, threads)
    X = patches_last(x, g)  # of one row of taps and their channels at once, where these are neighbours
    if g.has_neighbouring_taps:
        X = strided(x, (*X.shape[:5], 1, g.kw * g.c_in), X.strides)
    W = operands.w.reshape(g.depth, g.groups, g.group_out).transpose(1, 0, 2)
    bias = operands.bias.reshape(g.groups, 1, g.group_out)
    for images, rows in blocks(g.images, g.out_height, shape):
        patch = X[:, images, rows]
        part = piece("matrix", patch.shape, y.dtype)
        on(gathered, threads)(part, patch)
        result = y[images, rows].reshape(-1, g.groups, g.group_out).transpose(1, 0, 2)
        A = part.reshape(g.groups, -1, g.depth)
        on(kernels.products, threads)(result, A, W, np.broadcast_to(bias, result.shape))


def _channels_first(g: Geometry, operands: ConvolutionArrays, threads: int, shape: tuple[int, int]) -> None:
    """Computes a convolution in the layout NCHW. shape: how many images and rows of the result are in a block of the matrix."""
    y = operands.y
    x = kernels.image_first(operands.x, g.padding, threads)
    X = patches_first(x, g)
    W = operands.w.reshape(g.groups, g.group_out, g.depth)
    bias = operands.bias.reshape(g.groups, g.group_out, 1)
    Y = y.reshape(g.images, g.groups, g.group_out, g.out_height, g.out_width)
    for images, rows in blocks(g.images, g.out_height, shape):
        patch = X[..., images, rows, :]
        part = piece("matrix", patch.shape, y.dtype)
        on(gathered, threads)(part, patch)
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
