"""What a kernel is compiled to, stage by stage: k.lower and k.inspect_*."""

from __future__ import annotations

from collections.abc import Callable

from polyml import config
from polyml.api.calls.call_arguments import exact_types
from polyml.api.calls.specialisation import Request
from polyml.api.compiling.compile_lock import alone
from polyml.api.function import KernelFunction
from polyml.errors import PolymlTypeError, SizesNeeded
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.runtime.calling import arguments, signature
from polyml.runtime.storage.artifact import parse_type
from polyml.runtime.storage.size_classes import Sizes, sizes_of


class Inspected(KernelFunction):
    """The stages of a compilation for given arguments, or for their types."""

    def lower(self, *args_or_types):
        """Every stage of the compilation for these arguments (values, types, or texts such as "f64[:, :]").

        A pipeline.Compiled; nothing is taken from the disk cache.
        """
        options = config.resolve(self.settings)
        return self._of_these(
            args_or_types, lambda types, layouts, sizes: self._compile(Request(types, layouts, options, sizes=sizes))[0]
        )

    def inspect_domain(self, *args_or_types) -> str:
        """The statements' instances as text; of the last call's types where none are given. So the others."""
        return self._stage("domain", args_or_types)

    def inspect_deps(self, *args_or_types) -> str:
        """The dependences."""
        return self._stage("deps", args_or_types)

    def inspect_schedule(self, *args_or_types) -> str:
        """The schedule tree."""
        return self._stage("schedule", args_or_types)

    def inspect_ast(self, *args_or_types) -> str:
        """The loops that the schedule becomes."""
        return self._stage("ast", args_or_types)

    def inspect_llvm(self, *args_or_types) -> str:
        """LLVM's intermediate representation."""
        return self._stage("llvm", args_or_types)

    def inspect_asm(self, *args_or_types) -> str:
        """The processor's instructions."""
        return self._stage("asm", args_or_types)

    def _stage(self, stage: str, args_or_types: tuple) -> str:
        compiled = self.lower(*args_or_types)
        with alone():
            return compiled.stages[stage]()

    def _signature(self, args_or_types: tuple) -> tuple[tuple[ArgType, ...], tuple[str, ...], Sizes | None]:
        if not args_or_types:
            if self._last is None:
                raise PolymlTypeError(
                    f"{self.__name__} has not been called, so its argument types are not known",
                    notes=['pass arguments or types, as in "f64[:, :]"'],
                )
            last = self._last.request
            return last.types, last.layouts, last.sizes
        values = signature.bound(self.py_func, args_or_types, {})
        pairs = [self._type(name, value) for name, value in zip(self._names, values)]
        of_types = any(isinstance(value, (str, ArrayType, ScalarType)) for value in values)
        sizes = None if of_types else sizes_of(arguments.shapes(self._arguments(values)))
        return tuple(kind for kind, _ in pairs), tuple(layout for _, layout in pairs if layout), sizes

    def _of_these(self, args_or_types: tuple, make: Callable[[tuple[ArgType, ...], tuple[str, ...], Sizes | None], object]):
        """What is made for these types, layouts and sizes; where it is affine for given numbers alone, for those of the arguments."""
        types, layouts, sizes = self._signature(args_or_types)
        try:
            return make(types, layouts, sizes)
        except SizesNeeded:
            values = signature.bound(self.py_func, args_or_types, {}) if args_or_types else ()
            if not values or any(isinstance(value, (str, ArrayType, ScalarType)) for value in values):
                raise
            return make(exact_types(self._arguments(values)), layouts, sizes)

    def _type(self, name: str, value: object) -> tuple[ArgType, str]:
        if isinstance(value, str):
            try:
                value = parse_type(value)
            except ValueError as problem:
                raise PolymlTypeError(f"`{name}`: {problem}") from None
        if isinstance(value, (ArrayType, ScalarType)):
            return value, "C" if isinstance(value, ArrayType) else ""
        given = arguments.argument(name, value)
        return given.type, given.layout
