"""Functions that other packages wrote for numba, and arguments for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from numpy.random import Generator

Maker = Callable[[Generator, int], tuple]
"""Returns the arguments of a call, of a size that each function has for itself."""

SMALL = 24


@dataclass(frozen=True)
class Found:
    """A Found is a function of an installed package, as it stands there.

    distribution: what pip calls the package.
    module, name: where it is.
    arguments: makes its arguments.
    large: a size at which numba takes some milliseconds, or None where it takes less at every size.
    small: a size at which plain Python takes little time.
    """

    distribution: str
    module: str
    name: str
    arguments: Maker
    large: int | None = None
    small: int = SMALL

    @property
    def title(self) -> str:
        """Returns what the function is called in tables: its module and its name."""
        return f"{self.module}.{self.name}"

    def dispatcher(self) -> Callable:
        """Returns the function as its package has it: compiled by numba, with the Python function as `py_func`."""
        return getattr(import_module(self.module), self.name)


def of_module(distribution: str, module: str, makers: Mapping[str, tuple]) -> tuple[Found, ...]:
    """Returns the functions of a module, from the maker of each, its large size and its small one, of which the last may lack."""
    return tuple(Found(distribution, module, name, *about) for name, about in makers.items())


def vectors(count: int) -> Maker:
    """Returns a maker of vectors of float64 between 0 and 1."""
    return lambda rng, n: tuple(rng.random(n) for _ in range(count))


def bits(rng: Generator, n: int) -> tuple:
    """Returns two vectors of ones and zeros."""
    return tuple(rng.integers(0, 2, n).astype(float) for _ in range(2))
