"""Which parts of launches a library computes where that is faster.

launch: C = A @ B; D = max(C, 0)   ->   the launch; or cuBLAS for C, and a launch for D
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyml.dtypes import F32
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.schedule.gpu.launch_plan import Traits, usual
from polyml.schedule.gpu.libraries.choice import LARGE
from polyml.schedule.gpu.libraries.matrix_products import parted
from polyml.schedule.gpu.libraries.products import MatrixProduct
from polyml.schedule.gpu.mapping import Mapped


def with_libraries(
    found: Sequence[Mapped], scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], device: Traits
) -> tuple[Mapped, ...]:
    """Returns the launches with products of matrices that cuBLAS may compute in their place, and with what is left of them then.

    reductions: updates whose order is free.
    """

    def with_library(each: Mapped) -> Mapped:
        parts = parted(each.nest, scop, reductions)
        if isinstance(parts, str):
            return replace(each, by_library=parts and f"not by cuBLAS: {parts}")
        rest = None if parts.rest is None else with_library(usual(parts.rest, scop, dependences, reductions, device))
        then = ", and the rest of it by another launch" if rest else ""
        told = f"by cuBLAS where its sums have at least {LARGE:,} terms together{then}"
        return replace(
            each, product=replace(parts.product, tf32=_is_rounded(parts.product, scop, device)), rest=rest, by_library=told
        )

    return tuple(map(with_library, found))


def _is_rounded(product: MatrixProduct, scop: Scop, device: Traits) -> bool:
    """Returns whether operands of float32 may be rounded to 11 bits, as the launch's matrix instructions would."""
    return scop.arrays[product.left.array].element == F32 and F32 in device.operands
