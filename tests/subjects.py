"""Functions with arguments of a call, for tests that take many programs through a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from polyml import kernels
from polyml.errors import LanguageError, PolymlOverflowError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type, with_ones
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.kernels import arrays as array_kernels
from tests.arrays.corpus import corpus
from tests.fuzz.generate import program
from tests.fuzz.program import function as fuzzed_function
from tests.fuzz.program import make_arguments


@dataclass(frozen=True)
class Subject:
    """A function and arguments of a call."""

    name: str
    function: Callable
    arguments: tuple

    def kernel(self) -> syntax.Kernel:
        return parse(self.function)

    def typed(self) -> syntax.Kernel | None:
        """None where type inference refuses it."""
        try:
            return infer(self.kernel(), tuple(with_ones(arg_type(value), value) for value in self.arguments))
        except (LanguageError, PolymlTypeError, PolymlOverflowError):
            return None


def written_kernels() -> list[Subject]:
    """PolyBench's kernels."""
    loaded = map(kernels.load, kernels.NAMES)
    rng = np.random.default_rng(1)
    return [Subject(k.name, k.kernel.py_func, tuple(k.inputs(k.sizes["MINI"], rng, k.dtype).values())) for k in loaded]


def array_programs() -> list[Subject]:
    """Those in files, and the corpus."""
    workloads = [Subject(name, each.function, tuple(each.arguments("SMALL"))) for name, each in array_kernels.workloads().items()]
    return [*workloads, *(Subject(each.name, each.function, each.arguments) for each in corpus())]


def random_programs(seeds: Iterable[int]) -> list[Subject]:
    """Loop nests that the fuzzer writes for these seeds."""
    made = {seed: program(seed) for seed in seeds}
    return [Subject(f"random {seed}", fuzzed_function(each), tuple(make_arguments(each, 0))) for seed, each in made.items()]
