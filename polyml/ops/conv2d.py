"""Convolution of two-dimensional images, as neural networks define it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import DTypeLike

from polyml import config
from polyml.errors import PolymlMemoryError, PolymlTypeError, PolymlValueError
from polyml.ops.choice import ALGORITHMS, ConvolutionPlan, plan
from polyml.ops.geometry import W_AXES, X_AXES, ConvolutionArguments, Geometry, check_layout, geometry
from polyml.ops.operands import ConvolutionArrays
from polyml.runtime.calling.arguments import argument

DTYPES = {np.dtype("f4"): "float32", np.dtype("f8"): "float64"}


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    layout: str = "NCHW",
    algorithm: str = "auto",
    out: np.ndarray | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Returns the convolution of an image x with filters w, as neural networks define it.

        y[n, o, i, j] = bias[o] + sum over c, a, b of x[n, c, i*stride + a*dilation - padding, ...] * w[o, c, a, b]

    layout "NCHW": x (n, c_in, h, w), w (c_out, c_in/groups, kh, kw), y (n, c_out, h', w'). "NHWC": x (n, h, w, c_in),
    w (kh, kw, c_in/groups, c_out), y (n, h', w', c_out). h' = (h + zeros - (kh - 1)*dilation - 1) // stride + 1. All
    are float32 or all float64, of any strides; bias (c_out,).

    stride, padding, dilation: a number or (vertical, horizontal).
    padding: zeros on each side; "valid" for none, "same" for as many as make h' = ceil(h / stride), an odd one below and
    to the right.
    groups: result channels of group k read input channels of group k only.
    out: where y goes, also returned.
    threads: 0 for every core, None for the setting in force.

    algorithm, with the error of a result; k = kh*kw*c_in/groups, eps the type's, s the sum |x||w| of its own products:
    "direct", "im2col": at most (k + 1)*eps*s.
    "winograd2", "winograd4": filters 3 x 3, stride and dilation 1. Measured on random images and filters, also of one
    sign and over 16 decades: at most 7*eps and 36*eps times the largest s of the call. Nothing is proved; a result that
    is small beside its neighbours may have no right digit.
    "fft": measured at most 5*eps times the largest s, otherwise as the last two.
    "auto": the one that a model of costs finds cheapest, which `conv2d_plan` shows. With the last three a number that
    is not finite reaches all results of its tile; with fp="strict" in force only the first two are chosen.

    Raises PolymlTypeError or PolymlValueError for arguments that make no convolution, and for an algorithm that does not apply.

    >>> x, w = np.ones((1, 2, 4, 4)), np.ones((3, 2, 3, 3))
    >>> conv2d(x, w, padding="same").shape, conv2d(x, w, algorithm="direct")[0, 0].tolist()
    ((1, 3, 4, 4), [[18.0, 18.0], [18.0, 18.0]])
    """
    check_layout(layout)
    x, w = _array("x", x, X_AXES[layout]), _array("w", w, W_AXES[layout])
    if x.dtype != w.dtype:
        raise PolymlTypeError(
            f"`x` is an array of {x.dtype} (shape {x.shape}), `w` of {w.dtype} (shape {w.shape})",
            notes=["both are float32, or both float64"],
        )
    options = config.resolve()
    threads = options.threads if threads is None else _threads(threads)
    arguments = ConvolutionArguments(x.shape, w.shape, DTYPES[x.dtype], stride, padding, dilation, groups, layout)
    chosen = _plan(arguments, algorithm, threads, options.fp)
    g = chosen.geometry
    if bias is None:
        bias = np.zeros(g.c_out, x.dtype)
    else:
        bias = _array("bias", bias, "(c_out,)")
        if bias.shape != (g.c_out,) or bias.dtype != x.dtype:
            raise PolymlValueError(
                f"`bias` is an array of {bias.dtype} of shape {bias.shape}",
                notes=[f"an array of {x.dtype} of shape ({g.c_out},), a number for each filter, is accepted"],
            )
    if out is not None:
        _check_out(out, g)
    try:
        y = out if out is not None and _is_free(out, (x, w, bias)) else np.empty(g.out_shape, x.dtype)
        if g.images:
            ALGORITHMS[chosen.algorithm].run(g, ConvolutionArrays(x, w, np.ascontiguousarray(bias), y), threads)
    except MemoryError:
        raise PolymlMemoryError(
            f"there is not enough memory for {chosen.algorithm}", notes=[str(g), "direct takes the least memory"]
        ) from None
    if out is None or y is out:
        return y
    out[...] = y
    return out


def conv2d_plan(
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    *,
    dtype: DTypeLike = "float32",
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    layout: str = "NCHW",
    algorithm: str = "auto",
    threads: int | None = None,
) -> ConvolutionPlan:
    """Returns the plan of `conv2d` for arrays of these shapes: the algorithm that it takes, and as text all terms of the costs.

    >>> conv2d_plan((1, 64, 56, 56), (64, 64, 5, 5), stride=2).refused["winograd4"]
    'its filters are 3 x 3, not 5 x 5'
    """
    try:
        name = DTYPES.get(np.dtype(dtype))
    except TypeError:
        name = None
    if name is None:
        raise PolymlTypeError(f"`dtype` is {dtype!r}", notes=["float32 and float64 are accepted"])
    options = config.resolve()
    threads = options.threads if threads is None else _threads(threads)
    arguments = ConvolutionArguments(tuple(x_shape), tuple(w_shape), name, stride, padding, dilation, groups, layout)
    return _plan(arguments, algorithm, threads, options.fp)


def _plan(arguments: ConvolutionArguments, algorithm: str, threads: int, fp: str) -> ConvolutionPlan:
    """Returns the plan of a convolution; it is made once for arguments that can be hashed, and remembered."""
    key = arguments, arguments.types, algorithm, threads, fp
    try:
        hash(key)
    except TypeError:
        return _made(*key)
    return _remembered(*key)


def _made(arguments: ConvolutionArguments, types: tuple[type, ...], algorithm: str, threads: int, fp: str) -> ConvolutionPlan:
    """Makes the plan of a convolution, which is remembered.

    types: those of the arguments, by which a remembered plan is found, too: 1 and True are equal, but only 1 is accepted
    """
    return plan(geometry(arguments), algorithm, threads, fp == "strict")


_remembered = lru_cache(maxsize=1024, typed=True)(_made)


def _array(name: str, value: object, axes: str) -> np.ndarray:
    """Returns an argument as an array of float32 or float64.

    name: of the argument, for the error.
    axes: the axes that it should have, for the error.

    Raises PolymlTypeError where it is no such array.
    """
    if type(value) is np.ndarray and value.dtype in DTYPES:
        return value
    array = argument(name, value).value
    if not isinstance(array, np.ndarray):
        raise PolymlTypeError(f"`{name}` is a {type(value).__name__}", notes=[f"it is an array {axes}"])
    if array.dtype not in DTYPES:
        raise PolymlTypeError(
            f"`{name}` is an array of {array.dtype} of shape {array.shape}", notes=["float32 and float64 are accepted"]
        )
    return array


def _check_out(out: object, g: Geometry) -> None:
    """Raises PolymlValueError where the result cannot be written to `out`: another type or shape, or a read-only array."""
    given = f"a {type(out).__name__}"
    if isinstance(out, np.ndarray):
        given = f"an array of {out.dtype} of shape {out.shape}"
        if out.shape == g.out_shape and out.dtype == np.dtype(g.dtype):
            if out.flags.writeable:
                return
            given += ", read-only"
    raise PolymlValueError(f"`out` is {given}", notes=[f"a writable array of {g.dtype} of shape {g.out_shape} is accepted"])


def _is_free(out: np.ndarray, given: tuple[np.ndarray, ...]) -> bool:
    """Returns whether kernels can write to `out` directly: it is contiguous and aligned, and overlaps none of the given arrays."""
    if not out.flags.c_contiguous or not out.flags.aligned:
        return False
    return not any(np.may_share_memory(out, each) for each in given)


def _threads(given: object) -> int:
    """Returns the argument `threads` as a number. Raises ConfigError where it is no number of threads."""
    checked = config.check({"threads": given})["threads"]
    assert isinstance(checked, int)
    return checked
