"""Whether two stages are the same, more strictly than `==`: types of values too, and isl's objects by the sets that they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

import islpy as isl
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


def differences(one: object, other: object) -> list[str]:
    """Where two values differ, each difference with the way to it; [] for equal ones.

    Fields that are not part of equality (locations) may differ. Parts that a value shares are compared once.
    """
    return list(_different(one, other, "", {}))


def _different(one: object, other: object, way: str, seen: dict[tuple[int, int], tuple]) -> Iterator[str]:
    if (id(one), id(other)) in seen:
        return
    seen[id(one), id(other)] = (one, other)  # kept, so that no other object gets the identity
    if type(one) is not type(other):
        yield f"{way}: {one!r} is a {type(one).__name__}, {other!r} a {type(other).__name__}"
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if field.compare:
                yield from _different(getattr(one, field.name), getattr(other, field.name), f"{way}.{field.name}", seen)
    elif isinstance(one, Mapping):
        if list(one) != list(other):
            yield f"{way}: keys {list(one)} and {list(other)}"
            return
        for key in one:
            yield from _different(one[key], other[key], f"{way}[{key!r}]", seen)
    elif isinstance(one, (tuple, list)):
        if len(one) != len(other):
            yield f"{way}: {len(one)} and {len(other)} items"
        for number, (a, b) in enumerate(zip(one, other)):
            yield from _different(a, b, f"{way}[{number}]", seen)
    elif not _same(one, other):
        yield f"{way}: {one!r} and {other!r}"


def _same(one: object, other: object) -> bool:
    """Of two values of one type that have no parts."""
    if isinstance(one, isl.Schedule):
        return one.plain_is_equal(other) or isl.Schedule(str(one)).plain_is_equal(isl.Schedule(str(other)))
    if isinstance(one, isl.PwAff):
        return _parameters(one) == _parameters(other) and (one.plain_is_equal(other) or one.is_equal(other))
    if isinstance(one, (isl.Set, isl.Map)):
        return _parameters(one) == _parameters(other) and one.get_space().is_equal(other.get_space()) and one.is_equal(other)
    if isinstance(one, (float, complex, np.generic)):
        return repr(one) == repr(other)
    if isinstance(one, (str, int, bool, type(None), frozenset, Enum)):
        return one == other
    raise TypeError(f"{type(one)} has no comparison here")


def _parameters(value: isl.Set | isl.Map | isl.PwAff) -> tuple[str, ...]:
    """In their order: code names what it computes by it."""
    return tuple(value.get_space().get_dim_name(isl.dim_type.param, n) for n in range(value.dim(isl.dim_type.param)))


@dataclasses.dataclass(frozen=True)
class Subject:
    """A function and arguments of a call, whose stages are read back from their texts."""

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
