"""What is timed: a kernel, its arguments at a size, how much work a call is, and the same by PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any  # tensors of PyTorch

import ml_dtypes
import numpy as np

from benchmarks.gpu import programs
from benchmarks.systolic import Layer, layers

Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A Case is one row of the table.

    kernel: the function; its first argument is the result.
    arguments: a function of a random generator that returns the others.
    result: the shape and the type of the result.
    work: operations or bytes of one call.
    unit: "TFLOP/s" or "GB/s".
    library: the same by PyTorch, a function of (torch, the arguments without the result) that returns a new result.
    reference: the same by NumPy in float64, where PyTorch does not compute it.
    tolerance: how far results may be from the reference, as a part of its largest number.
    tf32: whether operands may be rounded to 11 bits, by polyml and by the libraries.
    libraries: whether polyml lets cuBLAS compute large products.
    """

    name: str
    kernel: Callable[..., None]
    arguments: Callable[[Rng], tuple[np.ndarray, ...]]
    result: tuple[tuple[int, ...], Any]
    work: float
    unit: str
    library: Callable[..., Any]
    reference: Callable[..., np.ndarray]
    tolerance: float = 1e-5
    is_product: bool = field(default=False)
    tf32: bool = False
    libraries: bool = False


@dataclass(frozen=True)
class Sizes:
    """How large the cases are. products: rows of square products. rows: of softmax, layernorm and the stencil. pictures: of a batch.
    layers: how many convolutions, from the first one on.
    """

    products: tuple[int, ...]
    rows: tuple[tuple[int, int], ...]
    grids: tuple[int, ...]
    pictures: int
    layers: int


WHOLE = Sizes((4096, 8192, 4000), ((16384, 1024), (4096, 4096), (4093, 4099)), (8192, 8191), 32, 100)
SMALL = Sizes((256, 250), ((256, 128), (61, 67)), (256, 131), 1, 3)


def cases(sizes: Sizes) -> Iterator[Case]:
    """Yields all cases."""
    for n in sizes.products:
        yield _product("GEMM f32", programs.product, np.float32, n, 1e-4)
    for n in sizes.products:
        yield replace(_product("GEMM tf32", programs.product, np.float32, n, 2e-3), tf32=True)
    for n in sizes.products:
        yield _product("GEMM bf16", programs.product_of_halves, ml_dtypes.bfloat16, n, 1e-4)
    for n in sizes.products:
        yield replace(_product("GEMM f32, libraries=True", programs.product, np.float32, n, 1e-4), libraries=True)
    for n in sizes.products:
        yield replace(
            _product("GEMM bf16, libraries=True", programs.product_of_halves, ml_dtypes.bfloat16, n, 1e-4), libraries=True
        )
    for shape in sizes.rows:
        yield _rows("softmax", programs.softmax, shape, programs.softmax_by_numpy, lambda torch, x: torch.softmax(x, 1))
    for shape in sizes.rows:
        yield _rows("layernorm", programs.layernorm, shape, programs.layernorm_by_numpy, _layernorm, parameters=2)
    for n in sizes.grids:
        yield _rows("jacobi-2d sweep", programs.sweep, (n, n), programs.sweep_by_numpy, _sweep)
    for layer in layers()[: sizes.layers]:
        yield _convolution(layer, sizes.pictures)


def _product(name: str, kernel: Callable[..., None], kind: Any, n: int, tolerance: float) -> Case:
    def arguments(rng: Rng) -> tuple[np.ndarray, ...]:
        return tuple((rng.random((n, n), dtype=np.float32) - np.float32(0.5)).astype(kind) for _ in range(2))

    def library(torch: Any, A: Any, B: Any) -> Any:
        return torch.matmul(A, B)  # cuBLAS; of halves with a result of halves, which is less to write

    def reference(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return A.astype(float) @ B.astype(float)

    return Case(
        f"{name} {n}",
        kernel,
        arguments,
        ((n, n), np.float32),
        2.0 * n**3,
        "TFLOP/s",
        library,
        reference,
        tolerance,
        is_product=True,
    )


def _rows(
    name: str,
    kernel: Callable[..., None],
    shape: tuple[int, int],
    reference: Callable[..., np.ndarray],
    library: Callable[..., Any],
    parameters: int = 0,
) -> Case:
    """Returns a case that reads one matrix and writes another. parameters: how many vectors as long as a row it reads besides."""

    def arguments(rng: Rng) -> tuple[np.ndarray, ...]:
        return (rng.random(shape, dtype=np.float32), *(rng.random(shape[1], dtype=np.float32) for _ in range(parameters)))

    moved = 2 * 4 * shape[0] * shape[1]
    return Case(f"{name} {shape[0]} x {shape[1]}", kernel, arguments, (shape, np.float32), moved, "GB/s", library, reference)


def _layernorm(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
    return torch.nn.functional.layer_norm(x, (x.shape[1],), scale, shift, 1e-5)


def _sweep(torch: Any, A: Any) -> Any:
    B = torch.zeros_like(A)
    B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
    return B


def _convolution(layer: Layer, pictures: int) -> Case:
    """Returns a convolution of ResNet-50 on a batch of pictures, which are padded before."""
    picture, filters, results = layer.shapes
    shapes = ((pictures, *picture), filters)

    def arguments(rng: Rng) -> tuple[np.ndarray, ...]:
        return tuple(rng.random(shape, dtype=np.float32) - np.float32(0.5) for shape in shapes)

    def library(torch: Any, x: Any, w: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, stride=layer.stride)

    kernel = programs.convolution if layer.stride == 1 else programs.convolution_stride_2
    reference = partial(programs.convolution_by_numpy, stride=layer.stride)
    shape = (pictures, *results)
    work = 2.0 * _volume(shape) * layer.channels * layer.window**2
    return Case(f"ResNet-50 {layer.name}", kernel, arguments, (shape, np.float32), work, "TFLOP/s", library, reference, 1e-4)


def _volume(shape: Sequence[int]) -> float:
    return float(np.prod(shape, dtype=float))
