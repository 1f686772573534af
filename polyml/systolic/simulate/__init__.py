"""Kernels on systolic arrays, simulated register by register with real values."""

from polyml.systolic.simulate.call import ENGINES, Run, Simulation, simulate

__all__ = ["ENGINES", "Run", "Simulation", "simulate"]
