"""A product of matrices in Triton, as its tutorial has it: one block of the result per program, in groups of rows."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

ROWS, COLUMNS, DEPTH, GROUP = 128, 128, 32, 8


@triton.jit
def _block(
    a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr
):
    number = tl.program_id(0)
    down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    group = number // (GROUP * across)
    first = group * GROUP
    height = tl.minimum(down - first, GROUP)
    row = first + (number % (GROUP * across)) % height
    column = (number % (GROUP * across)) // height
    i = row * ROWS + tl.arange(0, ROWS)
    j = column * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        at = start + tl.arange(0, DEPTH)
        left = tl.load(a + i[:, None] * k + at[None, :], mask=(i[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + j[None, :], mask=(at[:, None] < k) & (j[None, :] < n), other=0.0)
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
    tl.store(c + i[:, None] * n + j[None, :], sums, mask=(i[:, None] < m) & (j[None, :] < n))


def product(A: Any, B: Any, precision: str = "ieee") -> Any:
    """Returns A B as float32, of tensors of float32 or of halves. precision: "tf32" for operands of float32 that are rounded."""
    (m, k), n = A.shape, B.shape[1]
    C = torch.empty((m, n), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(m, ROWS) * triton.cdiv(n, COLUMNS),)
    _block[grid](A, B, C, m, n, k, ROWS, COLUMNS, DEPTH, GROUP, precision, num_warps=8, num_stages=3)
    return C
