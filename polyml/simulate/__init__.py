"""Kernels on systolic arrays, simulated register by register with real values."""

from polyml.simulate.simulation import ENGINES, Run, Simulation, simulate

__all__ = ["ENGINES", "Run", "Simulation", "simulate"]
