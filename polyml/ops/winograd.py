"""Convolution with filters of 3 x 3 by fewer products: Winograd's minimal filtering F(m x m, 3 x 3), m = 2 or 4.

    tile d of (m+2)^2 pixels -> V = B' d B     filter g -> U = G g G'     tile of m^2 results = A' (sum over c of U*V) A

The sums over channels are (m+2)^2 products of matrices, one for each position in a tile: 16 products instead of the definition's 36
with m = 2, 36 instead of 144 with m = 4. The interpolation points are 0, 1, -1 and infinity, with m = 4 also 2 and -2. The
transforms cost accuracy, as `polyml.ops.conv2d` states, and a number that is not finite spoils the tile it is in. Source: Lavin and
Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from polyml.api import Kernel, kernel
from polyml.ops import kernels
from polyml.ops.costs import Costs, CostTerm, Products, block_bytes
from polyml.ops.geometry import Borders, Geometry
from polyml.ops.kernels import on
from polyml.ops.operands import ConvolutionArrays
from polyml.ops.patches import block_shape, blocks, strided
from polyml.ops.workspace import piece

LINE_BYTES = 64  # of a cache
LEAST_TILES = 64  # of a block: the transformed filters are read from memory once for each block


def input2(d0, d1, d2, d3):
    """Returns B' d for a column d of a tile of the image.

    B' is the transposed input matrix of Winograd's F(2 x 2, 3 x 3): filters of 3 x 3, and 2 x 2 results of a tile.
    """
    return d0 - d2, d1 + d2, d2 - d1, d1 - d3


def filter2(g0, g1, g2):
    """Returns G g for a column g of a filter.

    G is the filter matrix of Winograd's F(2 x 2, 3 x 3): filters of 3 x 3, and 2 x 2 results of a tile.
    """
    return g0, 0.5 * (g0 + g1 + g2), 0.5 * (g0 - g1 + g2), g2


def output2(m0, m1, m2, m3):
    """Returns A' s for a column s of sums of products, back to results.

    A' is the transposed output matrix of Winograd's F(2 x 2, 3 x 3): filters of 3 x 3, and 2 x 2 results of a tile.
    """
    return m0 + m1 + m2, m1 - m2 - m3


def input4(d0, d1, d2, d3, d4, d5):
    """Returns B' d for a column d of a tile of the image.

    B' is the transposed input matrix of Winograd's F(4 x 4, 3 x 3): filters of 3 x 3, and 4 x 4 results of a tile.
    """
    return (
        4 * d0 - 5 * d2 + d4,
        (d4 - 4 * d2) + (d3 - 4 * d1),
        (d4 - 4 * d2) - (d3 - 4 * d1),
        (d4 - d2) + 2 * (d3 - d1),
        (d4 - d2) - 2 * (d3 - d1),
        4 * d1 - 5 * d3 + d5,
    )


def filter4(g0, g1, g2):
    """Returns G g for a column g of a filter.

    G is the filter matrix of Winograd's F(4 x 4, 3 x 3): filters of 3 x 3, and 4 x 4 results of a tile.
    """
    return (
        g0 / 4,
        -(g0 + g1 + g2) / 6,
        -(g0 - g1 + g2) / 6,
        (g0 + 2 * g1 + 4 * g2) / 24,
        (g0 - 2 * g1 + 4 * g2) / 24,
        g2,
    )


def output4(m0, m1, m2, m3, m4, m5):
    """Returns A' s for a column s of sums of products, back to results.

    A' is the transposed output matrix of Winograd's F(4 x 4, 3 x 3): filters of 3 x 3, and 4 x 4 results of a tile.
    """
    return (
        m0 + (m1 + m2) + (m3 + m4),
        (m1 - m2) + 2 * (m3 - m4),
        (m1 + m2) + 4 * (m3 + m4),
        (m1 - m2) + 8 * (m3 - m4) + m5,
    )


@kernel
def inputs2(V, X):
    """Transforms tiles X (n, i, j, 4, 4, c) of an image: V[:, :, n, i, j, c] = B' d B (`input2`), d = X[n, i, j, :, :, c]."""
    for n in range(X.shape[0]):
        for i in range(X.shape[1]):
            for j in range(X.shape[2]):
                R = np.empty((4, 4, X.shape[5]), X.dtype)
                for b in range(4):
                    for c in range(X.shape[5]):
                        R[0, b, c], R[1, b, c], R[2, b, c], R[3, b, c] = input2(
                            X[n, i, j, 0, b, c], X[n, i, j, 1, b, c], X[n, i, j, 2, b, c], X[n, i, j, 3, b, c]
                        )
                for a in range(4):
                    for c in range(X.shape[5]):
                        V[a, 0, n, i, j, c], V[a, 1, n, i, j, c], V[a, 2, n, i, j, c], V[a, 3, n, i, j, c] = input2(
                            R[a, 0, c], R[a, 1, c], R[a, 2, c], R[a, 3, c]
                        )


@kernel
def inputs4(V, X):
    """Transforms tiles X (n, i, j, 6, 6, c) of an image: V[:, :, n, i, j, c] = B' d B (`input4`), d = X[n, i, j, :, :, c]."""
    for n in range(X.shape[0]):
        for i in range(X.shape[1]):
            for j in range(X.shape[2]):
                R = np.empty((6, 6, X.shape[5]), X.dtype)
                for b in range(6):
                    for c in range(X.shape[5]):
                        R[0, b, c], R[1, b, c], R[2, b, c], R[3, b, c], R[4, b, c], R[5, b, c] = input4(
                            X[n, i, j, 0, b, c],
                            X[n, i, j, 1, b, c],
                            X[n, i, j, 2, b, c],
                            X[n, i, j, 3, b, c],
                            X[n, i, j, 4, b, c],
                            X[n, i, j, 5, b, c],
                        )
                for a in range(6):
                    for c in range(X.shape[5]):
                        (
                            V[a, 0, n, i, j, c],
                            V[a, 1, n, i, j, c],
                            V[a, 2, n, i, j, c],
                            V[a, 3, n, i, j, c],
                            V[a, 4, n, i, j, c],
                            V[a, 5, n, i, j, c],
                        ) = input4(R[a, 0, c], R[a, 1, c], R[a, 2, c], R[a, 3, c], R[a, 4, c], R[a, 5, c])


@kernel
def filters2(U, w):
    """Transforms filters w (3, 3, c, o): computes U[:, :, c, o] = G g G' (`filter2`) for each filter g = w[:, :, c, o]."""
    for c in range(w.shape[2]):
        R = np.empty((4, 3, w.shape[3]), w.dtype)
        for b in range(3):
            for o in range(w.shape[3]):
                R[0, b, o], R[1, b, o], R[2, b, o], R[3, b, o] = filter2(w[0, b, c, o], w[1, b, c, o], w[2, b, c, o])
        for a in range(4):
            for o in range(w.shape[3]):
                U[a, 0, c, o], U[a, 1, c, o], U[a, 2, c, o], U[a, 3, c, o] = filter2(R[a, 0, o], R[a, 1, o], R[a, 2, o])


@kernel
def filters4(U, w):
    """Transforms filters w (3, 3, c, o): computes U[:, :, c, o] = G g G' (`filter4`) for each filter g = w[:, :, c, o]."""
    for c in range(w.shape[2]):
        R = np.empty((6, 3, w.shape[3]), w.dtype)
        for b in range(3):
            for o in range(w.shape[3]):
                R[0, b, o], R[1, b, o], R[2, b, o], R[3, b, o], R[4, b, o], R[5, b, o] = filter4(
                    w[0, b, c, o], w[1, b, c, o], w[2, b, c, o]
                )
        for a in range(6):
            for o in range(w.shape[3]):
                U[a, 0, c, o], U[a, 1, c, o], U[a, 2, c, o], U[a, 3, c, o], U[a, 4, c, o], U[a, 5, c, o] = filter4(
                    R[a, 0, o], R[a, 1, o], R[a, 2, o]
                )


@kernel
def outputs2(Y, M, bias):
    """Transforms sums M (4, 4, n, i, j, o) back: Y[n, i, :, j, :, o] = A' s A + bias[o] (`output2`), s = M[:, :, n, i, j, o]."""
    for n in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[3]):
                R = np.empty((2, 4, Y.shape[5]), Y.dtype)
                for b in range(4):
                    for o in range(Y.shape[5]):
                        R[0, b, o], R[1, b, o] = output2(
                            M[0, b, n, i, j, o], M[1, b, n, i, j, o], M[2, b, n, i, j, o], M[3, b, n, i, j, o]
                        )
                for a in range(2):
                    for o in range(Y.shape[5]):
                        y0, y1 = output2(R[a, 0, o], R[a, 1, o], R[a, 2, o], R[a, 3, o])
                        Y[n, i, a, j, 0, o] = y0 + bias[o]
                        Y[n, i, a, j, 1, o] = y1 + bias[o]


@kernel
def outputs4(Y, M, bias):
    """Transforms sums M (6, 6, n, i, j, o) back: Y[n, i, :, j, :, o] = A' s A + bias[o] (`output4`), s = M[:, :, n, i, j, o]."""
    for n in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[3]):
                R = np.empty((4, 6, Y.shape[5]), Y.dtype)
                for b in range(6):
                    for o in range(Y.shape[5]):
                        R[0, b, o], R[1, b, o], R[2, b, o], R[3, b, o] = output4(
                            M[0, b, n, i, j, o],
                            M[1, b, n, i, j, o],
                            M[2, b, n, i, j, o],
                            M[3, b, n, i, j, o],
                            M[4, b, n, i, j, o],
                            M[5, b, n, i, j, o],
                        )
                for a in range(4):
                    for o in range(Y.shape[5]):
                        y0, y1, y2, y3 = output4(R[a, 0, o], R[a, 1, o], R[a, 2, o], R[a, 3, o], R[a, 4, o], R[a, 5, o])
                        Y[n, i, a, j, 0, o] = y0 + bias[o]
                        Y[n, i, a, j, 1, o] = y1 + bias[o]
                        Y[n, i, a, j, 2, o] = y2 + bias[o]
                        Y[n, i, a, j, 3, o] = y3 + bias[o]


@dataclass(frozen=True)
class Winograd:
    """A Winograd computes convolutions by Winograd's minimal filtering F(m x m, 3 x 3), in tiles of m x m results.

    inputs, filters, outputs: the kernels that transform tiles of the image, filters, and sums back to results.
    """

    m: int
    inputs: Kernel
    filters: Kernel
    outputs: Kernel

    @property
    def side(self) -> int:
        """Returns the rows and columns of pixels that a tile of m x m results reads."""
        return self.m + 2

    def refusal(self, g: Geometry) -> str:
        """Returns why minimal filtering does not apply to a convolution, or "" where it does."""
        if (g.kh, g.kw) != (3, 3):
            return f"its filters are 3 x 3, not {g.kh} x {g.kw}"
        if g.stride != (1, 1):
            return f"its stride is 1, not {g.stride[0]}, {g.stride[1]}"
        if g.dilation != (1, 1):
            return f"its filters have no dilation, not {g.dilation[0]}, {g.dilation[1]}"
        return ""

    def terms(self, g: Geometry, costs: Costs) -> tuple[CostTerm, ...]:
        """Returns the estimated costs of Winograd's transforms, of the products, and of the copies that the layout of g's arrays
        needs.
        """
        down, across = self._tiles(g)
        images, rows = self._block(g, costs.block_bytes)
        count = g.groups * -(-g.images // images) * -(-down // rows)
        tiles, positions = g.images * down * across, self.side**2
        read, written = (tiles * positions * channels * g.element_bytes for channels in (g.c_in, g.c_out))
        products = Products(positions, images * rows * across, g.group_out, g.group_in, times=count)
        found = [costs.copy("image with its zeros", 2 * g.x_bytes)]
        if g.layout == "NCHW":
            found.append(costs.transposed("filters, channels last", 2 * g.w_bytes))
        found.append(costs.operand("filters transformed", g.w_bytes * (1 + positions // 9)))
        found.append(costs.transform("tiles transformed", 2 * read))
        found.append(costs.product("products", products))
        found.append(costs.transform("results transformed back", written + g.y_bytes))
        if not self._is_exact(g):
            found.append(costs.copy("result", 2 * g.y_bytes))
        found.append(costs.calls("kernels", 3 * count))
        return tuple(found)

    def run(self, g: Geometry, operands: ConvolutionArrays, threads: int) -> None:
        """Computes the convolution into operands.y, group by group and one block of tiles after the other."""
        y, bias = operands.y, operands.bias
        m, side, (down, across) = self.m, self.side, self._tiles(g)
        (top, _), (left, _) = g.padding
        whole = (down * m + 2, across * m + 2)
        borders = (top, whole[0] - top - g.height), (left, whole[1] - left - g.width)
        x = self._image(g, operands.x, borders, threads)
        w = kernels.filter_last(operands.w, g.layout, threads)
        pixels = y if self._is_exact(g) else piece("pixels", (g.images, down * m, across * m, g.c_out), y.dtype)
        tiles, shape = _tiles_of(x, m, down, across), self._block(g, block_bytes(threads))
        results = pixels.reshape(g.images, down, m, across, m, g.c_out)
        U = _by_position("filter positions", side, g.group_in * g.group_out, y.dtype)
        zero = np.zeros((), y.dtype)
        for group in range(g.groups):
            read, written = (slice(group * c, (group + 1) * c) for c in (g.group_in, g.group_out))
            on(self.filters, threads)(U.reshape(side, side, g.group_in, g.group_out), w[..., written])
            B = U.reshape(-1, g.group_in, g.group_out)
            for n, i in blocks(g.images, down, shape):
                given = tiles[n, i, ..., read]
                head, count = (side, side, *given.shape[:3]), prod(given.shape[:3])
                V = _by_position("tile positions", side, count * g.group_in, y.dtype)
                M = _by_position("sum positions", side, count * g.group_out, y.dtype)
                on(self.inputs, threads)(V.reshape(*head, g.group_in), given)
                sums = M.reshape(-1, count, g.group_out)
                zeros = np.broadcast_to(zero, sums.shape)
                on(kernels.products, threads)(sums, V.reshape(-1, count, g.group_in), B, zeros)
                on(self.outputs, threads)(results[n, i, ..., written], M.reshape(*head, g.group_out), bias[written])
        if pixels is not y:
            kernels.store(y, pixels, g.layout, threads)

    def _tiles(self, g: Geometry) -> tuple[int, int]:
        """Returns how many rows and columns of tiles one image has."""
        return -(-g.out_height // self.m), -(-g.out_width // self.m)

    def _is_exact(self, g: Geometry) -> bool:
        """Returns whether tiles can be written to the result without a copy: the result has channels last, and whole tiles fill
        it.
        """
        return g.layout == "NHWC" and g.out_height % self.m == 0 and g.out_width % self.m == 0

    def _block(self, g: Geometry, size_bytes: int) -> tuple[int, int]:
        """Returns (images, rows of tiles of each image) that are transformed at a time.

        size_bytes: about how much memory their transformed inputs and results may take.
        """
        down, across = self._tiles(g)
        tile_bytes = self.side**2 * (g.group_in + g.group_out) * g.element_bytes
        return block_shape(g.images, down, across, max(size_bytes // tile_bytes, LEAST_TILES))

    @staticmethod
    def _image(g: Geometry, x: np.ndarray, borders: Borders, threads: int) -> np.ndarray:
        """Returns the image as (n, h, w, c) with zeros around it, or cut at its lower and right ends, so that whole tiles cover it.

        borders: ((top, bottom), (left, right)), how many rows and columns of zeros to add; a negative bottom or right is how many
            rows or columns to leave out, which no tile reads.
        """
        (top, bottom), (left, right) = borders
        if bottom < 0 or right < 0:
            rows, columns = slice(0, g.height + min(bottom, 0)), slice(0, g.width + min(right, 0))
            x = x[:, rows, columns] if g.layout == "NHWC" else x[:, :, rows, columns]
        return kernels.image_last(x, g.layout, ((top, max(bottom, 0)), (left, max(right, 0))), threads)


def _by_position(name: str, side: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Returns an array (side^2, count) with a row for each position in a transformed tile of side x side elements.

    It is kept by name from call to call. Its rows are one cache line longer in memory than needed: their length is often a power of
    two otherwise, so that they would compete for the same few sets of a cache.
    """
    return piece(name, (side * side, count + LINE_BYTES // dtype.itemsize), dtype)[:, :count]


def _tiles_of(x: np.ndarray, m: int, down: int, across: int) -> np.ndarray:
    """Returns a view (n, i, j, m + 2, m + 2, c) of the overlapping tiles of images (n, h, w, c); a tile begins every m pixels.

    down, across: how many tiles an image has from top to bottom, and from left to right
    """
    n, h, w, c = x.strides
    return strided(x, (x.shape[0], down, across, m + 2, m + 2, x.shape[3]), (n, h * m, w * m, h, w, c))


F2 = Winograd(2, inputs2, filters2, outputs2)
F4 = Winograd(4, inputs4, filters4, outputs4)
