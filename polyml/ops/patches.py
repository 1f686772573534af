"""The pixels that each result of a convolution reads, as strided views of the padded image; and results in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyml.ops.geometry import Geometry


def strided(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], first: int = 0) -> np.ndarray:
    """Returns a view of a contiguous array from its byte `first` on. NumPy checks that it stays inside.

    strides: in bytes.
    """
    return np.ndarray(shape, x.dtype, x, first, strides)


def patches_last(x: np.ndarray, g: Geometry) -> np.ndarray:
    """Returns a view (g, n, i, j, a, b, c): channel c of group g that filter element (a, b) reads for pixel (i, j) of result n.

    x: (n, h, w, channels), with the zeros around the image.
    """
    n, h, w, c = x.strides
    (down, right), (dilated_down, dilated_right) = g.stride, g.dilation
    shape = (g.groups, x.shape[0], g.out_height, g.out_width, g.kh, g.kw, g.group_in)
    strides = (c * g.group_in, n, h * down, w * right, h * dilated_down, w * dilated_right, c)
    return strided(x, shape, strides)


def patches_first(x: np.ndarray, g: Geometry) -> np.ndarray:
    """Returns a view (g, c, a, b, n, i, j): channel c of group g that filter element (a, b) reads for pixel (i, j) of result n.

    x: (n, channels, h, w), with the zeros around the image.
    """
    n, c, h, w = x.strides
    (down, right), (dilated_down, dilated_right) = g.stride, g.dilation
    shape = (g.groups, g.group_in, g.kh, g.kw, x.shape[0], g.out_height, g.out_width)
    strides = (c * g.group_in, c, h * dilated_down, w * dilated_right, n, h * down, w * right)
    return strided(x, shape, strides)


def block_shape(images: int, rows: int, row_units: int, units: int) -> tuple[int, int]:
    """Returns the shape (images, rows) of blocks that a batch is cut into, with at most about `units` units each.

    A block has whole images or, where one is too large, rows of one image.

    row_units: the units, such as pixels, of one row.

    >>> block_shape(16, 14, 14, 400), block_shape(16, 14, 14, 100)
    ((2, 14), (1, 7))
    """
    if rows * row_units <= units:
        count = -(-images // max(1, units // (rows * row_units)))
        return -(-images // count), rows
    count = -(-rows // max(1, units // row_units))
    return 1, -(-rows // count)


def blocks(images: int, rows: int, shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Yields pairs (slice of images, slice of rows): blocks that together cover all images and rows; the last ones may be smaller.

    shape: (images, rows) of a block
    """
    for n in range(0, images, shape[0]):
        for i in range(0, rows, shape[1]):
            yield slice(n, min(n + shape[0], images)), slice(i, min(i + shape[1], rows))
