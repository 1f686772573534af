"""softmax(Q K^T) V of several heads, of which the best code keeps no matrix of positions by positions."""

from __future__ import annotations

import numpy as np

from benchmarks.fused.program import program


def _heads(s, rng):
    return tuple(rng.standard_normal((s["H"], s["N"], s["D"])).astype(np.float32) for _ in range(3))


def _by_torch(torch, Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None])[0]


def _attention_by_hand(Q, K, V):
    heads, n, d = Q.shape
    out = np.empty(Q.shape, Q.dtype)
    row = np.empty(n, Q.dtype)
    for h in range(heads):
        for i in range(n):
            top = np.float32(-np.inf)
            for j in range(n):
                s = np.float32(0)
                for k in range(d):
                    s += Q[h, i, k] * K[h, j, k]
                row[j] = s * np.float32(d**-0.5)
                top = max(top, row[j])
            total = np.float32(0)
            for j in range(n):
                row[j] = np.exp(row[j] - top)
                total += row[j]
            for k in range(d):
                s = np.float32(0)
                for j in range(n):
                    s += row[j] * V[h, j, k]
                out[h, i, k] = s / total
    return out


@program(
    inputs=_heads, full={"H": 8, "N": 1024, "D": 64}, quick={"H": 2, "N": 192, "D": 32}, torch=_by_torch, hand=_attention_by_hand,
)  # fmt: skip
def attention(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


@program(
    inputs=_heads, full={"H": 16, "N": 256, "D": 32}, quick={"H": 8, "N": 96, "D": 16}, torch=_by_torch, hand=_attention_by_hand,
)  # fmt: skip
def attention_of_short_sequences(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


def _causal_by_torch(torch, Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None], is_causal=True)[0]


def _causal_by_hand(Q, K, V):
    heads, n, d = Q.shape
    out = np.empty(Q.shape, Q.dtype)
    row = np.empty(n, Q.dtype)
    for h in range(heads):
        for i in range(n):
            top = np.float32(-np.inf)
            for j in range(i + 1):
                s = np.float32(0)
                for k in range(d):
                    s += Q[h, i, k] * K[h, j, k]
                row[j] = s * np.float32(d**-0.5)
                top = max(top, row[j])
            total = np.float32(0)
            for j in range(i + 1):
                row[j] = np.exp(row[j] - top)
                total += row[j]
            for k in range(d):
                s = np.float32(0)
                for j in range(i + 1):
                    s += row[j] * V[h, j, k]
                out[h, i, k] = s / total
    return out


@program(
    inputs=_heads, full={"H": 4, "N": 512, "D": 64}, quick={"H": 2, "N": 192, "D": 32}, torch=_causal_by_torch, hand=_causal_by_hand,
)  # fmt: skip
def causal_attention(Q, K, V):
    n = Q.shape[1]
    places = np.arange(n)
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    scores = np.where(places[None, :] <= places[:, None], scores, np.float32(-1e30))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


def _in_blocks_by_hand(Q, K, V):
    heads, n, d = Q.shape
    out = np.empty(Q.shape, Q.dtype)
    top, total = np.empty(n, Q.dtype), np.empty(n, Q.dtype)
    row = np.empty(64, Q.dtype)
    for h in range(heads):
        for strip in range(0, n, 256):
            for i in range(strip, min(strip + 256, n)):
                top[i] = np.float32(-np.inf)
                total[i] = np.float32(0)
                for k in range(d):
                    out[h, i, k] = np.float32(0)
            for block in range(0, n, 64):
                for i in range(strip, min(strip + 256, n)):
                    most = top[i]
                    for j in range(min(64, n - block)):
                        s = np.float32(0)
                        for k in range(d):
                            s += Q[h, i, k] * K[h, block + j, k]
                        row[j] = s * np.float32(d**-0.5)
                        most = max(most, row[j])
                    factor = np.exp(top[i] - most)
                    top[i] = most
                    total[i] = total[i] * factor
                    for k in range(d):
                        out[h, i, k] = out[h, i, k] * factor
                    for j in range(min(64, n - block)):
                        row[j] = np.exp(row[j] - most)
                        total[i] += row[j]
                        for k in range(d):
                            out[h, i, k] += row[j] * V[h, block + j, k]
            for i in range(strip, min(strip + 256, n)):
                for k in range(d):
                    out[h, i, k] = out[h, i, k] / total[i]
    return out


@program(
    inputs=_heads, full={"H": 1, "N": 2048, "D": 64}, quick={"H": 1, "N": 512, "D": 32}, torch=_by_torch, hand=_in_blocks_by_hand,
)  # fmt: skip
def attention_of_long_sequences(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


def _grouped_heads(s, rng):
    queries, keys = (s["H"], s["N"], s["D"]), (s["G"], s["N"], s["D"])
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in (queries, keys, keys))


def _grouped_by_torch(torch, Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None], enable_gqa=True)[0]


def _grouped_by_hand(Q, K, V):
    heads, n, d = Q.shape
    groups, m = K.shape[0], K.shape[1]
    queries = Q.reshape(groups, heads // groups, n, d)
    out = np.empty(Q.shape, Q.dtype)
    row = np.empty(m, Q.dtype)
    for g in range(groups):
        for a in range(heads // groups):
            for i in range(n):
                top = np.float32(-np.inf)
                for j in range(m):
                    s = np.float32(0)
                    for k in range(d):
                        s += queries[g, a, i, k] * K[g, j, k]
                    row[j] = s * np.float32(d**-0.5)
                    top = max(top, row[j])
                total = np.float32(0)
                for j in range(m):
                    row[j] = np.exp(row[j] - top)
                    total += row[j]
                for k in range(d):
                    s = np.float32(0)
                    for j in range(m):
                        s += row[j] * V[g, j, k]
                    out[g * (heads // groups) + a, i, k] = s / total
    return out


@program(
    hand=_grouped_by_hand,
    inputs=_grouped_heads, full={"H": 8, "G": 2, "N": 512, "D": 64}, quick={"H": 4, "G": 2, "N": 128, "D": 32}, torch=_grouped_by_torch,
)  # fmt: skip
def grouped_attention(Q, K, V):
    heads, n, d = Q.shape
    groups = K.shape[0]
    queries = Q.reshape(groups, heads // groups * n, d)
    scores = queries @ K.transpose(0, 2, 1) * np.float32(d**-0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (weights / weights.sum(axis=2, keepdims=True) @ V).reshape(heads, n, d)


def _one_query(s, rng):
    queries, keys = (s["H"], s["D"]), (s["H"], s["M"], s["D"])
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in (queries, keys, keys))


def _decoding_by_torch(torch, Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q[None, :, None], K[None], V[None])[0]


def _decoding_by_hand(Q, K, V):
    heads, n, d = K.shape
    out = np.empty((heads, 1, d), Q.dtype)
    row = np.empty(n, Q.dtype)
    for h in range(heads):
        top = np.float32(-np.inf)
        for j in range(n):
            s = np.float32(0)
            for k in range(d):
                s += Q[h, k] * K[h, j, k]
            row[j] = s * np.float32(d**-0.5)
            top = max(top, row[j])
        total = np.float32(0)
        for j in range(n):
            row[j] = np.exp(row[j] - top)
            total += row[j]
        for k in range(d):
            out[h, 0, k] = np.float32(0)
        for j in range(n):
            for k in range(d):
                out[h, 0, k] += row[j] * V[h, j, k] / total
    return out


@program(
    hand=_decoding_by_hand,
    inputs=_one_query, full={"H": 8, "M": 4096, "D": 64}, quick={"H": 4, "M": 512, "D": 32}, torch=_decoding_by_torch,
)  # fmt: skip
def decoding_attention(Q, K, V):
    scores = (K @ Q[:, :, None])[:, :, 0] * np.float32(Q.shape[1] ** -0.5)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True))[:, None, :] @ V
