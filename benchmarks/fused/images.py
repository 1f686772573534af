"""Convolutions with what follows them, and chains of stencils."""

from __future__ import annotations

import numpy as np

from benchmarks.fused.program import normal, program


def _windows(x):
    """Returns [channel, row, column, p, q]: the 3 x 3 windows of an image."""
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    return np.stack([np.stack([x[:, p : p + rows, q : q + columns] for q in range(3)], -1) for p in range(3)], -2)


def _conv_bn_relu_in_numpy(x, w, scale, shift):
    y = np.einsum("cijpq,ocpq->oij", _windows(x), w, optimize=True)
    return np.maximum(y * scale[:, None, None] + shift[:, None, None], np.float32(0))


def _conv_bn_relu_in_jax(jax, x, w, scale, shift):
    y = jax.lax.conv(x[None], w, (1, 1), "VALID")[0]
    return jax.numpy.maximum(y * scale[:, None, None] + shift[:, None, None], 0)


def _conv_bn_relu_by_hand(x, w, scale, shift):
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    out = np.empty((w.shape[0], rows, columns), x.dtype)
    for o in range(w.shape[0]):
        for i in range(rows):
            for j in range(columns):
                s = np.float32(0)
                for c in range(x.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            s += x[c, i + p, j + q] * w[o, c, p, q]
                out[o, i, j] = max(s * scale[o] + shift[o], np.float32(0))
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["C"], s["N"], s["N"]) * 10, normal(rng, s["O"], s["C"], 3, 3) * np.float32(0.2), normal(rng, s["O"]),
        normal(rng, s["O"]),
    ),
    full={"C": 16, "O": 64, "N": 114}, quick={"C": 8, "O": 32, "N": 50}, hand=_conv_bn_relu_by_hand,
    reference=_conv_bn_relu_in_numpy, jax=_conv_bn_relu_in_jax,
    torch=lambda torch, x, w, scale, shift: torch.relu(
        torch.nn.functional.conv2d(x[None], w)[0] * scale[:, None, None] + shift[:, None, None]
    ),
)  # fmt: skip
def conv_bn_relu(x, w, scale, shift):
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    y = np.zeros((w.shape[0], rows, columns), x.dtype)
    z = np.empty((w.shape[0], rows, columns), x.dtype)
    out = np.empty((w.shape[0], rows, columns), x.dtype)
    for o in range(w.shape[0]):
        for i in range(rows):
            for j in range(columns):
                for c in range(x.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            y[o, i, j] += x[c, i + p, j + q] * w[o, c, p, q]
    for o in range(w.shape[0]):
        for i in range(rows):
            for j in range(columns):
                z[o, i, j] = y[o, i, j] * scale[o] + shift[o]
    for o in range(w.shape[0]):
        for i in range(rows):
            for j in range(columns):
                out[o, i, j] = max(z[o, i, j], np.float32(0))
    return out


def _separable_in_numpy(x, w, v):
    return np.einsum("cijpq,cpq,oc->oij", _windows(x), w, v, optimize=True)


def _separable_in_jax(jax, x, w, v):
    middle = jax.lax.conv_general_dilated(x[None], w[:, None], (1, 1), "VALID", feature_group_count=x.shape[0])[0]
    return jax.numpy.einsum("cij,oc->oij", middle, v)


def _separable_by_torch(torch, x, w, v):
    middle = torch.nn.functional.conv2d(x[None], w[:, None], groups=x.shape[0])
    return torch.nn.functional.conv2d(middle, v[:, :, None, None])[0]


def _separable_by_hand(x, w, v):
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    out = np.empty((v.shape[0], rows, columns), x.dtype)
    line = np.empty((x.shape[0], columns), x.dtype)
    for i in range(rows):
        for c in range(x.shape[0]):
            for j in range(columns):
                s = np.float32(0)
                for p in range(3):
                    for q in range(3):
                        s += x[c, i + p, j + q] * w[c, p, q]
                line[c, j] = s
        for o in range(v.shape[0]):
            for j in range(columns):
                s = np.float32(0)
                for c in range(x.shape[0]):
                    s += line[c, j] * v[o, c]
                out[o, i, j] = s
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["C"], s["N"], s["N"]) * 10, normal(rng, s["C"], 3, 3), normal(rng, s["O"], s["C"])),
    full={"C": 48, "O": 48, "N": 114}, quick={"C": 24, "O": 24, "N": 50}, hand=_separable_by_hand,
    reference=_separable_in_numpy, jax=_separable_in_jax, torch=_separable_by_torch,
)  # fmt: skip
def depthwise_pointwise(x, w, v):
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    middle = np.zeros((x.shape[0], rows, columns), x.dtype)
    out = np.zeros((v.shape[0], rows, columns), x.dtype)
    for c in range(x.shape[0]):
        for i in range(rows):
            for j in range(columns):
                for p in range(3):
                    for q in range(3):
                        middle[c, i, j] += x[c, i + p, j + q] * w[c, p, q]
    for o in range(v.shape[0]):
        for i in range(rows):
            for j in range(columns):
                for c in range(x.shape[0]):
                    out[o, i, j] += middle[c, i, j] * v[o, c]
    return out


def _image(s, rng):
    return (rng.random((s["N"], s["N"])).astype(np.float32),)


_FULL, _QUICK = {"N": 1024}, {"N": 320}
_THIRD = np.float32(1 / 3)


def _blur_by_hand(A):
    n, m = A.shape[0] - 2, A.shape[1] - 2
    out = np.empty((n, m), A.dtype)
    lines = np.empty((3, m), A.dtype)
    for i in range(n + 2):
        for j in range(m):
            lines[i % 3, j] = (A[i, j] + A[i, j + 1] + A[i, j + 2]) * np.float32(1 / 3)
        if i >= 2:
            for j in range(m):
                out[i - 2, j] = (lines[0, j] + lines[1, j] + lines[2, j]) * np.float32(1 / 3)
    return out


@program(
    inputs=_image, full=_FULL, quick=_QUICK, hand=_blur_by_hand,
    torch=lambda torch, A: _blurred(A),
)  # fmt: skip
def blur_chain(A):
    across = (A[:, :-2] + A[:, 1:-1] + A[:, 2:]) * _THIRD
    return (across[:-2] + across[1:-1] + across[2:]) * _THIRD


def _blurred(A):
    across = (A[:, :-2] + A[:, 1:-1] + A[:, 2:]) / 3
    return (across[:-2] + across[1:-1] + across[2:]) / 3


def _unsharp_by_hand(A, weight):
    n, m = A.shape[0] - 2, A.shape[1] - 2
    out = np.empty((n, m), A.dtype)
    lines = np.empty((3, m), A.dtype)
    for i in range(n + 2):
        for j in range(m):
            lines[i % 3, j] = (A[i, j] + A[i, j + 1] + A[i, j + 2]) * np.float32(1 / 3)
        if i >= 2:
            for j in range(m):
                blurred = (lines[0, j] + lines[1, j] + lines[2, j]) * np.float32(1 / 3)
                out[i - 2, j] = A[i - 1, j + 1] * (1 + weight) - blurred * weight
    return out


@program(
    inputs=lambda s, rng: (*_image(s, rng), np.float32(1.5)), full=_FULL, quick=_QUICK, hand=_unsharp_by_hand,
    torch=lambda torch, A, weight: A[1:-1, 1:-1] * (1 + weight) - _blurred(A) * weight,
)  # fmt: skip
def unsharp_mask(A, weight):
    across = (A[:, :-2] + A[:, 1:-1] + A[:, 2:]) * _THIRD
    blurred = (across[:-2] + across[1:-1] + across[2:]) * _THIRD
    return A[1:-1, 1:-1] * (1 + weight) - blurred * weight


def _corners(A):
    gx = A[1:-1, 2:] - A[1:-1, :-2]
    gy = A[2:, 1:-1] - A[:-2, 1:-1]
    xx, yy, xy = _box(gx * gx), _box(gy * gy), _box(gx * gy)
    return xx * yy - xy * xy - (xx + yy) * (xx + yy) * np.float32(0.04)


def _box(P):
    across = P[:, :-2] + P[:, 1:-1] + P[:, 2:]
    return across[:-2] + across[1:-1] + across[2:]


def _corners_by_hand(A):
    n, m = A.shape[0] - 4, A.shape[1] - 4
    out = np.empty((n, m), A.dtype)
    for i in range(n):
        for j in range(m):
            xx = np.float32(0)
            yy = np.float32(0)
            xy = np.float32(0)
            for p in range(3):
                for q in range(3):
                    gx = A[i + p + 1, j + q + 2] - A[i + p + 1, j + q]
                    gy = A[i + p + 2, j + q + 1] - A[i + p, j + q + 1]
                    xx += gx * gx
                    yy += gy * gy
                    xy += gx * gy
            out[i, j] = xx * yy - xy * xy - (xx + yy) * (xx + yy) * np.float32(0.04)
    return out


@program(
    inputs=_image, full=_FULL, quick=_QUICK, hand=_corners_by_hand, reference=_corners, torch=lambda torch, A: _corners(A),
)  # fmt: skip
def harris_corners(A):
    gx = A[1:-1, 2:] - A[1:-1, :-2]
    gy = A[2:, 1:-1] - A[:-2, 1:-1]
    xx, yy, xy = gx * gx, gy * gy, gx * gy
    xx = xx[:, :-2] + xx[:, 1:-1] + xx[:, 2:]
    yy = yy[:, :-2] + yy[:, 1:-1] + yy[:, 2:]
    xy = xy[:, :-2] + xy[:, 1:-1] + xy[:, 2:]
    xx = xx[:-2] + xx[1:-1] + xx[2:]
    yy = yy[:-2] + yy[1:-1] + yy[2:]
    xy = xy[:-2] + xy[1:-1] + xy[2:]
    return xx * yy - xy * xy - (xx + yy) * (xx + yy) * np.float32(0.04)
