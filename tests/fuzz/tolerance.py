"""How far a reassociated or contracted run of a program may be from the source's order of operations.

The program runs once more on numbers that carry an a priori bound (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, section 4.2): a value made by n roundings along its longest path out of terms whose absolute values
sum to m is, in any association of the sums, within about n * eps * m of the exact one. `Unstable` is raised where a
comparison, a floor or a division could go either way within that bound.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

import numpy as np

SAFETY = 4.0  # two for the longest path (see `Number.__add__`), two for the reference's own error


_MANY = 10**18  # a recurrence of squares doubles the count at every step


class Unstable(Exception):
    """The result depends on rounding: no bound can be given."""


class Number:
    """value: in the source's order. magnitude: of the sum of absolute values. roundings: along the longest path.

    magnitude is NaN where NaN or infinity came in: such values do not depend on the order.

    A chain s += x[i] gives roundings >= max(terms, roundings of any term), at least half of what any other
    association of the chain can have.
    """

    __slots__ = ("value", "magnitude", "roundings")
    __array_ufunc__ = None  # np.float64 + Number comes to Number.__radd__
    eps, largest = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).max)

    @classmethod
    def compute_in(cls, dtype: type, eps: float = 0.0) -> None:
        """Set the precision of all numbers. eps: another one than the type's; 0: the type's."""
        cls.eps, cls.largest = eps or float(np.finfo(dtype).eps), float(np.finfo(dtype).max)

    def __init__(self, value: float, magnitude: float | None = None, roundings: int = 0):
        self.value = value
        self.magnitude = magnitude if magnitude is not None else abs(value) if math.isfinite(value) else math.nan
        self.roundings = min(roundings, _MANY)

    @property
    def error(self) -> float:
        """An absolute bound; 0 for a value that was only copied, infinite where some order overflows."""
        if self.magnitude > self.largest:
            return math.inf
        return SAFETY * self.roundings * self.eps * self.magnitude if self.roundings else 0.0

    def __add__(self, other):
        other = number(other)
        steps = max(self.roundings, other.roundings) + 1
        return Number(self.value + other.value, self.magnitude + other.magnitude, steps)

    def __sub__(self, other):
        return self + -number(other)

    def __mul__(self, other):
        other = number(other)
        steps = self.roundings + other.roundings + 1
        return Number(self.value * other.value, self.magnitude * other.magnitude, steps)

    def __truediv__(self, other):
        other = number(other)
        if other.roundings and not other.error < abs(other.value) / 2:
            raise Unstable("division")
        with np.errstate(all="ignore"):
            value = float(np.float64(self.value) / np.float64(other.value))
            magnitude = float(np.float64(self.magnitude) * other.magnitude / np.float64(other.value) ** 2)
        return Number(value, magnitude, self.roundings + other.roundings + 1)

    def __floordiv__(self, other):
        other = number(other)
        quotient = self / other
        near = abs(quotient.value - np.rint(quotient.value))
        if (self.roundings or other.roundings) and not near > quotient.error:
            raise Unstable("floor")
        with np.errstate(all="ignore"):
            return Number(float(np.float64(self.value) // np.float64(other.value)), None, 1)

    def __mod__(self, other):
        other = number(other)
        times = self // other
        with np.errstate(all="ignore"):
            value = float(np.float64(self.value) % np.float64(other.value))
        steps = max(self.roundings, other.roundings) + 2
        return Number(value, self.magnitude + abs(times.value) * other.magnitude, steps)

    def __pow__(self, other):
        other = number(other)
        if other.roundings or not math.isfinite(other.value):
            raise Unstable("power")
        with np.errstate(all="ignore"):
            value = float(np.power(np.float64(self.value), other.value))
            slope = abs(other.value * np.power(np.float64(abs(self.value)), other.value - 1))
        return Number(value, max(abs(value), float(slope * self.magnitude)), self.roundings + 4)

    def __radd__(self, other):
        return number(other) + self

    def __rsub__(self, other):
        return number(other) - self

    def __rmul__(self, other):
        return number(other) * self

    def __rtruediv__(self, other):
        return number(other) / self

    def __rfloordiv__(self, other):
        return number(other) // self

    def __rmod__(self, other):
        return number(other) % self

    def __rpow__(self, other):
        return number(other) ** self

    def __neg__(self):
        return Number(-self.value, self.magnitude, self.roundings)

    def __pos__(self):
        return self

    def __abs__(self):
        return Number(abs(self.value), self.magnitude, self.roundings)

    def _decided(self, other) -> Number:
        other = number(other)
        error = self.error + other.error
        finite = math.isfinite(self.value) and math.isfinite(other.value)
        if finite and error and not abs(self.value - other.value) > error:
            raise Unstable("comparison")
        return other

    def __lt__(self, other):
        return self.value < self._decided(other).value

    def __le__(self, other):
        return self.value <= self._decided(other).value

    def __gt__(self, other):
        return self.value > self._decided(other).value

    def __ge__(self, other):
        return self.value >= self._decided(other).value

    def __eq__(self, other):
        return self.value == self._decided(other).value

    def __ne__(self, other):
        return self.value != self._decided(other).value

    __hash__ = None

    def __bool__(self):
        return self != 0.0

    def __int__(self):
        if self.roundings and not abs(self.value - round(self.value)) > self.error:
            raise Unstable("conversion to an integer")
        return int(self.value)

    __trunc__ = __int__


def number(value) -> Number:
    """A number as a float; converting an integer beyond 2**53 counts as one rounding."""
    if isinstance(value, Number):
        return value
    as_float = float(value)
    exact = as_float == value or as_float != as_float
    return Number(as_float, None, 0 if exact else 1)


def literal(value: float) -> Number:
    """A float in the source: rounded once more where the program computes in float32."""
    narrow = Number.eps > 1e-10 and float(np.float32(value)) != value
    return Number(value, None, 1 if narrow else 0)


class _Tracked(ast.NodeTransformer):
    """Float literals and quotients of a kernel become bounded: 0.5 -> _literal(0.5), a / b -> _number(a) / b."""

    def visit_Constant(self, node):
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("_literal", ast.Load()), [node], [])

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            node.left = ast.Call(ast.Name("_number", ast.Load()), [node.left], [])
        return node


def tracked(source: str) -> str:
    """The source with its floats as bounded numbers, to be run in `namespace()`."""
    return ast.unparse(ast.fix_missing_locations(_Tracked().visit(ast.parse(source)))) + "\n"


def apply(name: str, x: Number) -> Number:
    """An elementary function by its NumPy name: the error through the derivative, one ulp of its own."""
    function = getattr(np, name)
    if name in ("floor", "ceil", "trunc", "rint", "sign"):
        if x.roundings and not abs(x.value * 2 - np.rint(x.value * 2)) > 2 * x.error:
            raise Unstable(name)
        return Number(float(function(x.value)), None, 0)
    if name == "sqrt" and x.roundings and not x.error < abs(x.value) / 2:
        raise Unstable("sqrt near zero")
    with np.errstate(all="ignore"):
        value = float(function(x.value))
        step = max(1e-6 * abs(x.value), 1e-9)
        slope = abs(float(function(x.value + step) - function(x.value - step))) / (2 * step)
    if x.roundings and not math.isfinite(slope) and math.isfinite(value):
        raise Unstable(name)
    spread = 2 * slope * x.magnitude if math.isfinite(slope) else 0.0
    return Number(value, max(abs(value), spread), x.roundings + 4)


class Floats:
    """A float array of numbers with bounds; only what a kernel uses: shape, subscripts, partial subscripts."""

    def __init__(self, cells: np.ndarray, dtype: np.dtype):
        self.cells, self.dtype, self.shape = cells, dtype, cells.shape

    @staticmethod
    def of(values: np.ndarray) -> Floats:
        cells = np.empty(values.shape, dtype=object)
        for index in np.ndindex(*values.shape):
            cells[index] = Number(float(values[index]))
        return Floats(cells, values.dtype)

    def __getitem__(self, index):
        item = self.cells[index]
        return Floats(item, self.dtype) if isinstance(item, np.ndarray) else item

    def __setitem__(self, index, value):
        given = number(value)
        with np.errstate(all="ignore"):
            stored = float(self.dtype.type(given.value))
        rounded = stored != given.value and stored == stored
        coarse = math.ceil(float(np.finfo(self.dtype).eps) / Number.eps) if given.roundings else 0  # a float16 of a float32
        self.cells[index] = Number(stored, given.magnitude, given.roundings + max(rounded, coarse))


def bounded(values):
    """The argument as numbers with bounds; integers stay what they are."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return Floats.of(values)
    if isinstance(values, (float, np.floating)):
        return Number(float(values))
    return values


def namespace() -> dict[str, object]:
    """Names under which the `tracked` source of a kernel runs on bounded numbers."""
    return {"np": _NumPy(), "min": _minimum, "max": _maximum, "float": number, "int": int,
            "_literal": literal, "_number": number}  # fmt: skip


def _least(a, b, left: Callable[[float, float], bool]):
    """Python's min and max: whichever wins, the error is that of the worse operand."""
    if not isinstance(a, Number) and not isinstance(b, Number):
        return b if left(b, a) else a
    a, b = number(a), number(b)
    chosen = b if left(b.value, a.value) else a
    return _either(chosen.value, a, b)


def _either(value: float, a: Number, b: Number) -> Number:
    """One of two values, with the error of the worse."""
    magnitude = float(np.fmax(a.magnitude, b.magnitude)) if math.isfinite(value) else math.nan
    return Number(value, magnitude, max(a.roundings, b.roundings))


def _minimum(a, b):
    return _least(a, b, lambda x, y: x < y)


def _maximum(a, b):
    return _least(a, b, lambda x, y: x > y)


class _NumPy:
    """What kernels use of NumPy, on bounded numbers."""

    def __getattr__(self, name):
        real = getattr(np, name)
        if name in ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"):
            return lambda *args, **options: self._allocate(name, args, options)
        if isinstance(real, type) and issubclass(real, np.floating):
            return _FloatType(np.dtype(real))
        if isinstance(real, np.ufunc):
            return lambda *args: self._call(name, real, args)
        return real

    @staticmethod
    def _allocate(name, args, options):
        args = [_plain(a) for a in args]
        options = {key: _plain(o) for key, o in options.items()}
        made = getattr(np, name)(*args, **options)
        return Floats.of(made) if made.dtype.kind == "f" else made

    @staticmethod
    def _call(name, real, args):
        if not any(isinstance(a, Number) for a in args):
            with np.errstate(all="ignore"):
                result = real(*args)
            if not isinstance(result, np.floating):
                return result
            wider = float(np.finfo(result.dtype).eps) / Number.eps  # np.exp of an int16 is a float32
            return Number(float(result), None, math.ceil(4 * wider))
        if name in ("absolute", "abs", "fabs"):
            return abs(args[0])
        if name == "square":
            return args[0] * args[0]
        if name in ("minimum", "maximum", "fmin", "fmax"):
            a, b = (number(x) for x in args)
            return _either(float(real(a.value, b.value)), a, b)
        if len(args) == 1:
            return apply(name, args[0])
        raise Unstable(name)


class _FloatType:
    """np.float64 and np.float32: the conversion, and the name of the type for an allocation."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def __call__(self, value):
        given = number(value)
        return Number(float(self.dtype.type(given.value)), given.magnitude, given.roundings + 1)


def _plain(value):
    if isinstance(value, _FloatType):
        return value.dtype
    if isinstance(value, Floats):
        return np.empty(value.shape, value.dtype)
    return value.value if isinstance(value, Number) else value
