"""Convolution with large filters by the Fourier transform, in tiles (overlap-save).

    tile of side^2 pixels -> spectrum, times filters' conjugated ones, summed over channels -> (side-reach+1)^2 results

The sums over channels are one product of matrices for each frequency, of real matrices with twice the depth and twice the columns:
[xr xi] @ [[wr, -wi], [wi, wr]]. The error is relative to the largest result of a tile, and a number that is not finite spoils the
tile it is in. Sources: Mathieu, Henaff and LeCun, "Fast Training of Convolutional Networks through FFTs", ICLR 2014; Stockham,
"High-speed convolution and correlation", AFIPS Spring Joint Computer Conference 1966.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyml.ops import kernels
from polyml.ops.costs import Costs, CostTerm, Products, block_bytes
from polyml.ops.geometry import Geometry
from polyml.ops.kernels import on
from polyml.ops.operands import ConvolutionArrays
from polyml.ops.patches import strided

SIDES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # fast lengths
MOST_BYTES = 2**30  # of the spectra of one group's filters


@dataclass(frozen=True)
class Tiling:
    """A Tiling says how an image is cut into tiles, which overlap.

    side: pixels of a tile in both directions.
    step: rows and columns of results of a tile.
    down, across: how many tiles an image has in each direction.
    """

    side: int
    step: tuple[int, int]
    down: int
    across: int

    @property
    def frequencies(self) -> int:
        """Returns how many complex numbers the spectrum of one real tile has."""
        return self.side * (self.side // 2 + 1)


def refusal(g: Geometry) -> str:
    """Returns why convolution by the Fourier transform does not apply, or "" where it does."""
    if g.reach[0] * g.reach[1] == 1:
        return "a filter of one tap has no spectrum to gain from"
    if not _tilings(g):
        return f"the spectra of its filters of {g.reach[0]} x {g.reach[1]} need more than {MOST_BYTES >> 20} MiB"
    return ""


def terms(g: Geometry, costs: Costs) -> tuple[CostTerm, ...]:
    """Returns the costs of convolution by the Fourier transform with the cheapest tiles."""
    return _terms(g, costs, _tiling(g, costs))


def run(g: Geometry, operands: ConvolutionArrays, threads: int) -> None:
    """Computes the convolution into operands.y by the Fourier transform, group by group and some images at a time."""
    y, bias = operands.y, operands.bias
    t = _tiling(g, Costs.of(g.element_bytes, threads))
    x = _image(g, operands.x, t, threads)
    w = kernels.filter_last(operands.w, g.layout, threads)
    pixels = np.empty((g.images, g.out_height, g.out_width, g.c_out), y.dtype)
    for group in range(g.groups):
        read, written = (slice(group * c, (group + 1) * c) for c in (g.group_in, g.group_out))
        W = _filter_spectra(g, w[..., written], t)
        for n in range(0, g.images, step := _images_at_once(g, t, threads)):
            own = slice(n, n + step)
            tiles = _tiles(x, t)[own, :, :, read]
            np.add(_correlated(g, t, tiles, W, threads), bias[written], out=pixels[own, ..., written])
    kernels.store(y, pixels, g.layout, threads)


def _terms(g: Geometry, costs: Costs, t: Tiling) -> tuple[CostTerm, ...]:
    """Returns the costs of convolution by the Fourier transform with given tiles."""
    tiles = g.images * t.down * t.across
    transforms = {"spectra of tiles": tiles * g.c_in, "spectra of filters": g.c_out * g.group_in}
    found = [costs.copy("image in tiles", 2 * g.x_bytes)]
    found += [costs.fourier(name, count, t.side) for name, count in transforms.items()]
    rows = _images_at_once(g, t, costs.threads) * t.down * t.across
    times = g.groups * -(-tiles // rows)
    products = Products(t.frequencies, min(rows, tiles), 2 * g.group_out, 2 * g.group_in, times=times)
    found.append(costs.product(f"products of spectra, tiles of {t.side} x {t.side}", products))
    found.append(costs.fourier("results", tiles * g.c_out, t.side))
    found.append(costs.copy("result", 4 * g.y_bytes))
    return tuple(found)


def _tilings(g: Geometry) -> list[Tiling]:
    """Returns the tilings to choose from, smaller tiles first, up to one with a single tile for the whole image.

    Those are left out with which the spectra of the filters take more than MOST_BYTES, a gibibyte.
    """
    found = []
    for side in SIDES:
        step = side - g.reach[0] + 1, side - g.reach[1] + 1
        if min(step) < 1:
            continue
        # results before the stride takes some of them
        needed = [(out - 1) * s + 1 for out, s in zip((g.out_height, g.out_width), g.stride)]
        t = Tiling(side, step, *(-(-size // each) for size, each in zip(needed, step)))
        if t.frequencies * 4 * g.group_in * g.group_out * g.element_bytes <= MOST_BYTES:
            found.append(t)
        if t.down == t.across == 1:
            break
    return found


def _tiling(g: Geometry, costs: Costs) -> Tiling:
    """Returns the tiling with the least estimated cost."""
    return min(_tilings(g), key=lambda t: sum(term.seconds for term in _terms(g, costs, t)))


def _images_at_once(g: Geometry, t: Tiling, threads: int) -> int:
    """Returns how many images are transformed at a time, as many as have spectra that fit the caches."""
    per_image = t.down * t.across * t.frequencies * 2 * (g.group_in + g.group_out) * g.element_bytes
    return max(1, 16 * block_bytes(threads) // per_image)


def _image(g: Geometry, x: np.ndarray, t: Tiling, threads: int) -> np.ndarray:
    """Returns the image as (n, h, w, c), with the zeros that its tiles need and without the pixels that no tile reads."""
    borders: list[tuple[int, int]] = []
    for axis, ((first, _), size, count, step) in enumerate(zip(g.padding, (g.height, g.width), (t.down, t.across), t.step)):
        whole = (count - 1) * step + t.side
        kept = min(size, whole - first)
        axis += 1 if g.layout == "NHWC" else 2
        x = x[(slice(None),) * axis + (slice(0, max(kept, 0)),)]
        borders.append((first, whole - first - max(kept, 0)))
    return kernels.image_last(x, g.layout, (borders[0], borders[1]), threads)


def _filter_spectra(g: Geometry, w: np.ndarray, t: Tiling) -> np.ndarray:
    """Returns a real matrix (2*c, 2*o) for each frequency, from filters w (kh, kw, c, o), in an array (frequencies, 2*c, 2*o).

    A product with it multiplies complex numbers, as pairs of real and imaginary part, by the conjugated spectra of the filters.
    """
    dilated = np.zeros((w.shape[3], w.shape[2], *g.reach), w.dtype)
    dilated[..., :: g.dilation[0], :: g.dilation[1]] = w.transpose(3, 2, 0, 1)
    spectra = np.fft.rfft2(dilated, s=(t.side, t.side)).reshape(w.shape[3], w.shape[2], -1).transpose(2, 1, 0)
    real = np.empty((t.frequencies, w.shape[2], 2, w.shape[3], 2), w.dtype)
    real[:, :, 0, :, 0] = real[:, :, 1, :, 1] = spectra.real
    real[:, :, 0, :, 1], real[:, :, 1, :, 0] = -spectra.imag, spectra.imag
    return real.reshape(t.frequencies, 2 * w.shape[2], 2 * w.shape[3])


def _tiles(x: np.ndarray, t: Tiling) -> np.ndarray:
    """Returns a view (n, down, across, c, side, side) of the tiles of an image x (n, h, w, c) that has the zeros they need."""
    n, h, w, c = x.strides
    shape = (x.shape[0], t.down, t.across, x.shape[3], t.side, t.side)
    return strided(x, shape, (n, h * t.step[0], w * t.step[1], c, h, w))


def _correlated(g: Geometry, t: Tiling, tiles: np.ndarray, W: np.ndarray, threads: int) -> np.ndarray:
    """Returns the convolution (n, h', w', o) of the tiles with the filters, without bias, computed from their spectra.

    tiles: (n, down, across, c, side, side).
    W: the filters' spectra, as `_filter_spectra` gives them.
    """
    filters = W.shape[2] // 2
    images, count = tiles.shape[0], tiles.shape[0] * t.down * t.across
    spectra = np.fft.rfft2(tiles).reshape(count, tiles.shape[3], t.frequencies)
    A = np.ascontiguousarray(spectra.transpose(2, 0, 1)).view(tiles.dtype)
    Y = np.empty((t.frequencies, count, filters), spectra.dtype)
    result = Y.view(tiles.dtype)
    on(kernels.products, threads)(result, A, W, np.broadcast_to(np.zeros((), tiles.dtype), result.shape))
    Y = np.ascontiguousarray(Y.transpose(1, 2, 0)).reshape(images, t.down, t.across, filters, t.side, -1)
    sums = np.fft.irfft2(Y, s=(t.side, t.side))[..., : t.step[0], : t.step[1]].transpose(0, 1, 4, 2, 5, 3)
    sums = sums.reshape(images, t.down * t.step[0], t.across * t.step[1], filters)
    down, across = g.stride
    rows, columns = (g.out_height - 1) * down + 1, (g.out_width - 1) * across + 1
    return sums[:, :rows:down, :columns:across]
