"""The grammar of the accepted language, on one page.

    kernel  = Kernel(name, params, body)
    stmt    = For | While | If | Block | Leave | Raise | Assign | Alloc | Require | Return
    expr    = Const | Name | Shape | Subscript | Unary | Binary | Compare | Logical | IfExp | Call | Cast
    arrays  = Part | Function, and a Name or a Subscript that stands for an array

`frontend.parsing.parse` builds it from Python; `frontend.arrays.lower` turns array expressions into loops over elements as soon as
the ranks of the arguments are known; `frontend.interpreter` gives what is left its meaning; `frontend.types.infer` fills `dtype` in and
makes conversions explicit as `Cast`. Typed and untyped kernels have the same classes. Locations are not part of a node's identity.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Union, cast

from polyml.dtypes import DType
from polyml.source import Loc, Source

_UNTYPED = cast(DType, None)  # until inference has run; whatever reads a type runs after it


@dataclass(frozen=True)
class Located:
    """A Located is a node of a kernel's syntax, which stands at `loc` in the text; None if the compiler made it."""

    loc: Loc | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Expr(Located):
    """An Expr is one of the expressions of `syntax`, or a node that `model` puts in the place of names and elements of arrays.

    dtype: the type of its value, None until `frontend.types.infer` has filled it in
    """

    dtype: DType = field(default=_UNTYPED, kw_only=True)


@dataclass(frozen=True)
class Const(Expr):
    """A Const is a number that is a literal, a captured global or a closure value: int, float, complex, bool, or a NumPy scalar."""

    value: Any  # Any of those; dtype says which operations it has


@dataclass(frozen=True)
class Name(Expr):
    """A Name is a loop variable, a local scalar or a scalar argument; before arrays are lowered, also an array."""

    name: str


@dataclass(frozen=True)
class Shape(Expr):
    """A Shape is `array.shape[dim]` of an argument or a local array.

    dim: the dimension; it is not negative once typed
    ndim: how many dimensions the array must have, as `n, m = A.shape` asks, which type inference checks; None where it may
        have any number
    """

    array: str
    dim: int
    ndim: int | None = None


@dataclass(frozen=True)
class Subscript(Expr):
    """A Subscript is one element `array[indices]`. `A[i][j]` is the same as `A[i, j]`, except where arrays are indices.

    part: "real" or "imag" of a complex element, "" for all of it; of a real element "real" is the element
    inside: whether the indices are known to be inside the array and not negative, as those that `frontend.arrays` makes are
    chained: whether it was written `A[i][j]`
    """

    array: str
    indices: tuple[Expr, ...]
    part: str = field(default="", kw_only=True)
    inside: bool = field(default=False, kw_only=True)
    chained: bool = field(default=False, kw_only=True, compare=False)


@dataclass(frozen=True)
class Unary(Expr):
    """A Unary is an operator on one operand. op: - + ~ not"""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """A Binary is an operator on two operands, by Python's rules: // and % floor.

    op: + - * / // % ** & | ^ << >> min max. The last two are Python's builtins: `min(a, b)` is b if b < a else a, `max(a, b)` is b
        if b > a else a. np.minimum and np.maximum, which propagate NaN, are Calls.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """A Compare is one comparison of two numbers; a chain a < b < c is a Logical of two. op: < <= > >= == !="""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logical(Expr):
    """A Logical is `and` or `or` of two or more operands, of which only those needed are evaluated. op: and or"""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class IfExp(Expr):
    """An IfExp is the conditional expression `then if condition else orelse`."""

    condition: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A Call is a function of numbers, by its NumPy name whichever module it came from.

    The functions are those of `elementwise_functions.UNARY` and BINARY (power is named pow), and erf, erfc, tgamma, lgamma,
    real, imag and complex.
    Before types are inferred there are also: angle, round, where and clip (of three operands), wide (it converts float16 and
    bfloat16 to float32), inexact (it converts integers to float64), index and position (they take an integer and give a Python int,
    position that of a subscript), item, intp and double (they convert to a Python int and float what NumPy converts safely), float64 (it
    converts to a Python float what NumPy computes with in float64), norm (the
    square of the absolute value), least and greatest (the limits of the operand's type), and matmul and einsum, which only stand for a
    type. Two have an operand more, a NumPy scalar of which the type counts: converted (it converts as C does, and gives a number of
    Python's, as numba makes of numbers at its signatures) and of_type (true; type inference refuses operands of other types).

    element_type(A[0], x), the condition of a Require, is true; it says that the elements of A have the type of x.
    bound(f, x) is x; it raises UnboundLocalError where f is false, since nothing was assigned to x. unset() is what x is then.
    position(i, size, dim) is a subscript of dimension number `dim`, which has that size, counted from its start; it raises IndexError.
    allocate(n) is the address of memory for n bytes, and release(a) zero, behind which the memory at the address a, if that is not zero, is
    given back; reallocate(a, k, n) does both, behind a copy of k bytes. All stand in regions alone. behind(n), the subscript of an element
    that is stored, is n, for which a list makes room.

    In typed kernels there is no pow, but a Binary "**", and no fabs, but abs; the functions of `elementwise_functions.OPERATORS`
    and COMPARISONS, and conversions of angles, have become operators. All operands have the type of the result, except those of
    `elementwise_functions.TESTS`, which are floats, and those of complex and of real, imag and abs of a complex number. Only abs,
    sign, minimum and maximum also take integers.

    module: whose rules it follows: "numpy"; "math", whose functions take and give Python floats; "cmath", whose are of
        Python's complex numbers; "builtins" for abs and index; "scipy"
        for those of scipy.special; "method" for A.conj(). It is always "numpy" once typed.
    """

    function: str
    args: tuple[Expr, ...]
    module: str = "numpy"


def unbound_text(read: Call) -> str:
    """Returns what Python says where a name is read that has no value. read: a call of bound"""
    value = read.args[1]
    name = value.name.partition(".")[0] if isinstance(value, Name) else read.loc.text if read.loc is not None else "a name"
    if sys.version_info >= (3, 11):
        return f"cannot access local variable '{name}' where it is not associated with a value"
    return f"local variable '{name}' referenced before assignment"


@dataclass(frozen=True)
class Cast(Expr):
    """A Cast is a conversion as NumPy's astype does it, written np.float32(x), float(x), int(x), or made by type inference.

    In a typed kernel none is to BOOL, since a Compare with zero stands there. A conversion from PYINT to a narrower integer type or
    U64, or from a float or U64 to PYINT, raises OverflowError for a value that does not fit; between NumPy's types values wrap.

    to: the type of the result
    implicit: whether type inference made it: a promotion, or the conversion that storing into an element does
    """

    operand: Expr
    to: DType
    implicit: bool = False


@dataclass(frozen=True)
class Slice(Located):
    """A Slice is the index `start:stop:step` of a Part; step is a constant integer that is not zero, or the expression `by`."""

    start: Expr | None
    stop: Expr | None
    step: int = 1
    by: Expr | None = None


@dataclass(frozen=True)
class NewAxis:
    """A NewAxis is the index None of a Part, the expression `base[indices]`: it adds a dimension of size 1."""


@dataclass(frozen=True)
class Dots:
    """A Dots is the index `...` of a Part, the expression `base[indices]`: it stands for all dimensions without an index."""


@dataclass(frozen=True)
class Part(Expr):
    """A Part is `base[indices]` where an index is a slice, None or `...`, or where base is not an array's name."""

    base: Expr
    indices: tuple[Expr | Slice | NewAxis | Dots, ...]


@dataclass(frozen=True)
class Function(Expr):
    """A Function is the call of a function of whole arrays, whichever way it is written: np.sum(A, axis=0), A.sum(0), A.T, a @ b.

    function: its name in NumPy
    options: the arguments that are not arrays or numbers, by the names of their parameters: constants of Python, a DType, a TypeOf
    """

    function: str
    args: tuple[Expr, ...]
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class For(Located):
    """A For is the loop `for var in range(start, stop, step)`; step is a constant integer that is not zero.

    restarts: whether an error in it ends the call so that plain Python runs it again, since nothing that outlives the call is written
    """

    var: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Stmt, ...]
    restarts: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class If(Located):
    """An If runs the block `then` where its condition is true, and the block `orelse` where it is not."""

    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class While(Located):
    """A While runs its body again and again as long as its condition, which is tested before each run, is true."""

    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Block(Located):
    """A Block is statements that a Leave of its label, which stands inside, ends: `break` leaves the Block around a loop, `continue`
    the one around a loop's body, an early `return` the one around a function's body. Labels inside one another differ.
    """

    label: str
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Leave(Located):
    """A Leave goes on behind the Block of this label, in which it stands."""

    label: str


@dataclass(frozen=True)
class Raise(Located):
    """A Raise ends the call with an exception, after what was written before it.

    exception: the name of the class, one of Python's own
    args: the texts that it is made of, often one
    """

    exception: str
    args: tuple[str, ...]


Target = Union[Name, Subscript, Part]  # what is assigned: a local number, an element, an array or a part of one


@dataclass(frozen=True)
class Assign(Located):
    """An Assign is `target = value`.

    `t op= v` arrives as `t = t op v`, and `a = b = v` as one Assign per target through a temporary.

    in_place: whether it was written `t op= v`; an array t is then changed and not replaced, and refuses, say, floats if it has ints
    whole: whether it was made from an assignment to a whole array, `A[:] = v`, in which NumPy converts as astype does (except a
        Python number)
    same_type: whether it overwrites an array with a new one of the same name; their types have to be equal
    """

    target: Target
    value: Expr
    in_place: bool = False
    whole: bool = False
    same_type: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """A Like is the shape or the element type of another array, as in np.zeros_like(A) or A.dtype; typed kernels have none."""

    array: str


@dataclass(frozen=True)
class TypeOf(Located):
    """A TypeOf is an element type that follows from the type of the expression `of`; typed kernels have none.

    function: "" for the type of `of` itself, "truth" for bool, "sum" and "mean" for the type that this reduction has in NumPy,
        "wide sum" and "wide mean" for that type with float32 in the place of float16 and bfloat16, "array" for the type that NumPy gives
        an array of such numbers; "listed", whatever `of` is, for a type that holds all that is stored in a list of Python's
    """

    of: Expr
    function: str = ""


@dataclass(frozen=True)
class Require(Located):
    """A Require is a condition that must hold for a call to run compiled; calls in which it does not run as plain Python.

    what: a description of the calls in which it does not hold, for messages
    """

    condition: Expr
    what: str


@dataclass(frozen=True)
class Alloc(Located):
    """An Alloc makes a local array: `name = np.zeros(shape, dtype)`, np.empty, np.ones, np.full and the like.

    Each Alloc of a kernel has a name of its own; name resolution renames a second allocation under the same name.

    shape: the sizes, a tuple once typed
    element: the type of the elements, a DType once typed; None before that stands for the type of `fill` (np.full without dtype)
    fill: the value of all elements; None for np.empty
    late: whether memory is allocated where it stands, as data decide the only size; the last of two says how many elements are kept
    listed: whether it is a list of Python's, once typed
    """

    name: str
    shape: tuple[Expr, ...] | Like
    element: DType | Like | TypeOf | None
    fill: Expr | None
    late: bool = False
    listed: bool = field(default=False, compare=False)

    @property
    def extents(self) -> tuple[Expr, ...]:
        """Returns the sizes of the array's dimensions, once typed; TypeError is raised before that."""
        if isinstance(self.shape, Like):
            raise TypeError(f"the shape of `{self.name}` is not known before inference")
        return self.shape

    @property
    def dtype(self) -> DType:
        """Returns the type of the array's elements, once typed; TypeError is raised before that."""
        if not isinstance(self.element, DType):
            raise TypeError(f"the element type of `{self.name}` is not known before inference")
        return self.element


@dataclass(frozen=True)
class Return(Located):
    """A Return is the last statement of a kernel, and stands nowhere else.

    values: a scalar's Name, an array (argument or local), or any Expr; `return` and `return None` have none
    is_tuple: whether a tuple is returned, as in `return a, b` or `return (a,)`
    form: how nested tuples, shapes and lists are made of the values, a text of `reading.result_forms`; "" where there are none
    python: once typed, for each value whether it is a Python number rather than a NumPy scalar (False for an array)
    """

    values: tuple[Expr | ArrayName, ...]
    is_tuple: bool
    form: str = field(default="", kw_only=True)
    python: tuple[bool, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class ArrayName(Expr):
    """An ArrayName is a whole array among the values of a Return, the only place where a whole array may stand.

    sizes: how many elements along each dimension are returned, where data decide that; () for all of the array
    """

    name: str
    sizes: tuple[Expr, ...] = ()


Stmt = Union[For, While, If, Block, Leave, Raise, Assign, Alloc, Require, Return]


@dataclass(frozen=True)
class ArrayType:
    """An ArrayType is the type of an array argument.

    element: the type of its elements
    ndim: how many dimensions it has, perhaps none
    sizes: (dimension, size) of the sizes that are known
    """

    element: DType
    ndim: int
    sizes: frozenset[tuple[int, int]] = frozenset()

    def __str__(self) -> str:
        known = dict(self.sizes)
        return f"{self.element}[{', '.join(str(known.get(dim, ':')) for dim in range(self.ndim))}]"


@dataclass(frozen=True)
class ScalarType:
    """A ScalarType is the type of a number as an argument.

    dtype: PYINT, PYFLOAT, PYCOMPLEX or PYBOOL for a number of Python's, a fixed type for a NumPy scalar
    value: the number, where it is known
    """

    dtype: DType
    value: int | None = None

    def __str__(self) -> str:
        return str(self.dtype) if self.value is None else f"{self.dtype}={self.value}"


ArgType = Union[ArrayType, ScalarType]


@dataclass(frozen=True)
class Param(Located):
    """A Param is a parameter of a kernel: its name, without its type."""

    name: str


@dataclass(frozen=True)
class Fact:
    """A Fact is what a kernel assumes of an argument that is an index array, and tests before anything else.

    kind: "injective" (no number is twice), "monotonic" (none is less than the one before), both without negative ones, or "within" a range
    low, high: the range, made of constants, sizes and arguments
    place: the text of the condition and where it stands
    """

    kind: str
    array: str
    low: Expr | None = None
    high: Expr | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Kernel:
    """A Kernel is one function in the accepted language.

    source: the text that it was parsed from
    types: the type of each parameter once typed, else ()
    scalars: (name, DType) of each local scalar once typed; a name with several live ranges is there as `x`, `x.1`, `x.2`
    facts: what it assumes of index arrays; they are no part of its text, which would not say that statements test them
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    source: Source = field(compare=False, repr=False)
    types: tuple[ArgType, ...] = ()
    scalars: tuple[tuple[str, DType], ...] = ()
    facts: tuple[Fact, ...] = field(default=(), compare=False, kw_only=True)
