"""What code for GPUs depends on besides the kernel: the language, and how the device runs a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.model.core.reductions import Reduction
from polyml.pipeline.stages import Model


@dataclass(frozen=True)
class Device:
    """A Device is what launches are made for.

    dialect: "opencl" or "cuda".
    in_turn: whether the device runs the threads of a block one after another, as a processor does.
    """

    dialect: str
    in_turn: bool = False

    def sums(self, model: Model) -> Mapping[str, Reduction]:
        """Returns the updates of a kernel that the device may do with matrix instructions, by the names of their statements."""
        return model.reductions if self.dialect == "cuda" else {}
