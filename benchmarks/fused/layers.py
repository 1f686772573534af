"""Layers of networks: products one after the other, gates, residuals, and norms before or behind a product."""

from __future__ import annotations

import numpy as np

from benchmarks.fused.program import normal, program

_EPSILON = np.float32(1e-5)


def _mlp_by_hand(X, W1, b1, W2, b2):
    out = np.empty((X.shape[0], W2.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        for j in range(W2.shape[1]):
            out[i, j] = b2[j]
        for h in range(W1.shape[1]):
            s = b1[h]
            for k in range(X.shape[1]):
                s += X[i, k] * W1[k, h]
            s = max(s, np.float32(0))
            for j in range(W2.shape[1]):
                out[i, j] += s * W2[h, j]
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["H"]), normal(rng, s["H"]), normal(rng, s["H"], s["K"]),
        normal(rng, s["K"]),
    ),
    full={"N": 2048, "K": 64, "H": 512}, quick={"N": 512, "K": 32, "H": 128}, hand=_mlp_by_hand,
    torch=lambda torch, X, W1, b1, W2, b2: torch.addmm(b2, torch.relu(torch.addmm(b1, X, W1)), W2),
)  # fmt: skip
def mlp(X, W1, b1, W2, b2):
    return np.maximum(X @ W1 + b1, np.float32(0)) @ W2 + b2


def _residual_by_hand(X, W1, W2):
    out = np.empty(X.shape, X.dtype)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = X[i, j]
        for h in range(W1.shape[1]):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W1[k, h]
            s = max(s, np.float32(0))
            for j in range(X.shape[1]):
                out[i, j] += s * W2[h, j]
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["H"]), normal(rng, s["H"], s["K"])),
    full={"N": 4096, "K": 96, "H": 192}, quick={"N": 512, "K": 64, "H": 128}, hand=_residual_by_hand,
    torch=lambda torch, X, W1, W2: X + torch.relu(X @ W1) @ W2,
)  # fmt: skip
def residual_block(X, W1, W2):
    return X + np.maximum(X @ W1, np.float32(0)) @ W2


def _swiglu_by_hand(X, W1, W2):
    out = np.empty((X.shape[0], W1.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        for j in range(W1.shape[1]):
            s = np.float32(0)
            t = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W1[k, j]
                t += X[i, k] * W2[k, j]
            out[i, j] = s / (np.float32(1) + np.exp(-s)) * t
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["M"]), normal(rng, s["K"], s["M"])),
    full={"N": 1024, "K": 128, "M": 768}, quick={"N": 256, "K": 64, "M": 192}, hand=_swiglu_by_hand,
    torch=lambda torch, X, W1, W2: torch.nn.functional.silu(X @ W1) * (X @ W2),
)  # fmt: skip
def swiglu(X, W1, W2):
    g = X @ W1
    return g / (1 + np.exp(-g)) * (X @ W2)


def _layer_norm_product_by_hand(X, gamma, beta, W):
    n = X.shape[1]
    out = np.empty((X.shape[0], W.shape[1]), X.dtype)
    row = np.empty(n, X.dtype)
    for i in range(X.shape[0]):
        mean = np.float32(0)
        for k in range(n):
            mean += X[i, k]
        mean = mean / np.float32(n)
        var = np.float32(0)
        for k in range(n):
            var += (X[i, k] - mean) * (X[i, k] - mean)
        scale = np.float32(1) / np.sqrt(var / np.float32(n) + np.float32(1e-5))
        for k in range(n):
            row[k] = (X[i, k] - mean) * scale * gamma[k] + beta[k]
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(n):
                s += row[k] * W[k, j]
            out[i, j] = s
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"]) * 8, normal(rng, s["K"]), normal(rng, s["K"]), normal(rng, s["K"], s["M"]),
    ),
    full={"N": 2048, "K": 256, "M": 192}, quick={"N": 512, "K": 96, "M": 64}, hand=_layer_norm_product_by_hand,
    torch=lambda torch, X, gamma, beta, W: torch.nn.functional.layer_norm(X, (X.shape[1],), gamma, beta) @ W,
)  # fmt: skip
def layer_norm_product(X, gamma, beta, W):
    mean = X.mean(axis=1, keepdims=True)
    centred = X - mean
    var = (centred * centred).mean(axis=1, keepdims=True)
    return (centred / np.sqrt(var + _EPSILON) * gamma + beta) @ W


def _rms_norm_product_by_hand(X, gamma, W):
    n = X.shape[1]
    out = np.empty((X.shape[0], W.shape[1]), X.dtype)
    row = np.empty(n, X.dtype)
    for i in range(X.shape[0]):
        square = np.float32(0)
        for k in range(n):
            square += X[i, k] * X[i, k]
        scale = np.float32(1) / np.sqrt(square / np.float32(n) + np.float32(1e-5))
        for k in range(n):
            row[k] = X[i, k] * scale * gamma[k]
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(n):
                s += row[k] * W[k, j]
            out[i, j] = s
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]) * 8, normal(rng, s["K"]), normal(rng, s["K"], s["M"])),
    full={"N": 2048, "K": 256, "M": 192}, quick={"N": 512, "K": 96, "M": 64}, hand=_rms_norm_product_by_hand,
    torch=lambda torch, X, gamma, W: torch.nn.functional.rms_norm(X, (X.shape[1],), gamma, 1e-5) @ W,
)  # fmt: skip
def rms_norm_product(X, gamma, W):
    return X / np.sqrt((X * X).mean(axis=1, keepdims=True) + _EPSILON) * gamma @ W


def _product_add_norm_by_hand(X, W):
    n = X.shape[1]
    out = np.empty(X.shape, X.dtype)
    row = np.empty(n, X.dtype)
    for i in range(X.shape[0]):
        mean = np.float32(0)
        for j in range(n):
            s = X[i, j]
            for k in range(n):
                s += X[i, k] * W[k, j]
            row[j] = s
            mean += s
        mean = mean / np.float32(n)
        var = np.float32(0)
        for j in range(n):
            var += (row[j] - mean) * (row[j] - mean)
        scale = np.float32(1) / np.sqrt(var / np.float32(n) + np.float32(1e-5))
        for j in range(n):
            out[i, j] = (row[j] - mean) * scale
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]) * 8, normal(rng, s["K"], s["K"])),
    full={"N": 2048, "K": 256}, quick={"N": 512, "K": 96}, hand=_product_add_norm_by_hand,
    torch=lambda torch, X, W: torch.nn.functional.layer_norm(X + X @ W, (X.shape[1],)),
)  # fmt: skip
def product_add_norm(X, W):
    Y = X + X @ W
    centred = Y - Y.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + _EPSILON)


def _batch_norm_by_hand(X, gamma, beta):
    out = np.empty(X.shape, X.dtype)
    count = np.float32(X.shape[0] * X.shape[2])
    for c in range(X.shape[1]):
        mean = np.float32(0)
        for n in range(X.shape[0]):
            for p in range(X.shape[2]):
                mean += X[n, c, p]
        mean = mean / count
        var = np.float32(0)
        for n in range(X.shape[0]):
            for p in range(X.shape[2]):
                var += (X[n, c, p] - mean) * (X[n, c, p] - mean)
        scale = gamma[c] / np.sqrt(var / count + np.float32(1e-5))
        for n in range(X.shape[0]):
            for p in range(X.shape[2]):
                out[n, c, p] = (X[n, c, p] - mean) * scale + beta[c]
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["C"], s["P"]) * 8, normal(rng, s["C"]), normal(rng, s["C"])),
    full={"N": 8, "C": 48, "P": 3136}, quick={"N": 4, "C": 32, "P": 784}, hand=_batch_norm_by_hand,
    torch=lambda torch, X, gamma, beta: torch.nn.functional.batch_norm(X, None, None, gamma, beta, training=True),
)  # fmt: skip
def batch_norm_training(X, gamma, beta):
    mean = X.mean(axis=(0, 2), keepdims=True)
    centred = X - mean
    var = (centred * centred).mean(axis=(0, 2), keepdims=True)
    return centred / np.sqrt(var + _EPSILON) * gamma[:, None] + beta[:, None]
