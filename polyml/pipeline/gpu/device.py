"""What code for GPUs depends on besides the kernel: the language, how the device runs a block, and how exact products have to be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from polyml.codegen.gpu.block_loops.shared_work import PLAIN, Instructions
from polyml.dtypes import F32, HALVES, DType
from polyml.pipeline.stages import Model
from polyml.schedule.gpu.launch_plan import Traits


@dataclass(frozen=True)
class Device:
    """A Device is what launches are made for.

    dialect: "opencl" or "cuda".
    in_turn: whether the device runs the threads of a block one after another, as a processor does.
    tf32: whether products of float32 may round their operands to 11 bits, which CUDA's matrix instructions do.
    libraries: whether libraries may compute parts of launches.
    """

    dialect: str
    in_turn: bool = False
    tf32: bool = False
    libraries: bool = False

    @property
    def operands(self) -> Collection[DType]:
        """The types of elements whose products are for matrix instructions."""
        return (*HALVES, F32) if self.tf32 and self.dialect == "cuda" else HALVES

    @property
    def traits(self) -> Traits:
        """What plans of launches depend on."""
        return Traits(self.in_turn, self.operands)

    def instructions(self, model: Model) -> Instructions:
        """Returns the instructions that launches for a kernel may use and that not all devices have."""
        if self.dialect != "cuda":
            return PLAIN
        return Instructions(model.reductions, self.operands, copies=True, vectors=True)
