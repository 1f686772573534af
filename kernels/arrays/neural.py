"""Layers of neural networks."""

import numpy as np

from polyml.kernels.arrays._workload import workload


def uniform(*names, **shapes):
    """Returns a function `inputs` that draws arrays from -1 to 1, whose shapes are named by the size's parameters."""

    def inputs(size, rng):
        return tuple(rng.uniform(-1, 1, tuple(size.get(dim, dim) for dim in shapes[name])) for name in names)

    return inputs


def _softmax(x):
    e = np.exp((x - x.max(axis=-1)[..., np.newaxis]).astype(np.longdouble))
    return e / e.sum(axis=-1)[..., np.newaxis]


def _normalised(x, gamma, beta):
    wide = x.astype(np.longdouble)
    mean = wide.sum(axis=-1) / x.shape[-1]
    centred = wide - mean[..., np.newaxis]
    return centred / np.sqrt((centred**2).sum(axis=-1) / x.shape[-1] + 1e-5)[..., np.newaxis] * gamma + beta


def _gelu(x):
    return x / (1 + np.exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)))


def _windows(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(-2, -1))


# Functions that the programs share


def rows_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalised(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * gamma + beta


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def attended(x, w, out, heads):
    n, d = x.shape
    qkv = (x @ w).reshape(n, 3, heads, d // heads).transpose(1, 2, 0, 3)
    scores = qkv[0] @ qkv[1].transpose(0, 2, 1) / np.sqrt(d // heads)
    return (rows_softmax(scores) @ qkv[2]).transpose(1, 0, 2).reshape(n, d) @ out


def convolved(x, weights):
    """Returns the convolution of x (C, H, W) with weights (K, C, 3, 3), without padding."""
    h, w = x.shape[1] - 2, x.shape[2] - 2
    y = np.zeros((weights.shape[0], h, w))
    for i in range(3):
        for j in range(3):
            y += np.einsum("kc,chw->khw", weights[:, :, i, j], x[:, i : i + h, j : j + w])
    return y


@workload(
    sizes={"SMALL": {"N": 7, "M": 9}, "LARGE": {"N": 4000, "M": 1000}},
    inputs=uniform("x", x=("N", "M")),
    reference=lambda x: {"result": _softmax(x)},
)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@workload(
    sizes={"SMALL": {"N": 7, "M": 9}, "LARGE": {"N": 4000, "M": 1000}},
    inputs=uniform("x", "gamma", "beta", x=("N", "M"), gamma=("M",), beta=("M",)),
    reference=lambda x, gamma, beta: {"result": _normalised(x, gamma, beta)},
)
def layernorm(x, gamma, beta):
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def _batchnorm_inputs(size, rng):
    c = size["C"]
    x = rng.uniform(-1, 1, (size["N"], c, size["H"], size["H"]))
    return (x, *rng.uniform(-1, 1, (1, c)), *rng.uniform(0.5, 2, (2, c)), *rng.uniform(-1, 1, (1, c)))


@workload(
    sizes={"SMALL": {"N": 2, "C": 3, "H": 5}, "LARGE": {"N": 16, "C": 64, "H": 56}},
    inputs=_batchnorm_inputs,
    reference=lambda x, mean, var, gamma, beta: {
        "result": np.stack([(x[:, c] - mean[c]) * (gamma[c] / (var[c] + 1e-5) ** 0.5) + beta[c] for c in range(x.shape[1])], axis=1)
    },
)
def batchnorm(x, mean, var, gamma, beta):
    normal = (x - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    return normal * gamma[:, None, None] + beta[:, None, None]


@workload(
    sizes={"SMALL": {"N": 5, "D": 6, "H": 8}, "LARGE": {"N": 512, "D": 256, "H": 1024}},
    inputs=uniform("x", "w1", "b1", "w2", "b2", x=("N", "D"), w1=("D", "H"), b1=("H",), w2=("H", "D"), b2=("D",)),
    reference=lambda x, w1, b1, w2, b2: {"result": np.einsum("nh,hd->nd", _gelu(np.einsum("nd,dh->nh", x, w1) + b1), w2) + b2},
)
def gelu_mlp(x, w1, b1, w2, b2):
    return gelu(x @ w1 + b1) @ w2 + b2


def _attention_inputs(size, rng):
    d = size["D"]
    return size["heads"], *uniform("x", "w", "out", x=("N", d), w=(d, 3 * d), out=(d, d))(size, rng)


def _attention(heads, x, w, out):
    n, d = x.shape
    q, k, v = np.split(x @ w, 3, axis=1)
    parts = []
    for h in range(heads):
        own = slice(h * (d // heads), (h + 1) * (d // heads))
        parts.append(_softmax(q[:, own] @ k[:, own].T / np.sqrt(d // heads)) @ v[:, own])
    return np.hstack(parts) @ out


@workload(
    sizes={"SMALL": {"N": 5, "D": 8, "heads": 2}, "LARGE": {"N": 512, "D": 256, "heads": 4}},
    inputs=_attention_inputs,
    reference=lambda heads, x, w, out: {"result": _attention(heads, x, w, out)},
)
def multi_head_attention(heads, x, w, out):
    return attended(x, w, out, heads)


def _block_inputs(size, rng):
    d, h = size["D"], 4 * size["D"]
    arrays = uniform(
        "x", "w", "out", "g1", "b1", "w1", "c1", "w2", "c2", "g2", "b2",
        x=("N", d), w=(d, 3 * d), out=(d, d), g1=(d,), b1=(d,), w1=(d, h), c1=(h,), w2=(h, d), c2=(d,), g2=(d,), b2=(d,),
    )  # fmt: skip
    return size["heads"], *arrays(size, rng)


def _block(heads, x, w, out, g1, b1, w1, c1, w2, c2, g2, b2):
    y = x + _attention(heads, _normalised(x, g1, b1), w, out)
    return y + _gelu(_normalised(y, g2, b2) @ w1 + c1) @ w2 + c2


@workload(
    sizes={"SMALL": {"N": 5, "D": 8, "heads": 2}, "LARGE": {"N": 256, "D": 256, "heads": 4}},
    inputs=_block_inputs,
    reference=lambda *arguments: {"result": _block(*arguments)},
)
def transformer_block(heads, x, w, out, g1, b1, w1, c1, w2, c2, g2, b2):
    y = x + attended(normalised(x, g1, b1), w, out, heads)
    return y + gelu(normalised(y, g2, b2) @ w1 + c1) @ w2 + c2


@workload(
    sizes={"SMALL": {"C": 3, "K": 4, "H": 7}, "LARGE": {"C": 64, "K": 64, "H": 58}},
    inputs=uniform("x", "depth", "point", x=("C", "H", "H"), depth=("C", 3, 3), point=("K", "C")),
    reference=lambda x, depth, point: {"result": np.tensordot(point, np.einsum("chwij,cij->chw", _windows(x, 3), depth), 1)},
)
def depthwise_separable_convolution(x, depth, point):
    h, w = x.shape[1] - 2, x.shape[2] - 2
    y = np.zeros((x.shape[0], h, w))
    for i in range(3):
        for j in range(3):
            y += depth[:, i, j, None, None] * x[:, i : i + h, j : j + w]
    return np.einsum("kc,chw->khw", point, y)


@workload(
    sizes={"SMALL": {"C": 3, "H": 8}, "LARGE": {"C": 64, "H": 224}},
    inputs=uniform("x", x=("C", "H", "H")),
    reference=lambda x: {"result": _windows(x, 2)[:, ::2, ::2].max(axis=(-2, -1))},
)
def max_pool(x):
    c, h, w = x.shape
    return x.reshape(c, h // 2, 2, w // 2, 2).max(axis=(2, 4))


@workload(
    sizes={"SMALL": {"C": 3, "H": 8}, "LARGE": {"C": 64, "H": 224}},
    inputs=uniform("x", x=("C", "H", "H")),
    reference=lambda x: {"result": _windows(x, 2)[:, ::2, ::2].sum(axis=(-2, -1)) / 4},
)
def average_pool(x):
    c, h, w = x.shape
    return x.reshape(c, h // 2, 2, w // 2, 2).mean(axis=(2, 4))


def _vgg(x, weights, bias):
    y = np.einsum("chwij,kcij->khw", _windows(x, 3), weights, optimize=True) + bias[:, None, None]
    return _windows(y.clip(0), 2)[:, ::2, ::2].max(axis=(-2, -1))


@workload(
    sizes={"SMALL": {"C": 3, "K": 4, "H": 10}, "LARGE": {"C": 32, "K": 64, "H": 58}},
    inputs=uniform("x", "weights", "bias", x=("C", "H", "H"), weights=("K", "C", 3, 3), bias=("K",)),
    reference=lambda x, weights, bias: {"result": _vgg(x, weights, bias)},
)
def vgg_block(x, weights, bias):
    y = np.maximum(convolved(x, weights) + bias[:, None, None], 0)
    return np.maximum(np.maximum(y[:, ::2, ::2], y[:, 1::2, ::2]), np.maximum(y[:, ::2, 1::2], y[:, 1::2, 1::2]))


def _lstm(x, h, c, wx, wh, b):
    gates = np.einsum("nd,dg->ng", x, wx) + np.einsum("nh,hg->ng", h, wh) + b
    i, f, o, u = np.split(gates, 4, axis=1)
    state = c / (1 + np.exp(-f)) + np.tanh(u) / (1 + np.exp(-i))
    return np.tanh(state) / (1 + np.exp(-o)), state


@workload(
    sizes={"SMALL": {"N": 3, "D": 4, "H": 5, "G": 20}, "LARGE": {"N": 256, "D": 256, "H": 256, "G": 1024}},
    inputs=uniform(
        "x", "h", "c", "wx", "wh", "b", x=("N", "D"), h=("N", "H"), c=("N", "H"), wx=("D", "G"), wh=("H", "G"), b=("G",)
    ),
    reference=lambda *arguments: {"result": _lstm(*arguments)},
)
def lstm_cell(x, h, c, wx, wh, b):
    n = h.shape[1]
    gates = x @ wx + h @ wh + b
    i, f, o = sigmoid(gates[:, :n]), sigmoid(gates[:, n : 2 * n]), sigmoid(gates[:, 2 * n : 3 * n])
    state = f * c + i * np.tanh(gates[:, 3 * n :])
    return o * np.tanh(state), state


def _cross_entropy_inputs(size, rng):
    n, m = size["N"], size["M"]
    return rng.uniform(-1, 1, (n, m)), np.eye(m)[rng.integers(0, m, n)]


@workload(
    sizes={"SMALL": {"N": 7, "M": 9}, "LARGE": {"N": 4000, "M": 1000}},
    inputs=_cross_entropy_inputs,
    reference=lambda logits, labels: {"result": -np.log(_softmax(logits)[labels.astype(bool)]).sum() / logits.shape[0]},
)
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return ((total - shifted) * labels).sum() / logits.shape[0]
