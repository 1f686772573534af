"""A product of matrices, and what is done to its elements, its rows or its operands."""

from __future__ import annotations

import numpy as np

from benchmarks.fused.program import F64, normal, program


def _linear(s, rng):
    return normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["M"]), normal(rng, s["M"])


_FULL, _QUICK = {"N": 1024, "K": 128, "M": 1024}, {"N": 512, "K": 32, "M": 256}


def _bias_relu_by_hand(X, W, b):
    out = np.empty((X.shape[0], W.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            out[i, j] = max(s + b[j], np.float32(0))
    return out


@program(
    inputs=_linear, full=_FULL, quick=_QUICK, hand=_bias_relu_by_hand,
    torch=lambda torch, X, W, b: torch.relu(torch.addmm(b, X, W)),
)  # fmt: skip
def product_bias_relu(X, W, b):
    return np.maximum(X @ W + b, np.float32(0))


def _bias_gelu_by_hand(X, W, b):
    out = np.empty((X.shape[0], W.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            h = s + b[j]
            out[i, j] = np.float32(0.5) * h * (1 + np.tanh(np.float32(0.7978845608) * (h + np.float32(0.044715) * h * h * h)))
    return out


@program(
    inputs=_linear, full=_FULL, quick=_QUICK, hand=_bias_gelu_by_hand,
    torch=lambda torch, X, W, b: torch.nn.functional.gelu(torch.addmm(b, X, W), approximate="tanh"),
)  # fmt: skip
def product_bias_gelu(X, W, b):
    h = X @ W + b
    return np.float32(0.5) * h * (1 + np.tanh(np.float32(0.7978845608) * (h + np.float32(0.044715) * h * h * h)))


def _update_by_hand(A, B, C, al, be):
    out = np.empty(C.shape)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, j]
            out[i, j] = al * s + be * C[i, j]
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"], dtype=F64), normal(rng, s["K"], s["M"], dtype=F64), normal(rng, s["N"], s["M"], dtype=F64),
        1.5, 0.5,
    ),
    full={"N": 768, "K": 64, "M": 768}, quick={"N": 192, "K": 32, "M": 192}, hand=_update_by_hand,
    reference=lambda A, B, C, al, be: al * (A @ B) + be * C, torch=lambda torch, A, B, C, al, be: torch.addmm(C, A, B, alpha=al, beta=be),
)  # fmt: skip
def scaled_update(A, B, C, al, be):
    Y = np.empty(C.shape, C.dtype)
    Y[:] = al * (A @ B) + be * C
    return Y


def _quantise_by_hand(X, W, scale):
    out = np.empty((X.shape[0], W.shape[1]), np.int8)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            out[i, j] = np.int8(min(max(np.rint(s * scale[j]), np.float32(-127)), np.float32(127)))
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["M"]), (1 + rng.random(s["M"])).astype(np.float32) * np.float32(500),
    ),
    full=_FULL, quick=_QUICK, hand=_quantise_by_hand,
    torch=lambda torch, X, W, scale: torch.clamp(torch.round(X @ W * scale), -127, 127).to(torch.int8),
)  # fmt: skip
def product_quantised(X, W, scale):
    return np.clip(np.rint(X @ W * scale), -127, 127).astype(np.int8)


def _sum_of_squares_by_hand(A, B):
    total = np.float32(0)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            s = np.float32(0)
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, j]
            total += s * s
    return total


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["M"])),
    full=_FULL, quick=_QUICK, hand=_sum_of_squares_by_hand,
    torch=lambda torch, A, B: torch.sum((A @ B) ** 2),
)  # fmt: skip
def product_sum_of_squares(A, B):
    P = A @ B
    return np.sum(P * P)


def _masked_by_hand(X, W, mask):
    out = np.empty((X.shape[0], W.shape[1]), X.dtype)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            out[i, j] = s * mask[i, j]
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["M"]), (rng.random((s["N"], s["M"])) < 0.9).astype(np.float32),
    ),
    full=_FULL, quick=_QUICK, hand=_masked_by_hand, torch=lambda torch, X, W, mask: X @ W * mask,
)  # fmt: skip
def product_masked(X, W, mask):
    return X @ W * mask


def _low_rank_by_hand(A, B, C):
    out = np.empty((A.shape[0], C.shape[1]), A.dtype)
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            out[i, j] = np.float32(0)
        for r in range(B.shape[1]):
            s = np.float32(0)
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, r]
            for j in range(C.shape[1]):
                out[i, j] += s * C[r, j]
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]), normal(rng, s["K"], s["R"]), normal(rng, s["R"], s["K"])),
    full={"N": 32768, "K": 64, "R": 16}, quick={"N": 4096, "K": 32, "R": 16}, hand=_low_rank_by_hand,
    torch=lambda torch, A, B, C: (A @ B) @ C,
)  # fmt: skip
def low_rank(A, B, C):
    return (A @ B) @ C


def _rnn_by_hand(X, H, W, U, b):
    out = np.empty(H.shape, X.dtype)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            s = b[j]
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            for m in range(H.shape[1]):
                s += H[i, m] * U[m, j]
            out[i, j] = np.tanh(s)
    return out


@program(
    inputs=lambda s, rng: (
        normal(rng, s["N"], s["K"]), normal(rng, s["N"], s["M"]), normal(rng, s["K"], s["M"]), normal(rng, s["M"], s["M"]),
        normal(rng, s["M"]),
    ),
    full={"N": 2048, "K": 128, "M": 256}, quick={"N": 512, "K": 32, "M": 96}, hand=_rnn_by_hand,
    torch=lambda torch, X, H, W, U, b: torch.tanh(X @ W + H @ U + b),
)  # fmt: skip
def rnn_cell(X, H, W, U, b):
    return np.tanh(X @ W + H @ U + b)
