"""NumPy's functions of whole arrays that a kernel may call, by function, method and attribute.

Elementwise functions, which take arrays as they take numbers, are in `frontend.elementwise_functions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyml.frontend.elementwise_functions import OUTER
from polyml.frontend.library.whole_arrays import marks


@dataclass(frozen=True)
class Signature:
    """A Signature says what one of NumPy's functions of arrays takes.

    name: the function's name in NumPy
    operands: the parameters that are arrays or numbers, in order
    options: the other parameters, in NumPy's order
    variadic: whether the items of a tuple may be given as several arguments, as in A.transpose(1, 0)
    shape: the option that is a shape, whose sizes need not be constants: a Function has them in `args`, behind the operands
    optional: further operands, which may be left out and come behind the others
    many: whether the only operand is a tuple of arrays
    """

    name: str
    operands: tuple[str, ...]
    options: tuple[str, ...] = ()
    variadic: bool = False
    shape: str | None = None
    optional: tuple[str, ...] = ()
    many: bool = False


_REDUCTIONS = {
    "sum": ("axis", "dtype", "out"), "prod": ("axis", "dtype", "out"), "mean": ("axis", "dtype", "out"),
    "max": ("axis", "out"), "min": ("axis", "out"), "any": ("axis", "out"), "all": ("axis", "out"),
}  # fmt: skip


def _numpy() -> Iterator[Signature]:
    for name, options in _REDUCTIONS.items():
        yield Signature(name, ("a",), (*options, "keepdims"))
    for name in ("var", "std"):
        yield Signature(name, ("a",), ("axis", "dtype", "out", "ddof", "keepdims"))
    for name in ("nanmax", "nanmin"):
        yield Signature(name, ("a",), ("axis", "out", "keepdims"))
    for name in ("nansum", "nanmean"):
        yield Signature(name, ("a",), ("axis", "dtype", "out", "keepdims"))
    for name in ("nanvar", "nanstd"):
        yield Signature(name, ("a",), ("axis", "dtype", "out", "ddof", "keepdims"))
    for name in ("isclose", "allclose"):
        yield Signature(name, ("a", "b"), ("equal_nan",), optional=("rtol", "atol"))
    yield Signature("array_equal", ("a1", "a2"), ("equal_nan",))
    yield Signature("count_nonzero", ("a",), ("axis", "keepdims"))
    yield Signature("ptp", ("a",), ("axis", "out", "keepdims"))
    for name in ("argmax", "argmin"):
        yield Signature(name, ("a",), ("axis", "out", "keepdims"))
    for name in ("cumsum", "cumprod"):
        yield Signature(name, ("a",), ("axis", "dtype", "out"))
    yield Signature("diff", ("a",), ("n", "axis"))
    yield Signature("round", ("a",), ("decimals", "out"))
    for name in ("trace", "diagonal"):
        yield Signature(name, ("a",), ("offset",))
    for name in ("matmul", "dot", "outer", "inner", "vdot"):
        yield Signature(name, ("a", "b"))
    yield Signature("tensordot", ("a", "b"), ("axes",))
    for name in ("real", "imag"):
        yield Signature(name, ("val",))
    yield Signature("angle", ("z",), ("deg",))
    yield Signature("where", ("condition", "x", "y"))
    yield Signature("clip", ("a", "a_min", "a_max"))
    yield Signature("transpose", ("a",), ("axes",))
    yield Signature("reshape", ("a",), ("shape",), shape="shape")
    yield Signature("ravel", ("a",))
    yield Signature("copy", ("a",))
    yield Signature("arange", ("start",), ("dtype",), optional=("stop", "step"))
    yield Signature("linspace", ("start", "stop"), ("endpoint", "dtype"), optional=("num",))
    yield Signature("eye", ("N",), ("dtype",), optional=("M",))
    yield Signature("tri", ("N",), ("k", "dtype"), optional=("M",))
    yield Signature("ascontiguousarray", ("a",))
    for name in ("fliplr", "flipud"):
        yield Signature(name, ("m",))
    yield Signature("moveaxis", ("a",), ("source", "destination"))
    for name in ("tril", "triu"):
        yield Signature(name, ("m",), ("k",))
    yield Signature("diag", ("v",))
    yield Signature("take", ("a", "indices"), ("axis",))
    yield Signature("roll", ("a",), ("shift", "axis"))
    yield Signature("repeat", ("a", "repeats"), ("axis",))
    yield Signature("bincount", ("x",), ("minlength",), optional=("weights",))
    yield Signature("tile", ("A",), ("reps",))
    yield Signature("pad", ("array",), ("pad_width", "mode", "constant_values"))
    for name in ("concatenate", "stack"):
        yield Signature(name, ("arrays",), ("axis",), many=True)
    for name in ("hstack", "vstack", "column_stack"):
        yield Signature(name, ("tup",), many=True)
    yield Signature("append", ("arr", "values"), ("axis",))
    for name in ("flatnonzero", "argwhere"):
        yield Signature(name, ("a",))
    yield Signature("searchsorted", ("a", "v"), ("side", "sorter"))
    for name in ("sort", "argsort"):
        yield Signature(name, ("a",), ("axis", "kind", "order", "stable"))
    yield Signature("median", ("a",), ("axis", "out", "overwrite_input", "keepdims"))
    yield Signature("interp", ("x", "xp", "fp"), ("left", "right", "period"))
    yield Signature("flip", ("m",), ("axis",))
    for name in ("swapaxes", "expand_dims", "squeeze"):
        yield Signature(name, ("a",), ("axis1", "axis2") if name == "swapaxes" else ("axis",))


# ufuncs whose accumulate is one
ACCUMULATED = ("add", "multiply", "maximum", "minimum", "fmax", "fmin")
REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
"""The ufuncs whose reduce is one, along the first axis where none is given, and the function that it is along all axes."""
_OF_REDUCE = {
    name: ("axis", "dtype", "out", "keepdims") if name in ("add", "multiply") else ("axis", "keepdims") for name in REDUCED
}
_SIGNATURES = {signature.name: signature for signature in _numpy()}

# function object -> Signature
FUNCTIONS = {getattr(np, name): signature for name, signature in _SIGNATURES.items()} | {
    np.amax: _SIGNATURES["max"],
    np.amin: _SIGNATURES["min"],
    np.around: _SIGNATURES["round"],
    **{getattr(np, name).accumulate: Signature(f"{name}_accumulate", ("array",), ("axis", "dtype", "out")) for name in ACCUMULATED},
    **{getattr(np, name).reduce: Signature(f"{name}_reduce", ("array",), _OF_REDUCE[name]) for name in REDUCED},
    **{getattr(np, name).outer: Signature(f"{name}_outer", ("A", "B")) for name in OUTER},
    **{function: Signature(name, *marks.parameters(name)) for name, function in marks.FUNCTIONS.items()},
    np.linalg.norm: Signature("vector_norm", ("x",), ("ord", "axis", "keepdims")),
}

# function object -> Signature, of functions that also take lists which are written out
OF_LISTS = {
    np.array: Signature("array", ("object",), ("dtype", "copy", "order", "ndmin", "subok")),
    np.asarray: Signature("asarray", ("a",), ("dtype", "order", "copy")),
}

# method name -> Signature, the array itself the first operand
METHODS = {
    name: _SIGNATURES[name]
    for name in (
        *_REDUCTIONS,
        "argmax",
        "argmin",
        "var",
        "std",
        "cumsum",
        "cumprod",
        "round",
        "trace",
        "diagonal",
        "dot",
        "copy",
        "ravel",
        "swapaxes",
        "squeeze",
        "clip",
        "take",
        "searchsorted",
        "argsort",
        "repeat",
    )
} | {
    "transpose": Signature("transpose", ("a",), ("axes",), variadic=True),
    "reshape": Signature("reshape", ("a",), ("shape",), variadic=True, shape="shape"),
    "astype": Signature("astype", ("a",), ("dtype",)),
    "flatten": Signature("flatten", ("a",)),
    "conj": Signature("conj", ("x",)),
    "conjugate": Signature("conj", ("x",)),
}

# attribute -> the name of what it is
ATTRIBUTES = {"T": "transpose", "size": "size", "ndim": "ndim", "real": "real", "imag": "imag"}
