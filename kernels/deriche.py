"""deriche: recursive edge-smoothing filter on an image, rows then columns; imgIn, imgOut, y1, y2 (W, H).

PolyBench runs this one in float32; alpha is a NumPy scalar of the image's type, so that the coefficients are too.
"""

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

DTYPE = "float32"
SIZES = size_table("W H", (64, 64), (192, 128), (720, 480), (4096, 2160), (7680, 4320))
OUTPUTS = ("imgOut",)


@polyml.kernel
def deriche(alpha, imgIn, imgOut, y1, y2):
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1.0

    for i in range(imgIn.shape[0]):
        ym1 = 0.0
        ym2 = 0.0
        xm1 = 0.0
        for j in range(imgIn.shape[1]):
            y1[i, j] = a1 * imgIn[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = imgIn[i, j]
            ym2 = ym1
            ym1 = y1[i, j]

    for i in range(imgIn.shape[0]):
        yp1 = 0.0
        yp2 = 0.0
        xp1 = 0.0
        xp2 = 0.0
        for j in range(imgIn.shape[1] - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = imgIn[i, j]
            yp2 = yp1
            yp1 = y2[i, j]

    for i in range(imgIn.shape[0]):
        for j in range(imgIn.shape[1]):
            imgOut[i, j] = c1 * (y1[i, j] + y2[i, j])

    for j in range(imgIn.shape[1]):
        tm1 = 0.0
        ym1 = 0.0
        ym2 = 0.0
        for i in range(imgIn.shape[0]):
            y1[i, j] = a5 * imgOut[i, j] + a6 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = imgOut[i, j]
            ym2 = ym1
            ym1 = y1[i, j]

    for j in range(imgIn.shape[1]):
        tp1 = 0.0
        tp2 = 0.0
        yp1 = 0.0
        yp2 = 0.0
        for i in range(imgIn.shape[0] - 1, -1, -1):
            y2[i, j] = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = imgOut[i, j]
            yp2 = yp1
            yp1 = y2[i, j]

    for i in range(imgIn.shape[0]):
        for j in range(imgIn.shape[1]):
            imgOut[i, j] = c2 * (y1[i, j] + y2[i, j])


def reference(alpha, imgIn, imgOut, y1, y2):
    alpha = imgIn.dtype.type(alpha)
    along_rows = _smooth(alpha, np.ascontiguousarray(imgIn.T)).T
    return {"imgOut": _smooth(alpha, np.ascontiguousarray(along_rows))}


def _smooth(alpha, image):
    """Returns the image after the causal plus the anticausal filter along its first dimension, which runs on whole rows."""
    decay = np.exp(-alpha)
    gain = (1 - decay) ** 2 / (1 + 2 * alpha * decay - np.exp(2 * alpha))
    feedback, damping = np.exp2(-alpha), np.exp(-2 * alpha)
    forward, backward = np.zeros_like(image), np.zeros_like(image)
    zero = np.zeros_like(image[0]) if len(image) else image
    previous = before = source = zero
    for i in range(len(image)):
        row = gain * (image[i] + decay * (alpha - 1) * source) + feedback * previous - damping * before
        forward[i], source, previous, before = row, image[i], row, previous
    previous = before = source = earlier = zero
    for i in reversed(range(len(image))):
        row = gain * (decay * (alpha + 1) * source - damping * earlier) + feedback * previous - damping * before
        backward[i], source, earlier, previous, before = row, image[i], source, row, previous
    return forward + backward


def inputs(size, rng, dtype=np.float32):
    w, h = size["W"], size["H"]
    return {
        "alpha": np.dtype(dtype).type(0.25),
        "imgIn": rng.uniform(0.0, 1.0, (w, h)).astype(dtype),
        "imgOut": np.zeros((w, h), dtype),
        "y1": np.zeros((w, h), dtype),
        "y2": np.zeros((w, h), dtype),
    }


def flops(size):
    return 32 * size["W"] * size["H"]


def traffic_bytes(size, item_bytes):
    return 4 * size["W"] * size["H"] * item_bytes


def terms(size):
    """Returns the roundings of 60 steps of both filters, 7 for each step: older steps are below float32's eps.

    The filter forgets, since its poles have the modulus exp(-0.25).
    """
    return 2 * 7 * min(60, max(size["W"], size["H"]))


def magnitude(alpha, imgIn, imgOut, y1, y2):
    return {"imgOut": largest(imgIn)}
