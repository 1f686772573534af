"""The 30 kernels of PolyBench 4.2.1 as Python loops, one file each.

A kernel's file defines

    SIZES                    {preset: {parameter: int}}, PolyBench's five size sets
    OUTPUTS                  names of the arguments that hold the results
    the kernel               the loops, decorated with @polyml.kernel, named like the file
    reference(*args)         {output: expected array}; independent of the kernel, leaves its arguments alone
    inputs(size, rng, dtype) {argument: value} in the order of the call, random
    flops(size)              arithmetic operations of one call: each of + - * / min max sqrt on array elements is one,
                             alpha * A[i, k] counts once for an element and not once for each use, and arithmetic on
                             scalar arguments alone does not count
    terms(size)              roundings on the longest way from an input to an output, or None for exact (integers)

and, where the defaults below do not fit,

    TITLE                    PolyBench's name, when it is not the file's name with hyphens
    DTYPE                    element type (default float64)
    NUMPY = False            the reference is no NumPy program that one would write, so no time is compared with it
    traffic_bytes(size, item_bytes)   least memory traffic of one call: the kernel is bound by memory, report GB/s
    magnitude(*args)         {output: scale of the rounding errors}; default: the reference on absolute values
    determined(size)         {output: index of the part that the inputs determine}; default: all of it
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polyml.errors import ConfigError

PRESETS = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")

NAMES = (
    "correlation", "covariance",
    "gemm", "gemver", "gesummv", "symm", "syr2k", "syrk", "trmm",
    "k2mm", "k3mm", "atax", "bicg", "doitgen", "mvt",
    "cholesky", "durbin", "gramschmidt", "lu", "ludcmp", "trisolv",
    "deriche", "floyd_warshall", "nussinov",
    "adi", "fdtd_2d", "heat_3d", "jacobi_1d", "jacobi_2d", "seidel_2d",
)  # fmt: skip

_ALIASES = {"2mm": "k2mm", "3mm": "k3mm"}


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark is a kernel with all that is needed to run, check and time it.

    name, title: the name of the kernel's file, and PolyBench's name.
    kernel: the kernel itself.
    reference: a function of the kernel's arguments that returns {output: expected array}, and leaves its arguments unchanged.
    sizes: {preset: {parameter: size}}.
    inputs: a function of (size, rng, dtype) that returns {argument: random value} in the order of the call.
    outputs: the names of the arguments that hold the results.
    flops: a function of the size that returns the arithmetic operations of one call.
    terms: a function of the size that returns the roundings on the longest way from an input to an output; None: results are exact.
    dtype: NumPy's name of the element type.
    numpy: whether the reference is a NumPy program that one would write, so that its time may be compared.
    traffic_bytes: a function of (size, item_bytes) that returns the least memory traffic of one call; None: memory does not bind.
    magnitude: a function of the arguments that returns {output: scale of the rounding errors}; None: the reference on absolute
        values.
    determined: a function of the size that returns {output: index of the part that the inputs determine}; None: all of it.
    """

    name: str
    title: str
    kernel: Any
    reference: Callable[..., dict]
    sizes: Mapping[str, Mapping[str, int]]
    inputs: Callable[..., dict]
    outputs: tuple[str, ...]
    flops: Callable[[Mapping[str, int]], int]
    terms: Callable[[Mapping[str, int]], int] | None
    dtype: str = "float64"
    numpy: bool = True
    traffic_bytes: Callable[[Mapping[str, int], int], int] | None = None
    magnitude: Callable[..., dict] | None = None
    determined: Callable[[Mapping[str, int]], dict] | None = None

    @property
    def unit(self) -> str:
        """Returns the unit of `rate`: "GB/s" for a kernel that memory binds, else "GFLOP/s", or "Gop/s" on integers."""
        if self.traffic_bytes is not None:
            return "GB/s"
        return "GFLOP/s" if self.dtype.startswith("float") else "Gop/s"

    def rate(self, size: Mapping[str, int], seconds: float, item_bytes: int) -> float:
        """Returns the operations or the bytes of one call per second, in `unit`.

        size: {parameter: size}.
        seconds: the time of the call.
        item_bytes: the size of one element.
        """
        work = self.flops(size) if self.traffic_bytes is None else self.traffic_bytes(size, item_bytes)
        return work / seconds / 1e9


def canonical(name: str) -> str:
    """Returns the name of the kernel's file for any accepted spelling of the kernel: k2mm for "2mm", jacobi_2d for "jacobi-2d".

    Raises ConfigError for a name that is none of the 30.
    """
    key = name.strip().lower().replace("-", "_")
    key = _ALIASES.get(key, key)
    if key in NAMES:
        return key
    near = difflib.get_close_matches(key, NAMES, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the kernels are {', '.join(NAMES)}"
    raise ConfigError(f"there is no kernel named {name!r}", notes=[hint])


def preset(name: str) -> str:
    """Returns the name of a size set in upper case. Raises ConfigError where there is no such set."""
    if name.upper() in PRESETS:
        return name.upper()
    raise ConfigError(f"there is no size set named {name!r}", notes=[f"the size sets are {', '.join(PRESETS)}"])


def load(name: str) -> Benchmark:
    """Imports the kernel of this name and returns it as a benchmark. Raises ConfigError for a name that is none of the 30."""
    key = canonical(name)
    module = importlib.import_module(f"polyml.kernels.{key}")
    return Benchmark(
        name=key,
        title=getattr(module, "TITLE", key.replace("_", "-")),
        kernel=getattr(module, key),
        reference=module.reference,
        sizes=module.SIZES,
        inputs=module.inputs,
        outputs=module.OUTPUTS,
        flops=module.flops,
        terms=module.terms,
        dtype=getattr(module, "DTYPE", "float64"),
        numpy=getattr(module, "NUMPY", True),
        traffic_bytes=getattr(module, "traffic_bytes", None),
        magnitude=getattr(module, "magnitude", None),
        determined=getattr(module, "determined", None),
    )
