"""Convolution by its definition: every filter on every pixel, with no copies but the padded image.

The kernels take images with the channels last: vectors run along the filters, and each element of the image that is read serves a
whole vector register of them. A filter of one element is a product of matrices in either layout.
"""

from __future__ import annotations

import numpy as np

from polyml.api import kernel
from polyml.ops import kernels
from polyml.ops.costs import Costs, CostTerm, Products
from polyml.ops.geometry import Geometry
from polyml.ops.kernels import on
from polyml.ops.operands import ConvolutionArrays
from polyml.ops.patches import patches_last, strided
from polyml.ops.workspace import piece


@kernel
def rows(Y, X, W, bias):
    """Computes Y[n, i, j, o] = bias[o] + sum over a, d of X[n, i, j, a, d] * W[a, d, o].

    n: images. i, j: pixels of the result. o: filters. a: the rows of a filter. d: the elements of such a row and their channels, as
        one dimension that is contiguous in X.
    """
    for n in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[2]):
                for o in range(Y.shape[3]):
                    Y[n, i, j, o] = bias[o]
                    for a in range(W.shape[0]):
                        for d in range(W.shape[1]):
                            Y[n, i, j, o] += X[n, i, j, a, d] * W[a, d, o]


@kernel
def taps(Y, X, W, bias):
    """Computes Y[g, n, i, j, o] = bias[g, o] + sum over a, b, c of X[g, n, i, j, a, b, c] * W[g, a, b, c, o] for groups g.

    n: images. i, j: pixels of the result. o: filters of a group. a, b: elements of a filter, which need not be contiguous in X. c:
        channels of a group.
    """
    for g in range(Y.shape[0]):
        for n in range(Y.shape[1]):
            for i in range(Y.shape[2]):
                for j in range(Y.shape[3]):
                    for o in range(Y.shape[4]):
                        Y[g, n, i, j, o] = bias[g, o]
                        for a in range(W.shape[1]):
                            for b in range(W.shape[2]):
                                for c in range(W.shape[3]):
                                    Y[g, n, i, j, o] += X[g, n, i, j, a, b, c] * W[g, a, b, c, o]


@kernel
def depthwise(Y, X, W, bias):
    """Computes a convolution Y (n, i, j, c) from patches X (n, i, j, a, b, c) with one filter W (a, b, c) for each channel c.

    n: images. i, j: pixels. a, b: elements of a filter.
    """
    for n in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[2]):
                for c in range(Y.shape[3]):
                    Y[n, i, j, c] = bias[c]
                    for a in range(W.shape[0]):
                        for b in range(W.shape[1]):
                            Y[n, i, j, c] += X[n, i, j, a, b, c] * W[a, b, c]


def refusal(g: Geometry) -> str:
    """Returns "": the algorithm applies to every convolution."""
    return ""


def terms(g: Geometry, costs: Costs) -> tuple[CostTerm, ...]:
    """Returns the costs of the direct loops, and of the copies that they need in this layout."""
    if g.is_pointwise:
        if g.layout == "NHWC":
            return (costs.product("product", Products(g.groups, g.images * g.height * g.width, g.group_out, g.depth)),)
        products = Products(g.images * g.groups, g.group_out, g.height * g.width, g.depth, a_count=g.groups)
        return (costs.product("product", products),)
    found = []
    if g.is_padded or g.layout == "NCHW":
        found.append(costs.copy("image with its zeros", 2 * g.x_bytes))
    if g.layout == "NCHW":
        found.append(costs.transposed("filters, channels last", 2 * g.w_bytes))
    if g.is_depthwise:
        found.append(costs.depthwise("sums per channel", g.flop))
    elif g.has_neighbouring_taps:
        found.append(costs.loops("products", g.flop, g.out_width, g.c_out))
        found.append(costs.operand("filters", g.w_bytes))
    else:
        found.append(costs.loops("products, taps apart", 2 * g.flop, g.out_width, g.group_out))
    if g.layout == "NCHW":
        found.append(costs.copy("result, channels first", 2 * g.y_bytes))
    return tuple(found)


def run(g: Geometry, operands: ConvolutionArrays, threads: int) -> None:
    """Computes the convolution into operands.y by the first way that applies.

    It is a product of matrices for filters of one element, `depthwise`, `rows` where filter rows are contiguous, or `taps`.
    """
    if g.is_pointwise:
        _pointwise(g, operands, threads)
        return
    y, bias = operands.y, operands.bias
    x = kernels.image_last(operands.x, g.layout, g.padding, threads)
    w = kernels.filter_last(operands.w, g.layout, threads)
    pixels = y if g.layout == "NHWC" else piece("pixels", (g.images, g.out_height, g.out_width, g.c_out), y.dtype)
    X = patches_last(x, g)
    if g.is_depthwise:
        # filter m of channel c is result c*multiplier + m
        multiplier = g.group_out
        X = np.moveaxis(X[..., 0], 0, 5)
        for m in range(multiplier):
            own = slice(m, None, multiplier)
            on(depthwise, threads)(pixels[..., own], X, w[:, :, 0, own], bias[own])
    elif g.has_neighbouring_taps:
        depth = g.kw * g.c_in
        X = strided(x, (*X.shape[1:5], depth), (*X.strides[1:5], X.strides[6]))
        on(rows, threads)(pixels, X, w.reshape(g.kh, depth, g.c_out), bias)
    else:
        on(taps, threads)(
            np.moveaxis(pixels.reshape(*pixels.shape[:3], g.groups, g.group_out), 3, 0),
            X,
            np.moveaxis(w.reshape(*w.shape[:3], g.groups, g.group_out), 3, 0),
            bias.reshape(g.groups, g.group_out),
        )
    if g.layout == "NCHW":
        kernels.store(y, pixels, g.layout, threads)


def _pointwise(g: Geometry, operands: ConvolutionArrays, threads: int) -> None:
    """Computes a convolution whose filters have one element, as products of matrices.

    NHWC: Y (g, pixels, o) = X (g, pixels, c) @ W (g, c, o)
    NCHW: Y (g, o, pixels) = W (g, o, c) @ X (g, c, pixels) for each image

    g: groups. o, c: the filters and the channels of a group.
    """
    count = g.height * g.width
    product = on(kernels.products, threads)
    x, w, y = operands.x, operands.w, operands.y
    bias = operands.bias.reshape(g.groups, g.group_out)
    if g.layout == "NHWC":
        Y = y.reshape(-1, g.groups, g.group_out).transpose(1, 0, 2)
        X = np.ascontiguousarray(x).reshape(-1, g.groups, g.group_in).transpose(1, 0, 2)
        W = w.reshape(g.group_in, g.groups, g.group_out).transpose(1, 0, 2)
        product(Y, X, W, strided(bias, Y.shape, (bias.strides[0], 0, bias.strides[1])))
        return
    X, Y = np.ascontiguousarray(x).reshape(-1, g.group_in, count), y.reshape(-1, g.group_out, count)
    W = w.reshape(g.groups, g.group_out, g.group_in)
    step = g.groups if g.groups > 1 else g.images
    for first in range(0, len(Y), step):
        own = slice(first, first + step)
        shape = Y[own].shape
        product(Y[own], np.broadcast_to(W, (shape[0], *W.shape[1:])), X[own], np.broadcast_to(bias[:, :, None], shape))
