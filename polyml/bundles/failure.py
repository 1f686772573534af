"""The bundle of a compilation that failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType

from polyml.bundles.bundle import SETTINGS, Bundle, BundledArgument
from polyml.bundles.captured import as_module, name_of
from polyml.config import Options
from polyml.errors import PolymlError
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.runtime.storage.cache_key import toolchain
from polyml.runtime.storage.size_classes import Sizes

SIZE = 20  # the length of a dimension of which nothing is known


@dataclass(frozen=True)
class FailedCompilation:
    """A failed compilation holds what the compiler was given when it failed.

    names, types: the names and types of the arguments.
    layouts: the layouts of the array arguments, each "C", "F" or "A".
    sizes: the sizes for which code was made; None: for all sizes.
    aliased: whether arguments share memory.
    """

    function: FunctionType
    names: Sequence[str]
    types: Sequence[ArgType]
    layouts: Sequence[str]
    sizes: Sizes | None
    aliased: bool
    options: Options


def of_failure(tried: FailedCompilation, problem: PolymlError) -> Bundle:
    """Returns a bundle: what is needed to repeat a failed compilation, as one file.

    problem: the error that the compiler raised.
    Raises OSError, TypeError or SyntaxError where the function's text cannot be found.
    """
    changed = {name: getattr(tried.options, name) for name in SETTINGS if getattr(tried.options, name) != getattr(Options(), name)}
    return Bundle(
        function=name_of(tried.function),
        source=as_module(tried.function),
        values=tuple(_values(tried)),
        settings=changed,
        error=type(problem).__name__,
        message=problem.message,
        versions=tuple(toolchain().splitlines()),
        shared=tried.aliased,
        stages=tuple(getattr(problem, "stages", ())),
    )


def _values(tried: FailedCompilation) -> Iterator[BundledArgument]:
    """Yields descriptions of arguments for which the same code is made as for those of the call that failed."""
    layouts = iter(tried.layouts)
    extents = {} if tried.sizes is None else dict(tried.sizes.extents or ())
    limits = {} if tried.sizes is None else dict(tried.sizes.limits)
    for name, type_ in zip(tried.names, tried.types, strict=True):
        if not isinstance(type_, ArrayType):
            element = type_.dtype.name if type_.dtype.weak else type_.dtype.numpy_name
            yield BundledArgument(name, element, None, number=type_.value)
            continue
        usual = tuple(min(SIZE, most) for _, most in limits.get(name, ())) or (SIZE,) * type_.ndim
        known = dict(type_.sizes)
        shape = tuple(known.get(dim, size) for dim, size in enumerate(extents.get(name, usual)))
        yield BundledArgument(name, type_.element.numpy_name, tuple(map(int, shape)), next(layouts, "C"))
