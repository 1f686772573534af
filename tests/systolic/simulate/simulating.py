"""Calls of kernels on arrays, against what plain Python gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.systolic.mapping.dataflows import Plan, plans
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.recurrences.nests import nests
from polyml.systolic.simulate.call import ArraySimulation, run
from tests.model.modelling import model_for, sizes_of


class Simulated:
    """A function's nests, for arguments like these."""

    def __init__(self, function, args: Sequence[object], links: str = "manhattan"):
        self.function = function
        self.scop = expand(model_for(function, args))
        self.dependences = dependences(self.scop)
        self.sizes = sizes_of(self.scop, args)
        self.nests = nests(self.scop, self.dependences, reductions(self.scop, self.dependences), links)

    @property
    def interface(self) -> NestInterface:
        return NestInterface(self.scop, self.dependences, self.nests, self.sizes)

    def plans(self, shape: Sequence[int], links: str = "manhattan", dataflow: str = "all") -> Iterator[list[Plan]]:
        """One of each nest; each of those of the first nest, with the best ones of the others."""
        first, *others = [plans(nest, self.sizes, shape, links, dataflow) for nest in self.nests]
        for plan in first:
            yield [plan, *(found[0] for found in others)]

    def run(self, args: Sequence[object], chosen: Sequence[Plan], engine: str) -> tuple[ArraySimulation, list[object]]:
        """On copies of the arguments, which come back."""
        own = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        return run(self.scop, self.dependences, dict(zip(self.scop.params, own)), chosen, engine), own


def expected(function, args: Sequence[object]) -> tuple[object, list[object]]:
    """What Python makes of copies of the arguments."""
    own = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    with np.errstate(all="ignore"):
        return function(*own), own


def filled(args: Sequence[object], kind: type = np.int64, seed: int = 0) -> list[object]:
    """Arrays like these with random numbers: integers small enough for every sum of products."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-9, 10, arg.shape).astype(kind) if isinstance(arg, np.ndarray) else arg for arg in args]
