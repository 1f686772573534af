"""What code for GPUs depends on besides the kernel: the language, and how the device runs a block."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.codegen.gpu.block_loops.shared_work import PLAIN, Instructions
from polyml.pipeline.stages import Model


@dataclass(frozen=True)
class Device:
    """A Device is what launches are made for.

    dialect: "opencl" or "cuda".
    in_turn: whether the device runs the threads of a block one after another, as a processor does.
    """

    dialect: str
    in_turn: bool = False

    def instructions(self, model: Model) -> Instructions:
        """Returns the instructions that launches for a kernel may use and that not all devices have."""
        return Instructions(model.reductions, copies=True, vectors=True) if self.dialect == "cuda" else PLAIN
