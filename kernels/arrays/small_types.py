"""Programs on small types: quantised products and convolutions of bytes, and attention on bfloat16 numbers."""

import ml_dtypes
import numpy as np

from polyml.kernels.arrays._workload import workload


def _bytes(*names, **shapes):
    """Returns a function `inputs` that draws arrays of bytes; a name with a capital letter is of signed ones.

    shapes: {name: its dimensions as parameters of the size, or as numbers}; () for a number, the zero point or scale of that name.
    """

    def inputs(size, rng):
        found = []
        for name in names:
            shape = tuple(size.get(dim, dim) for dim in shapes[name])
            kind = np.int8 if name[0].isupper() else np.uint8
            limits = np.iinfo(kind)
            found.append(rng.integers(limits.min, limits.max + 1, shape).astype(kind))
        return tuple(found)

    return inputs


def _quantised(size, rng):
    """Returns activations of unsigned bytes, weights of signed ones, the zero point, and a scale for each column."""
    x, W = _bytes("x", "W", x=("N", "K"), W=("K", "M"))(size, rng)
    return x, W, 117, rng.uniform(0.001, 0.01, size["M"]).astype(np.float32)


def _quantised_right(x, W, zero, scale):
    """Computed number by number in float64, whose products and sums of these integers are exact."""
    return {"result": ((x.astype(float) - zero) @ W.astype(float)) * scale.astype(float)}


@workload(
    sizes={"SMALL": {"N": 60, "K": 75, "M": 66}, "LARGE": {"N": 1024, "K": 1024, "M": 1024}},
    inputs=_quantised,
    reference=lambda *args: {"result": _quantised_right(*args)["result"].astype(np.float32)},
)
def quantised_product(x, W, zero, scale):
    """Of x with a zero point: the sums of W's columns are taken off, so that the product is one of bytes."""
    sums = x.astype(np.int32) @ W.astype(np.int32)
    columns = W.astype(np.int32).sum(axis=0)
    return (sums - np.int32(zero) * columns).astype(np.float32) * scale


def _convolution(x, W):
    wide = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), W.shape[:2], axis=(0, 1))
    return {"result": np.einsum("yxkrs,rskc->yxc", wide, W.astype(np.int64)).astype(np.int32)}


@workload(
    sizes={"SMALL": {"H": 13, "K": 8, "C": 36}, "LARGE": {"H": 58, "K": 128, "C": 128}},
    inputs=_bytes("x", "W", x=("H", "H", "K"), W=(3, 3, "K", "C")),
    reference=_convolution,
)
def convolution_of_bytes(x, W):
    h, w = x.shape[0] - W.shape[0] + 1, x.shape[1] - W.shape[1] + 1
    out = np.zeros((h, w, W.shape[3]), dtype=np.int32)
    for i in range(h):
        for j in range(w):
            for c in range(W.shape[3]):
                for r in range(W.shape[0]):
                    for s in range(W.shape[1]):
                        for k in range(W.shape[2]):
                            out[i, j, c] += np.int32(x[i + r, j + s, k]) * np.int32(W[r, s, k, c])
    return out


def _halves(size, rng):
    """Returns queries (N, D), keys as columns (D, N) and values (N, D)."""
    shapes = ((size["N"], size["D"]), (size["D"], size["N"]), (size["N"], size["D"]))
    return tuple(rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)


def _attention(q, k, v):
    scores = q.astype(float) @ k.astype(float) / np.sqrt(q.shape[1])
    e = np.exp(scores - scores.max(axis=1)[:, None])
    return {"result": (e @ v.astype(float) / e.sum(axis=1)[:, None]).astype(np.float32)}


@workload(sizes={"SMALL": {"N": 70, "D": 48}, "LARGE": {"N": 1024, "D": 64}}, inputs=_halves, reference=_attention)
def attention_of_halves(q, k, v):
    """Scores are products of bfloat16 numbers, weights are float32."""
    scores = q.astype(np.float32) @ k.astype(np.float32) * np.float32(1 / np.sqrt(q.shape[1]))
    e = np.exp(scores - scores.max(axis=1)[:, None])
    return e @ v.astype(np.float32) / e.sum(axis=1)[:, None]
