"""The predicted time of a kernel: its instructions, then the transfers of lines between levels, one after the other.

This is the execution-cache-memory model without overlap. Source: Stengel, Treibig, Hager and Wellein, "Quantifying Performance
Bottlenecks of Stencil Computations Using the Execution-Cache-Memory Model", ICS 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.codegen.ir.array_layout import Placed
from polyml.machines.descriptions import Cpu
from polyml.machines.roofline import Roofline
from polyml.performance.throughput import cycles
from polyml.performance.variants import Form


@dataclass(frozen=True)
class Prediction:
    """A Prediction is the estimated time of a kernel in one order of its instances, as the sum of its parts, in seconds.

    instructions: what they take where all data are in the first cache.
    moves: what transfers take, by the level that lines come from, the nearest first.
    """

    instructions: float
    moves: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """Returns the predicted time in seconds: the sum of that of instructions and that of transfers."""
        return self.instructions + sum(self.moves.values())


def prediction(
    form: Form, found: Roofline, sizes: Mapping[str, int], places: Mapping[str, Placed], machine: Cpu, threads: int
) -> Prediction | None:
    """Returns the estimated time of a kernel in one order of its instances; None where the machine's rates are not known.

    found: the kernel's roofline, which has the times of transfers.
    sizes: the values of the kernel's parameters.
    places: the address of each array in memory.
    """
    clock = machine.frequency_hz.of(threads, machine.parts)
    moves = {roof.place: roof.seconds for roof in found.traffic if roof.seconds is not None}
    if clock is None or len(moves) < len(found.traffic):
        return None
    counted = cycles(form.program, sizes, places, machine.machine.vector_bytes)
    return Prediction(counted.on(threads) / clock.value, moves)
