"""Attention: softmax(Q K^T) V of several heads, of which no array of positions by positions has to exist as a whole."""

import numpy as np

from polyml.kernels.arrays._workload import workload

F32 = np.float32


def _heads(size, rng):
    """Returns queries (H, N, D), and keys and values (G, M, D); G and M are H and N where they are left out."""
    queries = size["H"], size["N"], size["D"]
    keys = size.get("G", size["H"]), size.get("M", size["N"]), size["D"]
    return tuple(rng.standard_normal(shape).astype(F32) for shape in (queries, keys, keys))


def _with_mask(size, rng):
    """Returns those, and what masks three of ten keys of each query, but never the one at its own place."""
    n = size["N"]
    masked = (rng.random((n, n)) < 0.3) & ~np.eye(n, dtype=bool)
    return *_heads(size, rng), np.where(masked, F32(-np.inf), F32(0))


def _attended(Q, K, V, allowed=lambda i, j: True, added=None):
    """Returns attention in long doubles, query by query. allowed: which key j counts for query i; added: to the scores."""
    heads, n, d = Q.shape
    group = heads // K.shape[0]
    out = np.empty(Q.shape, np.longdouble)
    for h in range(heads):
        keys, values = K[h // group].astype(np.longdouble), V[h // group].astype(np.longdouble)
        for i in range(n):
            chosen = [j for j in range(len(keys)) if allowed(i, j)]
            scores = keys[chosen] @ Q[h, i].astype(np.longdouble) / np.sqrt(np.longdouble(d))
            if added is not None:
                scores = scores + added[i, chosen]
            weights = np.exp(scores - scores.max())
            out[h, i] = weights @ values[chosen] / weights.sum()
    return {"result": out}


@workload(
    sizes={"SMALL": {"H": 2, "N": 9, "D": 4}, "LARGE": {"H": 8, "N": 1024, "D": 64}},
    inputs=_heads,
    reference=_attended,
)
def attention(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


@workload(
    sizes={"SMALL": {"H": 2, "N": 9, "D": 4}, "LARGE": {"H": 8, "N": 1024, "D": 64}},
    inputs=_heads,
    reference=lambda Q, K, V: _attended(Q, K, V, lambda i, j: j <= i),
)
def causal_attention(Q, K, V):
    places = np.arange(Q.shape[1])
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    scores = np.where(places[None, :] <= places[:, None], scores, np.float32(-np.inf))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


@workload(
    sizes={"SMALL": {"H": 2, "N": 9, "D": 4}, "LARGE": {"H": 8, "N": 1024, "D": 64}},
    inputs=_with_mask,
    reference=lambda Q, K, V, mask: _attended(Q, K, V, added=mask),
)
def masked_attention(Q, K, V, mask):
    scores = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5) + mask
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ V


@workload(
    sizes={"SMALL": {"H": 4, "G": 2, "N": 9, "D": 4}, "LARGE": {"H": 8, "G": 2, "N": 1024, "D": 64}},
    inputs=_heads,
    reference=_attended,
)
def grouped_attention(Q, K, V):
    heads, n, d = Q.shape
    groups = K.shape[0]
    queries = Q.reshape(groups, heads // groups * n, d)  # the queries of all heads of a group are rows of one product
    scores = queries @ K.transpose(0, 2, 1) * np.float32(d**-0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (weights / weights.sum(axis=2, keepdims=True) @ V).reshape(heads, n, d)


@workload(
    sizes={"SMALL": {"H": 4, "N": 1, "M": 13, "D": 4}, "LARGE": {"H": 32, "N": 1, "M": 4096, "D": 128}},
    inputs=_heads,
    reference=_attended,
)
def decoding_attention(Q, K, V):
    scores = (K @ Q[:, 0, :, None])[:, :, 0] * np.float32(Q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True))[:, None, :] @ V
