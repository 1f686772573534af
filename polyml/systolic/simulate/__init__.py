"""Kernels on systolic arrays, simulated register by register with real values.

The door is `simulate`. Its engines are `numpy_engine` and the folder `llvm`; `snapshots` are the cycles of small cases, for
pictures.
"""

from polyml.systolic.simulate.call import ENGINES, ArraySimulation, NestRun, simulate

__all__ = ["ENGINES", "ArraySimulation", "NestRun", "simulate"]
