"""How long a form should take: its instructions, then the lines that move between levels, one after the other (the
execution-cache-memory model without overlap: Stengel, Treibig, Hager and Wellein, "Quantifying performance bottlenecks of stencil
computations using the execution-cache-memory model", ICS 2015).
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
    """Seconds. instructions: where all data are in the first cache. moves: by the place that lines come from, nearest first."""

    instructions: float
    moves: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return self.instructions + sum(self.moves.values())


def prediction(
    form: Form, found: Roofline, sizes: Mapping[str, int], places: Mapping[str, Placed], machine: Cpu, threads: int
) -> Prediction | None:
    """An estimate; None where the machine's rates are not known."""
    clock = machine.frequency_hz.of(threads, machine.parts)
    moves = {roof.place: roof.seconds for roof in found.traffic if roof.seconds is not None}
    if clock is None or len(moves) < len(found.traffic):
        return None
    counted = cycles(form.program, sizes, places, machine.machine.vector_bytes)
    return Prediction(counted.on(threads) / clock.value, moves)
