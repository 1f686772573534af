"""Kernels on systolic arrays, simulated register by register with real values.

The door is `simulate`; its engines are `numpy_engine` and the folder `llvm`; `snapshots` are cycles of small cases, for pictures.
"""

from polyml.systolic.simulate.call import ENGINES, Run, Simulation, simulate

__all__ = ["ENGINES", "Run", "Simulation", "simulate"]
