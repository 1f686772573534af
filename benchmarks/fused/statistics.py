"""Statistics and learning: distances, covariances, losses and their gradients."""

from __future__ import annotations

import numpy as np

from benchmarks.fused.program import F64, normal, program


def _kmeans_by_torch(torch, X, C):
    labels = torch.argmin((C * C).sum(1) - 2 * (X @ C.T), 1)
    member = torch.nn.functional.one_hot(labels, C.shape[0]).to(X.dtype)
    return member.T @ X, member.sum(0)


def _kmeans_by_hand(X, C):
    clusters, d = C.shape
    sums, counts = np.zeros((clusters, d), X.dtype), np.zeros(clusters, X.dtype)
    lengths = np.empty(clusters, X.dtype)
    for j in range(clusters):
        s = np.float32(0)
        for k in range(d):
            s += C[j, k] * C[j, k]
        lengths[j] = s
    for i in range(X.shape[0]):
        label = 0
        least = np.float32(np.inf)
        for j in range(clusters):
            s = np.float32(0)
            for k in range(d):
                s += X[i, k] * C[j, k]
            distance = lengths[j] - 2 * s
            if distance < least:
                least = distance
                label = j
        for j in range(clusters):
            if label == j:
                counts[j] += 1
                for k in range(d):
                    sums[j, k] += X[i, k]
    return sums, counts


@program(
    hand=_kmeans_by_hand,
    inputs=lambda s, rng: (normal(rng, s["N"], s["D"]) * 90, normal(rng, s["K"], s["D"]) * 8),
    full={"N": 16384, "D": 32, "K": 64}, quick={"N": 2048, "D": 16, "K": 32}, torch=_kmeans_by_torch,
)  # fmt: skip
def kmeans_step(X, C):
    labels = np.argmin((C * C).sum(axis=1) - 2 * (X @ C.T), axis=1)
    member = (labels[:, None] == np.arange(C.shape[0])[None, :]).astype(X.dtype)
    return member.T @ X, member.sum(axis=0)


def _pca_by_hand(X, V):
    n, d = X.shape
    mean = np.zeros(d)
    for i in range(n):
        for k in range(d):
            mean[k] += X[i, k]
    for k in range(d):
        mean[k] = mean[k] / n
    covariance = np.zeros((d, d))
    projected = np.empty((n, V.shape[1]))
    row = np.empty(d)
    for i in range(n):
        for k in range(d):
            row[k] = X[i, k] - mean[k]
        for r in range(V.shape[1]):
            projected[i, r] = 0.0
        for k in range(d):
            for m in range(d):
                covariance[k, m] += row[k] * row[m] / n
            for r in range(V.shape[1]):
                projected[i, r] += row[k] * V[k, r]
    return covariance, projected


def _pca_by_torch(torch, X, V):
    centred = X - X.mean(0)
    return centred.T @ centred / X.shape[0], centred @ V


@program(
    inputs=lambda s, rng: (rng.standard_normal((s["N"], s["D"])) + 1, normal(rng, s["D"], s["R"], dtype=F64)),
    full={"N": 8192, "D": 64, "R": 8}, quick={"N": 1024, "D": 32, "R": 4}, hand=_pca_by_hand, torch=_pca_by_torch,
    passes={"X": 2},
)  # fmt: skip
def pca(X, V):
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / X.shape[0]
    return covariance, centred @ V


def _cosine_by_hand(A, B):
    out = np.empty((A.shape[0], B.shape[0]), A.dtype)
    lengths = np.empty(B.shape[0], A.dtype)
    for j in range(B.shape[0]):
        s = np.float32(0)
        for k in range(B.shape[1]):
            s += B[j, k] * B[j, k]
        lengths[j] = np.sqrt(s)
    for i in range(A.shape[0]):
        length = np.float32(0)
        for k in range(A.shape[1]):
            length += A[i, k] * A[i, k]
        length = np.sqrt(length)
        for j in range(B.shape[0]):
            s = np.float32(0)
            for k in range(A.shape[1]):
                s += A[i, k] * B[j, k]
            out[i, j] = s / (length * lengths[j])
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]), normal(rng, s["M"], s["K"])),
    full={"N": 1024, "K": 128, "M": 1024}, quick={"N": 256, "K": 64, "M": 256}, hand=_cosine_by_hand,
    torch=lambda torch, A, B: (A @ B.T) / (A.norm(dim=1)[:, None] * B.norm(dim=1)),
)  # fmt: skip
def cosine_similarity(A, B):
    lengths_a = np.sqrt((A * A).sum(axis=1))
    lengths_b = np.sqrt((B * B).sum(axis=1))
    return A @ B.T / (lengths_a[:, None] * lengths_b)


def _gram_by_hand(X, Y, gamma):
    out = np.empty((X.shape[0], Y.shape[0]))
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            s = 0.0
            for k in range(X.shape[1]):
                s += (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])
            out[i, j] = np.exp(-gamma * s)
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"], dtype=F64) * 8, normal(rng, s["M"], s["K"], dtype=F64) * 8, 0.01),
    full={"N": 768, "K": 64, "M": 768}, quick={"N": 192, "K": 32, "M": 192}, hand=_gram_by_hand,
    torch=lambda torch, X, Y, gamma: torch.exp(-gamma * ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - 2 * (X @ Y.T))),
)  # fmt: skip
def gaussian_kernel(X, Y, gamma):
    distances = (X * X).sum(axis=1)[:, None] + (Y * Y).sum(axis=1) - 2 * (X @ Y.T)
    return np.exp(-gamma * distances)


def _cross_entropy_by_hand(X, W, labels):
    n, classes = X.shape[0], W.shape[1]
    out = np.empty(n, X.dtype)
    row = np.empty(classes, X.dtype)
    for i in range(n):
        top = np.float32(-np.inf)
        right = np.float32(0)
        for j in range(classes):
            s = np.float32(0)
            for k in range(X.shape[1]):
                s += X[i, k] * W[k, j]
            row[j] = s
            top = max(top, s)
            if labels[i] == j:
                right = s
        total = np.float32(0)
        for j in range(classes):
            total += np.exp(row[j] - top)
        out[i] = np.log(total) + top - right
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"]) * 9, normal(rng, s["K"], s["M"]), rng.integers(0, s["M"], s["N"])),
    full={"N": 1024, "K": 128, "M": 1024}, quick={"N": 256, "K": 64, "M": 256}, hand=_cross_entropy_by_hand,
    torch=lambda torch, X, W, labels: torch.nn.functional.cross_entropy(X @ W, labels, reduction="none"),
)  # fmt: skip
def cross_entropy(X, W, labels):
    logits = X @ W
    top = logits.max(axis=1)
    total = np.exp(logits - top[:, None]).sum(axis=1)
    right = np.where(labels[:, None] == np.arange(W.shape[1]), logits, np.float32(0)).sum(axis=1)
    return np.log(total) + top - right


def _gradient_by_hand(X, y, w, rate):
    out = w.copy()
    for i in range(X.shape[0]):
        s = -y[i]
        for k in range(X.shape[1]):
            s += X[i, k] * w[k]
        for k in range(X.shape[1]):
            out[k] -= rate * s * X[i, k]
    return out


@program(
    inputs=lambda s, rng: (normal(rng, s["N"], s["K"], dtype=F64), normal(rng, s["N"], dtype=F64), normal(rng, s["K"], dtype=F64), 0.1),
    full={"N": 2048, "K": 512}, quick={"N": 512, "K": 128}, hand=_gradient_by_hand,
    torch=lambda torch, X, y, w, rate: w - rate * (X.T @ (X @ w - y)),
)  # fmt: skip
def regression_gradient(X, y, w, rate):
    return w - rate * (X.T @ (X @ w - y))
