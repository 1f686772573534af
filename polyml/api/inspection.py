"""What a kernel is compiled to, stage by stage: `lower` and `inspect_*`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from polyml import config
from polyml.api.calls.call_arguments import exact_types
from polyml.api.calls.specialisation import Request
from polyml.api.compiling.compile_lock import alone
from polyml.api.function import KernelFunction
from polyml.api.inspecting.texts import DependenceText, StageText
from polyml.errors import PolymlTypeError, SizesNeeded
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.runtime.calling import arguments, signature
from polyml.runtime.storage.records import parse_type
from polyml.runtime.storage.size_classes import Sizes, sizes_of

if TYPE_CHECKING:
    from polyml.api.inspecting.model import KernelModel


class Inspected(KernelFunction):
    """The part of `Kernel` whose methods return what each stage of the compiler makes of the function."""

    def lower(self, *args_or_types):
        """Compiles the function and returns what every stage made, as a `pipeline.compile.Compiled`. The disk cache is not used.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> list(double.lower("f64[:]").stages)
        ['kernel', 'domain', 'deps', 'schedule', 'ast', 'llvm', 'asm']
        """
        if self._with_last is not None and not args_or_types:
            return self._with_last.lower()
        options = config.resolve(self.settings)
        return self._of_these(
            args_or_types, lambda types, layouts, sizes: self._compile(Request(types, layouts, options, sizes=sizes))[0]
        )

    def model(self, *args_or_types) -> KernelModel:
        """Returns the model of the function as isl objects: domain, accesses, dependences, source order and schedule.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def prefix_sums(A):
        ...     for i in range(1, A.shape[0]):
        ...         A[i] += A[i - 1]
        >>> model = prefix_sums.model("f64[:]")
        >>> print(model.domain)
        [A_0] -> { S0[i] : 0 < i < A_0 }
        >>> print(model.dependences, model.parameters)
        [A_0] -> { S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + A_0 } {'A_0': 'A.shape[0]'}
        """
        compiled = self.lower(*args_or_types)
        with alone():
            from polyml.api.inspecting.model import model_of

            return model_of(compiled)

    def inspect_domain(self, *args_or_types) -> StageText:
        """Returns the text of the statements, with the set of their instances { S[i] } and their accesses { S[i] -> A[i] }.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> print(double.inspect_domain("f64[:]"))
        kernel double(A: f64[:])
        ...
            domain  { S0[i] : 0 <= i < A_0 }
            write   { S0[i] -> A[i] }
        ...
        """
        return self._stage("domain", args_or_types)

    def inspect_deps(self, *args_or_types) -> DependenceText:
        """Returns the text of the direct dependences { S[i] -> S[i'] }, one line for each pair of references, with `dependences`, the
        same as values. A dependence is direct if no third access to the element lies between; all others follow.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def prefix_sums(A):
        ...     for i in range(1, A.shape[0]):
        ...         A[i] += A[i - 1]
        >>> print(prefix_sums.inspect_deps("f64[:]"))
        kind    source -> sink, in ...; distance and direction in the loops of both
        flow    S0 A[i] line 4 -> S0 A[i - 1] line 4  (1)  (<)
                S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + A_0
        anti    none
        output  none
        """
        compiled = self.lower(*args_or_types)
        with alone():
            from polyml.model.references.text import found

            return DependenceText(found(compiled.scop))

    def inspect_schedule(self, *args_or_types) -> StageText:
        """Returns the text of the schedule tree, in isl's notation.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def prefix_sums(A):
        ...     for i in range(1, A.shape[0]):
        ...         A[i] += A[i - 1]
        >>> print(prefix_sums.inspect_schedule("f64[:]"))
        domain: "[A_0] -> { S0[i] : 0 < i < A_0 }"
        child:
          schedule: "[A_0] -> [{ S0[i] -> [(i)] }]"
        """
        return self._stage("schedule", args_or_types)

    def inspect_ast(self, *args_or_types) -> StageText:
        """Returns the text of the loops that are generated from the schedule.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel(vectorize=False, parallel=False)
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> print(double.inspect_ast("f64[:]"))
        def double(A):
            A_0 = A.shape[0]
            for c0 in range(0, A_0):
                A[c0] = A[c0]*2.0  # S0
        """
        return self._stage("ast", args_or_types)

    def inspect_llvm(self, *args_or_types) -> StageText:
        """Returns the text of LLVM's intermediate representation of the kernel.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> "define i64 @polyml_kernel(ptr noalias %slots)" in double.inspect_llvm("f64[:]")
        True
        """
        return self._stage("llvm", args_or_types)

    def inspect_asm(self, *args_or_types) -> StageText:
        """Returns the assembly text of the kernel for this processor.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> "polyml_kernel:" in double.inspect_asm("f64[:]")
        True
        """
        return self._stage("asm", args_or_types)

    def _stage(self, stage: str, args_or_types: tuple) -> StageText:
        compiled = self.lower(*args_or_types)
        with alone():
            return StageText(compiled.stages[stage]())

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
        """Calls `make` with the types, layouts and sizes of the arguments, and returns its result.

        args_or_types: arguments, types or texts, as for `lower`.

        Where the function can be compiled only for known array sizes and values of ints, the types that `make` gets include these.
        """
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
