"""The distinct convolutions of ResNet-50 (He et al., 2016; stride in the 3x3 layers, as PyTorch's torchvision has it).

A case is `NCHW 16x64x56 64x3 s1 p1`: layout; batch, channels and size of the input; filters and size of their kernel;
stride; padding. Filters are (filters, channels, height, width) for NCHW and (height, width, channels, filters) for NHWC.
PyTorch gets the same values in memory of the same layout, contiguous or channels_last.

Results count as right up to ERROR eps times the largest sum |x||w| of the layer from the reference: what Winograd's
algorithm F(4x4,3x3), which both may use, is stated to need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.contractions.problem import Form, Problem, compiled, torch_library, uniform
from benchmarks.generated import function_of
from benchmarks.peer import PeerUnavailable

ERROR = 36
_CASE = re.compile(r"(NCHW|NHWC) (\d+)x(\d+)x(\d+) (\d+)x(\d+) s(\d+) p(\d+)")


@dataclass(frozen=True)
class Layer:
    layout: str
    batch: int
    channels: int
    size: int
    filters: int
    kernel: int
    stride: int
    padding: int

    def __str__(self) -> str:
        return f"{self.layout} {self.batch}x{self.channels}x{self.size} {self.filters}x{self.kernel} s{self.stride} p{self.padding}"

    @property
    def result_size(self) -> int:
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def depth(self) -> int:
        return self.channels * self.kernel**2


def layer(case: str) -> Layer:
    found = _CASE.fullmatch(case)
    if found is None:
        raise ValueError(f"{case!r} is not like 'NCHW 16x64x56 64x3 s1 p1'")
    return Layer(found[1], *(int(number) for number in found.groups()[1:]))


def canonical(case: str) -> str:
    return str(layer(case))


def cases() -> list[str]:
    layers = list(dict.fromkeys(_resnet50()))
    return [str(Layer(layout, batch, *numbers)) for layout in ("NCHW", "NHWC") for batch in (1, 16) for numbers in layers]


def _resnet50() -> Iterator[tuple[int, ...]]:
    """Yields channels, size, filters, kernel, stride and padding of every layer; blocks beyond the second repeat the second."""
    yield 3, 224, 64, 7, 2, 3
    channels, size = 64, 56
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        yield channels, size, 4 * width, 1, stride, 0  # the way around the first block
        for step in (stride, 1):
            yield channels, size, width, 1, 1, 0
            yield width, size, width, 3, step, 1
            channels, size = 4 * width, size // step
            yield width, size, channels, 1, 1, 0


def loops(layout: str, stride: int, padding: int) -> Callable:
    """Computes y (in the layout) += x * w by seven loops over a padded copy of x, with the stride as a number."""
    names = {"N": "n", "F": "f", "H": "i", "W": "j"}
    result = layout.replace("C", "F")
    heads = [(names[axis], f"y.shape[{at}]") for at, axis in enumerate(result)]
    filters = {"NCHW": "fcrs", "NHWC": "rscf"}[layout]
    heads += [(index, f"w.shape[{filters.index(index)}]") for index in "crs"]
    rows, columns = (axis if stride == 1 else f"{stride} * {axis}" for axis in "ij")
    x_at = {"N": "n", "C": "c", "H": f"{rows} + r", "W": f"{columns} + s"}
    lines = ["def convolution(y, x, w):"]
    if padding:
        widths = ", ".join(f"({padding}, {padding})" if axis in "HW" else "(0, 0)" for axis in layout)
        lines.append(f"    x = np.pad(x, ({widths}))")
    lines += ["    " * depth + f"for {index} in range({extent}):" for depth, (index, extent) in enumerate(heads, 1)]
    y, x = ", ".join(names[axis] for axis in result), ", ".join(x_at[axis] for axis in layout)
    lines.append("    " * 8 + f"y[{y}] += x[{x}] * w[{', '.join(filters)}]\n")
    return function_of("\n".join(lines), "convolution")


def problem(case: str, dtype: str) -> Problem:
    own = layer(case)
    random = np.random.default_rng(0)
    x = uniform(random, (own.batch, own.channels, own.size, own.size), dtype)
    w = uniform(random, (own.filters, own.channels, own.kernel, own.kernel), dtype)
    reference = cache(lambda: _sum_of_products(x.astype("f8"), w.astype("f8"), own))
    bound = cache(lambda: ERROR * float(np.finfo(dtype).eps) * float(_sum_of_products(np.abs(x), np.abs(w), own).max()))
    flops = 2 * own.batch * own.filters * own.result_size**2 * own.depth
    if own.layout == "NHWC":
        x_here, w_here = (np.ascontiguousarray(a) for a in (x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)))
    else:
        x_here, w_here = x, w

    def error(y: np.ndarray) -> float:
        return far(y.transpose(0, 3, 1, 2) if own.layout == "NHWC" else y)

    def far(y: np.ndarray) -> float:
        return float(np.abs(y - reference()).max()) / bound() if y.shape == reference().shape else float("inf")

    def of_ops(threads: int) -> dict[str, Form]:
        try:
            from polyml import ops
        except ImportError:
            raise PeerUnavailable("polyml.ops is not there") from None
        from polyml import config

        config.scope(threads=threads).__enter__()

        def call():
            return ops.conv2d(x_here, w_here, stride=own.stride, padding=own.padding, layout=own.layout)

        return {"": Form(call, lambda: error(call()))}

    def of_loops(threads: int) -> dict[str, Form]:
        call = compiled(loops(own.layout, own.stride, own.padding), threads)
        size, filters = own.result_size, own.filters
        y = np.zeros((own.batch, size, size, filters) if own.layout == "NHWC" else (own.batch, filters, size, size), dtype)
        return {"": Form(lambda: call(y, x_here, w_here), lambda: error(y))}

    def of_torch(threads: int) -> dict[str, Form]:
        torch = torch_library(threads)
        memory = torch.channels_last if own.layout == "NHWC" else torch.contiguous_format
        x_there, w_there = (torch.from_numpy(a).contiguous(memory_format=memory) for a in (x, w))
        convolve, stride, padding = torch.nn.functional.conv2d, own.stride, own.padding

        def call():
            return convolve(x_there, w_there, stride=stride, padding=padding)

        return {"": Form(call, lambda: far(call().numpy()))}

    def of_numpy(threads: int) -> dict[str, Form]:
        """A product for each element of the filters, in the arrays' own type."""

        def call():
            return _sum_of_products(x, w, own)

        return {"": Form(call, lambda: far(call()))}

    return Problem(flops, {"ops": of_ops, "loops": of_loops, "torch": of_torch, "numpy": of_numpy})


def _sum_of_products(x: np.ndarray, w: np.ndarray, own: Layer) -> np.ndarray:
    """Computes the convolution (batch, filters, height, width) as one product for each element of the filters."""
    x = np.pad(x, ((0, 0), (0, 0), *((own.padding,) * 2 for _ in "HW")))
    y = np.zeros((own.batch, own.filters, own.result_size, own.result_size), x.dtype)
    last = own.stride * (own.result_size - 1) + 1
    for r in range(own.kernel):
        for s in range(own.kernel):
            seen = x[:, :, r : r + last : own.stride, s : s + last : own.stride]
            y += np.tensordot(seen, w[:, :, r, s], (1, 1)).transpose(0, 3, 1, 2)
    return y
