"""Functions that numba compiled for types of their own: what it makes of their arguments and of their result.

Python sees the result as a number of its own, and so does the text of the function the arguments here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml.dtypes import BOOL, BY_NUMPY_NAME, C128, F32, F64, DType

_GIVEN = {name: BY_NUMPY_NAME[name] for name in ("int8", "int16", "int32", "int64", "float64", "complex128")} | {"bool": BOOL}
_RETURNED = _GIVEN | {"float32": F32}


@dataclass(frozen=True)
class ArrayOf:
    """An ArrayOf is the type of an array in a signature.

    element: the type of its elements
    ndim: how many dimensions it has
    """

    element: DType
    ndim: int

    def __str__(self) -> str:
        return f"{self.element.name}[{', '.join(':' * self.ndim)}]"


@dataclass(frozen=True)
class NumbaSignature:
    """A NumbaSignature says for which types numba compiled a function.

    parameters: the type of each parameter
    result: the type of the result; None where it is None
    """

    parameters: tuple[DType | ArrayOf, ...]
    result: DType | None

    def __str__(self) -> str:
        return f"{_named(self.result)}({', '.join(map(_named, self.parameters))})"


def converts(value: object) -> bool:
    """Returns whether a function was compiled for types that its text does not say: numba's, with signatures or locals.

    Its result is not what its Python function gives: with the signature "i4(i8[:])" it is rounded to 32 bits.
    """
    if not hasattr(value, "py_func"):
        return False
    return getattr(value, "_can_compile", True) is False or bool(getattr(value, "locals", None))


def signature_of(value: object) -> NumbaSignature | None:
    """Returns the only signature of a function of numba's whose conversions are known; None for all other objects.

    Those of unsigned parameters and float32 ones are not, since numba computes with these in types that the text does not say, nor
    are those of arrays in a certain order, which the types of the language do not tell.
    """
    signatures = getattr(value, "nopython_signatures", None)
    if not converts(value) or getattr(value, "locals", None) or not isinstance(signatures, Sequence) or len(signatures) != 1:
        return None
    python = getattr(value, "py_func", None)
    parameters = tuple(map(_parameter, signatures[0].args))
    result = str(signatures[0].return_type)
    known = [each for each in parameters if each is not None]
    if len(known) < len(parameters) or result not in (*_RETURNED, "none") or getattr(python, "__defaults__", None):
        return None
    return NumbaSignature(tuple(known), _RETURNED.get(result))


def _parameter(kind: object) -> DType | ArrayOf | None:
    """Returns the type of a parameter by numba's object for it; None where its conversion is not known."""
    element = BY_NUMPY_NAME.get(str(getattr(kind, "dtype", "")))
    ndim, layout = getattr(kind, "ndim", None), getattr(kind, "layout", None)
    if isinstance(ndim, int):
        return ArrayOf(element, ndim) if element is not None and layout == "A" and ndim > 0 else None
    return _GIVEN.get(str(kind))


def _named(kind: DType | ArrayOf | None) -> str:
    return "none" if kind is None else str(kind) if isinstance(kind, ArrayOf) else kind.name


def is_exactly(value: object, kind: DType) -> bool:
    """Returns whether a constant is a number of Python's to which a parameter of this type changes nothing."""
    if type(value) is int:
        return kind.kind == "i" and kind.limits[0] <= value <= kind.limits[1]
    return type(value) is {F64: float, C128: complex, BOOL: bool}.get(kind)
