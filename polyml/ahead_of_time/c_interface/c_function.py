"""The function of a library as C programs see it: its parameters in order, with their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyml.ahead_of_time.c_interface.extent_code import renamed
from polyml.ahead_of_time.call_signature import CallSignature, LibraryArgument
from polyml.ahead_of_time.status_codes import StatusCode, codes
from polyml.dtypes import BY_NUMPY_NAME, DType
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArrayType
from polyml.model.core.call_interface import ArrayResult, returned
from polyml.reading.input_limits import shown
from polyml.runtime.storage.artifact import Artifact, ResultArray
from polyml.runtime.storage.records import CheckRecord

_TAKEN = frozenset(
    """
    alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await co_return
    co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t std NULL linux unix i386 main
    """.split()
)


@dataclass(frozen=True)
class OutParameter:
    """An OutParameter is a pointer through which a library's function gives back something that the kernel returns.

    name: in C.
    dtype: of an element, or of the number; complex where two parts make one number.
    array: the array; None for a number.
    """

    name: str
    dtype: DType
    array: ResultArray | None = None


@dataclass(frozen=True)
class CFunction:
    """A CFunction is the function of a library: its parameters in C are the kernel's, then `outs`, then the sizes.

    symbol: its name.
    signature: the kernel's parameters with their types, and the sizes.
    names: {parameter or size: its name in C}.
    written: the array parameters that are written.
    outs: what the kernel returns, except its own arguments.
    results: for each value that the kernel returns, the parameter that it is, or the position in `outs`.
    is_tuple: whether the kernel returns a tuple.
    codes: what the function returns; listed: the numbers of those that it may return.
    parameters: {parameter of the artifact: the integer of the call that it is, as text over parameters and sizes}.
    """

    symbol: str
    signature: CallSignature
    names: Mapping[str, str]
    written: frozenset[str]
    outs: tuple[OutParameter, ...]
    results: tuple[str | int, ...]
    is_tuple: bool
    codes: tuple[StatusCode, ...]
    listed: frozenset[int]
    parameters: Mapping[str, str]

    def extents(self, out: OutParameter) -> tuple[str, ...]:
        """Returns the extents of a result array, as texts over the names of parameters and sizes."""
        return () if out.array is None else tuple(renamed(each, self.parameters) for each in out.array.shape)


def symbol_of(name: str) -> str:
    """Returns a name if it can be that of a function in C and C++. Raises ConfigError if not."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or name in _TAKEN:
        raise ConfigError(f"{shown(name)} cannot be the name of a function in C and C++", notes=["--name gives it another one"])
    return name


def c_function(
    symbol: str, signature: CallSignature, artifact: Artifact, checks: Sequence[CheckRecord], failing: frozenset[int]
) -> CFunction:
    """Returns the function of a library that is made of an artifact.

    Raises ConfigError for a result that has tuples or lists in it, or whose size data decide.

    checks: the tests at entry of all forms of the kernel; failing: the numbers, from 1 on, of those that can fail.
    """
    fresh = {each.name: each for each in artifact.result_arrays}
    values = list(returned(artifact.results))
    if artifact.result_form:
        raise ConfigError(
            f"{shown(artifact.name)} returns tuples in a tuple, a shape, a list or a view",
            notes=["return numbers and arrays, or one tuple of them"],
        )
    if any(isinstance(value, ArrayResult) and value.sizes for value, *_ in values):
        raise ConfigError(
            f"{shown(artifact.name)} returns an array whose size data decide", notes=["give the function the array to fill"]
        )
    taken: set[str] = set()
    names = {n: _c_name(n, i, taken) for i, n in enumerate((*(a.name for a in signature.arguments), *signature.sizes))}
    outs: list[OutParameter] = []
    results: list[str | int] = []
    places: dict[str, int] = {}
    for number, (value, *imaginary) in enumerate(values):
        if isinstance(value, ArrayResult) and value.array not in fresh:
            results.append(value.array)
            continue
        if isinstance(value, ArrayResult) and value.array in places:
            results.append(places[value.array])
            continue
        name = _c_name("result" if len(values) == 1 else f"result_{number}", number, taken)
        results.append(len(outs))
        if isinstance(value, ArrayResult):
            places[value.array] = len(outs)
            array = fresh[value.array]
            outs.append(OutParameter(name, BY_NUMPY_NAME[array.element], array))
        else:
            outs.append(OutParameter(name, value.whole or value.dtype if imaginary else value.dtype))
    all_codes = codes(checks, bool(artifact.failures))
    return CFunction(
        symbol, signature, names, frozenset(artifact.written), tuple(outs), tuple(results), artifact.result_is_tuple,
        all_codes, frozenset(c.number for c in all_codes if c.number <= 0 or c.number in failing), _parameters(signature.arguments, artifact),
    )  # fmt: skip


def _parameters(arguments: Sequence[LibraryArgument], artifact: Artifact) -> dict[str, str]:
    """Returns {parameter of the artifact: a text over parameters and sizes}; the extremes of index arrays have none."""
    extents = {a.name: a.extents for a in arguments if isinstance(a.type, ArrayType)}
    return {
        p.name: (p.argument or p.name) if p.array is None else str(extents[p.array][p.dim])
        for p in artifact.parameters
        if p.is_size or p.is_number
    }


def _c_name(name: str, number: int, taken: set[str]) -> str:
    """Returns a name that C and C++ take and that is not in `taken`, to which it is added.

    number: stands in the name where `name` has other letters than C's.
    """
    made = name if re.fullmatch(r"\w+", name, re.ASCII) else f"argument_{number}"
    while made in _TAKEN or made in taken:
        made += "_"
    taken.add(made)
    return made
