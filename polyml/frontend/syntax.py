"""The grammar of the accepted language, on one page.

    kernel  = Kernel(name, params, body)
    stmt    = For | If | Assign | Alloc | Require | Return
    expr    = Const | Name | Shape | Subscript | Unary | Binary | Compare | Logical | IfExp | Call | Cast
    arrays  = Part | Function, and a Name or a Subscript that stands for an array

`frontend.parsing.parse` builds it from Python; `frontend.arrays.lower` turns array expressions into loops over elements as soon as
the ranks of the arguments are known; `frontend.interpreter` gives what is left its meaning; `frontend.types.infer` fills
`dtype` in and makes conversions explicit as `Cast` (both on the same classes, so that a typed kernel prints as an
untyped one does). Locations are not part of identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union, cast

from polyml.dtypes import DType
from polyml.source import Loc, Source

_UNTYPED = cast(DType, None)  # stands until inference has run, and all that reads a type comes after it


@dataclass(frozen=True)
class Located:
    """A piece of a kernel. loc: where it was written, None of what the compiler made."""

    loc: Loc | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Expr(Located):
    """An expression is one of the nodes below, or a leaf that `model` puts in the place of names and elements.

    dtype: the type of its value, None until `frontend.types.infer` has filled it in.
    """

    dtype: DType = field(default=_UNTYPED, kw_only=True)


@dataclass(frozen=True)
class Const(Expr):
    """A literal, a captured global, or a closure value: int, float, complex, bool, or a NumPy scalar."""

    value: Any  # one of those: which operations it has, dtype says and not Python's type


@dataclass(frozen=True)
class Name(Expr):
    """A loop variable, a local scalar, or a scalar argument."""

    name: str


@dataclass(frozen=True)
class Shape(Expr):
    """`array.shape[dim]` of an argument or a local array; dim is not negative once typed.

    ndim: the number of dimensions the array must have (`n, m = A.shape`), None where any will do; type inference
    checks it.
    """

    array: str
    dim: int
    ndim: int | None = None


@dataclass(frozen=True)
class Subscript(Expr):
    """One element `array[indices]`; `A[i][j]` is the same as `A[i, j]`, but for arrays as indices.

    inside: made by `arrays` such that the indices are not negative and inside the array. apart: written `A[i][j]`.
    part: "real" or "imag", of a complex element, "" for all of it; of a real element "real" is the element.
    """

    array: str
    indices: tuple[Expr, ...]
    part: str = field(default="", kw_only=True)
    inside: bool = field(default=False, kw_only=True)
    apart: bool = field(default=False, kw_only=True, compare=False)


@dataclass(frozen=True)
class Unary(Expr):
    """op: "-" "+" "~" "not"."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """op: "+" "-" "*" "/" "//" "%" "**" "&" "|" "^" "<<" ">>" "min" "max" (Python's rules: // and % floor).

    "min" and "max" are Python's builtins on two operands: `min(a, b)` is b if b < a else a, `max(a, b)` is b if b > a
    else a.
    np.minimum and np.maximum, which propagate NaN, are Calls.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """op: "<" "<=" ">" ">=" "==" "!="; a chain a < b < c is a Logical "and" of two."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logical(Expr):
    """op: "and" "or", on truth values."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class IfExp(Expr):
    """`then if condition else orelse`."""

    condition: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A function of numbers, by its NumPy name whichever module it came from.

    Of one operand: sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
    arccosh arctanh floor ceil trunc rint abs fabs sign erf cbrt isnan isinf isfinite reciprocal square real imag conj;
    of two: pow arctan2 hypot fmod minimum maximum fmin fmax copysign complex. Untyped there are also those of
    `functions.OPERATORS` and COMPARISONS, deg2rad and rad2deg, angle and round, where and clip of three, wide, which makes
    halves float32, inexact, which makes integers float64, norm, the square of the absolute value, and, for their type
    alone, matmul and einsum.
    `module` tells NumPy's rules ("numpy") from those of math, which takes and gives Python floats ("math"), of the
    builtin abs ("builtins") and of A.conj() ("method"). Once typed it is always "numpy", all operands have the type of
    the result (of isnan, isinf and isfinite: of a float; real, imag and abs of a complex number and complex are not of
    its type), pow is Binary "**" and fabs is abs; only abs, sign, minimum and maximum also take integers.
    """

    function: str
    args: tuple[Expr, ...]
    module: str = "numpy"


@dataclass(frozen=True)
class Cast(Expr):
    """Conversion to `to` as NumPy's astype does. Written np.float32(x), float(x), int(x), or made by type inference.

    Once typed: never to BOOL (a Compare with zero stands there). From PYINT to a narrower integer type or U64, and
    from a float or U64 to PYINT, a value that does not fit raises OverflowError; between fixed types it wraps.
    implicit: made by type inference (a promotion, or the conversion that storing into an element does).
    """

    operand: Expr
    to: DType
    implicit: bool = False


@dataclass(frozen=True)
class Slice(Located):
    """`start:stop:step` in the subscripts of a Part; step is a non-zero integer constant."""

    start: Expr | None
    stop: Expr | None
    step: int = 1


@dataclass(frozen=True)
class NewAxis:
    """`None` in the subscripts of a Part."""


@dataclass(frozen=True)
class Dots:
    """`...` in the subscripts of a Part."""


@dataclass(frozen=True)
class Part(Expr):
    """`base[indices]` where an index is a slice, None or ..., or where base is not an array's name."""

    base: Expr
    indices: tuple[Expr | Slice | NewAxis | Dots, ...]


@dataclass(frozen=True)
class Function(Expr):
    """A function of whole arrays by its NumPy name, whichever way it is written: np.sum(A, axis=0), A.sum(0), A.T, a @ b.

    options: what else was given, by the name of the parameter: constants of Python, or a DType.
    """

    function: str
    args: tuple[Expr, ...]
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class For(Located):
    """`for var in range(start, stop, step)`; step is a non-zero integer constant."""

    var: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class If(Located):
    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


Target = Union[Name, Subscript, Part]  # of an assignment: a local number, an element, an array or a part of one


@dataclass(frozen=True)
class Assign(Located):
    """`target = value`. `t op= v` arrives as `t = t op v`; `a = b = v` as one Assign per target through a temporary.

    in_place: it was written `t op= v`, which changes an array instead of making a new one, and whose result must be of
    the array's kind. whole: one element of a whole array that is stored, which NumPy converts as astype does (but for a
    Python number). same_type: of a new array that is stored where the old one of its name was, and so has to be of its type.
    """

    target: Target
    value: Expr
    in_place: bool = False
    whole: bool = False
    same_type: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """The shape or the element type of another array: np.zeros_like(A), np.zeros(A.shape), A.dtype. Untyped only."""

    array: str


@dataclass(frozen=True)
class TypeOf(Located):
    """The element type that `function` makes of the type of a number: "" the same, "truth" bool, "sum" and "mean" NumPy's,
    "wide sum" and "wide mean" with float32 for halves.

    Untyped only.
    """

    of: Expr
    function: str = ""


@dataclass(frozen=True)
class Require(Located):
    """The condition holds in every call that is compiled; others run as Python. what: what does not hold otherwise."""

    condition: Expr
    what: str


@dataclass(frozen=True)
class Alloc(Located):
    """`name = np.zeros(shape, dtype)` and its kin. fill None means np.empty.

    Each Alloc of a kernel has a name of its own (parse renames a second allocation under the same name).
    Once typed, shape is a tuple and element a DType; before, element None stands for the type of `fill` (np.full
    without dtype).
    """

    name: str
    shape: tuple[Expr, ...] | Like
    element: DType | Like | TypeOf | None
    fill: Expr | None

    @property
    def extents(self) -> tuple[Expr, ...]:
        """The sizes of its dimensions, once typed."""
        if isinstance(self.shape, Like):
            raise TypeError(f"the shape of `{self.name}` is not known before inference")
        return self.shape

    @property
    def dtype(self) -> DType:
        """The type of its elements, once typed."""
        if not isinstance(self.element, DType):
            raise TypeError(f"the element type of `{self.name}` is not known before inference")
        return self.element


@dataclass(frozen=True)
class Return(Located):
    """Only as the last statement of the kernel. values: Name of a scalar, an array (argument or local), or any Expr.

    is_tuple: `return a, b` or `return (a,)`, against `return a`. `return` and `return None` have no values, no tuple.
    python: once typed, one per value: a Python number is returned, not a NumPy scalar (False for an array).
    """

    values: tuple[Expr | ArrayName, ...]
    is_tuple: bool
    python: tuple[bool, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class ArrayName(Expr):
    """A whole array, where one may stand: only in Return."""

    name: str


Stmt = Union[For, If, Assign, Alloc, Require, Return]


@dataclass(frozen=True)
class ArrayType:
    """An array argument: element type and number of dimensions (0 allowed). sizes: (dimension, size) where known."""

    element: DType
    ndim: int
    sizes: frozenset[tuple[int, int]] = frozenset()

    def __str__(self) -> str:
        known = dict(self.sizes)
        return f"{self.element}[{', '.join(str(known.get(dim, ':')) for dim in range(self.ndim))}]"


@dataclass(frozen=True)
class ScalarType:
    """A number argument: PYINT, PYFLOAT, PYCOMPLEX, PYBOOL for Python's, a fixed type for a NumPy scalar. value: if it is known."""

    dtype: DType
    value: int | None = None

    def __str__(self) -> str:
        return str(self.dtype) if self.value is None else f"{self.dtype}={self.value}"


ArgType = Union[ArrayType, ScalarType]


@dataclass(frozen=True)
class Param(Located):
    name: str


@dataclass(frozen=True)
class Kernel:
    """One function.

    types: one per parameter once typed, else ().
    scalars: the dtype of each local scalar once typed, name -> DType (a name used twice was renamed `x.1`, `x.2`).
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    source: Source = field(compare=False, repr=False)
    types: tuple[ArgType, ...] = ()
    scalars: tuple[tuple[str, DType], ...] = ()
