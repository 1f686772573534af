"""Every operation on every pair of types, against NumPy and Python themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from polyml.dtypes import BOOL, FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, U8
from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ScalarType
from polyml.frontend.types import promotion
from polyml.frontend.types.infer import infer
from polyml.frontend.types.promotion import embeds, join
from polyml.numpy_dtypes import numpy_dtype
from tests.frontend.evaluate import evaluate
from tests.frontend.test_samples import same

KINDS = (*FIXED, PYINT, PYFLOAT, PYCOMPLEX, PYBOOL)
PAIRS = list(itertools.product(KINDS, KINDS))
UNSIGNED = [k for k in KINDS if k.kind in "ub"]


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def floor_divide(a, b):
    return a // b


def remainder(a, b):
    return a % b


def bit_and(a, b):
    return a & b


def bit_or(a, b):
    return a | b


def bit_xor(a, b):
    return a ^ b


def shift_left(a, b):
    return a << b


def shift_right(a, b):
    return a >> b


def less(a, b):
    return a < b


def less_equal(a, b):
    return a <= b


def greater(a, b):
    return a > b


def greater_equal(a, b):
    return a >= b


def equal(a, b):
    return a == b


def not_equal(a, b):
    return a != b


def power(a, b):
    return a**b


def np_maximum(a, b):
    return np.maximum(a, b)


def np_fmin(a, b):
    return np.fmin(a, b)


def np_hypot(a, b):
    return np.hypot(a, b)


def np_power(a, b):
    return np.power(a, b)


def both(a, b):
    return a and b


def either(a, b):
    return a or b


def smallest(a, b):
    return min(a, b)


def choice(a, b):
    return a if b else b


def negative(a):
    return -a


def positive(a):
    return +a


def invert(a):
    return ~a


def negation(a):
    return not a


def absolute(a):
    return abs(a)


ARITHMETIC = (
    add, subtract, multiply, divide, floor_divide, remainder, bit_and, bit_or, bit_xor, shift_left, shift_right,
    np_maximum, np_fmin, np_hypot,
)  # fmt: skip
COMPARISONS = (less, less_equal, greater, greater_equal, equal, not_equal)
CHOICES = (both, either, smallest, choice)
UNARY = (negative, positive, invert, negation, absolute)


def number(kind, value):
    """`value` as a number of type `kind`."""
    python = {PYINT: int, PYFLOAT: float, PYCOMPLEX: complex, PYBOOL: bool}
    return python[kind](value) if kind.weak else numpy_dtype(kind).type(value)


def extremes(kind):
    """Values of a type that tell its rules apart."""
    if kind.kind == "b":
        values = (False, True)
    elif kind.is_complex:
        values = (0j, -2.5 + 1j, complex(3, math.nan), complex(math.inf, -0.0), 3.0)
    elif kind.is_float:
        values = (0.0, -2.5, math.nan, math.inf, 3.0)
    elif kind == PYINT:
        values = (0, -1, 300, 2**62, -(2**63))
    else:
        limits = np.iinfo(kind.numpy_name)
        values = (0, limits.min, limits.max, 5, limits.max // 2)
    return [number(kind, v) for v in values]


def outcome(run, *args):
    """The result, or the family of the error."""
    try:
        with np.errstate(all="ignore"):
            left = args[0] if args else None
        if type(left) is complex and isinstance(args[-1], np.float64):  # where the language departs from Python
            args = np.complex128(left), *args[1:]
        return run(*args)
    except OverflowError:
        return OverflowError
    except TypeError:
        return TypeError
    except ValueError:
        return ValueError


def inferred(kernel, kinds):
    try:
        return infer(kernel, [ScalarType(k) for k in kinds])
    except PolymlTypeError:
        return TypeError


def has_the_language(value):
    return type(value) in (bool, int, float, complex) or isinstance(value, np.generic) and value.dtype.name in NAMES


def is_float(value):
    return isinstance(value, float) or isinstance(value, np.generic) and value.dtype.kind in "fV"  # V: bfloat16


NAMES = {k.numpy_name for k in FIXED}


@pytest.mark.parametrize("function", [*ARITHMETIC, *COMPARISONS], ids=lambda f: f.__name__)
def test_each_pair_of_types_gives_the_type_numpy_gives(function):
    kernel = parse(function)
    for left, right in PAIRS:
        expected = outcome(function, number(left, 1), number(right, 1))
        typed = inferred(kernel, (left, right))
        if expected is TypeError or not has_the_language(expected):
            assert typed is TypeError, (left, right)
            continue
        result = evaluate(typed, [number(left, 1), number(right, 1)])
        assert same(result, expected), (left, right, result, expected)


@pytest.mark.parametrize("function", [*ARITHMETIC, *COMPARISONS], ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=7)
def test_extreme_values_give_what_the_interpreter_gives(function):
    kernel = parse(function)
    for left, right in PAIRS:
        typed = inferred(kernel, (left, right))
        if typed is TypeError:
            continue
        for args in itertools.product(extremes(left), extremes(right)):
            expected = outcome(interpret, kernel, list(args))
            assert same(outcome(evaluate, typed, list(args)), expected), (left, right, args)


@pytest.mark.parametrize("function", CHOICES, ids=lambda f: f.__name__)
def test_a_choice_between_types_keeps_the_value_or_is_refused(function):
    kernel, accepted = parse(function), 0
    for left, right in PAIRS:
        typed = inferred(kernel, (left, right))
        if typed is TypeError:
            assert left != right or left == PYCOMPLEX and function is smallest
            continue
        accepted += 1
        for args in itertools.product(extremes(left), extremes(right)):
            expected = outcome(interpret, kernel, list(args))
            result = outcome(evaluate, typed, list(args))
            assert same(number(PYCOMPLEX, result), number(PYCOMPLEX, expected)) and (result == expected or result != result)
    assert accepted > len(KINDS)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_each_type_under_a_unary_operator_gives_what_python_gives(function):
    kernel = parse(function)
    for kind in KINDS:
        typed = inferred(kernel, (kind,))
        for value in extremes(kind):
            expected = outcome(interpret, kernel, [value])
            result = TypeError if typed is TypeError else outcome(evaluate, typed, [value])
            assert same(result, expected), (kind, value)
            if expected is not OverflowError and kind != PYBOOL:  # Python warns of ~ on a bool
                assert same(outcome(function, value), expected), (kind, value)


@pytest.mark.parametrize("function", [power, np_power], ids=lambda f: f.__name__)
def test_a_power_of_integers_needs_an_exponent_that_cannot_be_negative(function):
    kernel = parse(function)
    for left, right in PAIRS:
        typed = inferred(kernel, (left, right))
        expected = outcome(function, number(left, 3), number(right, 2))
        if expected is TypeError or not has_the_language(expected):
            assert typed is TypeError
        elif isinstance(expected, (int, np.integer)) and right not in UNSIGNED:
            assert typed is TypeError
        else:
            assert same(evaluate(typed, [number(left, 3), number(right, 2)]), expected), (left, right)


@pytest.mark.parametrize("module", ["numpy", "math"])
def test_each_function_of_one_number_gives_the_type_that_numpy_or_math_gives(module):
    tested = 0
    for function, (name, owner, operands) in elementwise_functions.FUNCTIONS.items():
        if owner != module or operands != 1:
            continue
        kernel = parse_call(function, 1)
        for kind in KINDS:
            value = number(kind, 1)
            if kind.is_complex and module == "math":
                assert inferred(kernel, (kind,)) is TypeError  # Python drops the imaginary part of NumPy's and warns
                continue
            expected, typed = outcome(function, value), inferred(kernel, (kind,))
            if name == "reciprocal" and not (is_float(expected) or isinstance(expected, np.complexfloating)):
                assert typed is TypeError
                continue
            if expected is TypeError or not (has_the_language(expected) or expected is ValueError):
                assert typed is TypeError, (name, kind)
                continue
            tested += 1
            result = evaluate(typed, [value])
            if expected is ValueError:  # math.atanh(1): IEEE's result instead
                assert type(result) is float
            else:
                assert type(result) is type(expected), (name, kind)
                assert result == expected or abs(result - expected) <= 1e-6 * abs(expected), (name, kind)
    assert tested > 100


def parse_call(function, operands):
    """The kernel `return function(a)`, or of (a, b)."""
    if operands == 1:

        def kernel(a):
            return function(a)

    else:

        def kernel(a, b):
            return function(a, b)

    return parse(kernel)


def test_each_function_of_two_numbers_gives_the_type_that_numpy_or_math_gives():
    for function, (name, owner, operands) in elementwise_functions.FUNCTIONS.items():
        if operands != 2 or name == "pow":
            continue
        kernel = parse_call(function, 2)
        for left, right in PAIRS:
            values = [number(left, 1), number(right, 1)]
            if owner == "math" and (left.is_complex or right.is_complex):
                assert inferred(kernel, (left, right)) is TypeError
                continue
            expected, typed = outcome(function, *values), inferred(kernel, (left, right))
            if name == "fmod" and not is_float(expected):
                assert typed is TypeError
            elif expected is TypeError or not has_the_language(expected):
                assert typed is TypeError, (name, left, right)
            else:
                assert type(evaluate(typed, values)) is type(expected), (name, left, right)


def store(A, x):
    A[0] = x


def fill(A, x):
    F = np.full(2, x, A.dtype)
    A[0] = F[1]


def fill_like(A, x):
    F = np.full_like(A, x)
    A[0] = F[1]


def test_every_function_has_a_rule_of_types():
    named = [*elementwise_functions.UNARY, *elementwise_functions.BINARY]
    without = [name for name in named if not isinstance(getattr(np, name), np.ufunc) and name not in promotion._BY_EXAMPLE]
    assert without == [], "a function that is no ufunc needs a line in _BY_EXAMPLE of polyml/frontend/types/promotion.py"


def test_a_store_converts_as_numpy_does():
    for function in (store, fill, fill_like):
        kernel = parse(function)
        for element, kind in itertools.product(FIXED, KINDS):
            types = [arg_type(np.zeros(2, numpy_dtype(element))), ScalarType(kind)]
            if kind.is_complex and not element.is_complex and element.kind != "b":
                with pytest.raises(PolymlTypeError, match="a complex number stands where"):
                    infer(kernel, types)
                continue
            typed = infer(kernel, types)
            for value in extremes(kind):
                if undefined(function, value, element):
                    continue
                python, compiled = np.zeros(2, numpy_dtype(element)), np.zeros(2, numpy_dtype(element))
                expected = outcome(function, python, value)
                assert same(outcome(evaluate, typed, [compiled, value]), expected), (function, element, kind, value)
                assert same(python, compiled), (function, element, kind, value)


def undefined(function, value, element):
    """A float outside the integer's range has no defined conversion: NumPy's differs between machines."""
    if not is_float(value) or not element.is_integer:
        return False
    through_int = function is store and (element.kind == "i" or type(value) is float)
    return not through_int and not (0 <= float(value) <= 100)


def test_a_conversion_is_numpy_s_and_python_s():
    for target in (*(numpy_dtype(d).type for d in FIXED), int, float, complex, bool):
        kernel = parse_call(target, 1)
        for kind in KINDS:
            typed = inferred(kernel, (kind,))
            if kind.is_complex and not isinstance(target(1), (bool, np.bool_, complex, np.complexfloating)):
                assert typed is TypeError  # NumPy drops the imaginary part and warns, Python raises
                continue
            for value in extremes(kind):
                expected = outcome(target, value)
                if is_float(value) and not kind.weak and not (0 <= float(value) <= 100):
                    if isinstance(expected, np.integer):
                        continue  # undefined, see above
                if target is int and isinstance(expected, int) and not -(2**63) <= expected < 2**63:
                    expected = OverflowError
                assert same(outcome(evaluate, typed, [value]), expected), (target, kind, value)


@pytest.mark.parametrize("value", [300, -1, 2**63, 1e300, 10**400])
def test_a_constant_beside_a_numpy_number_must_fit_as_in_numpy(value):
    def added(a):
        return a + value

    kernel = parse(added)
    for kind in FIXED:
        expected = outcome(added, number(kind, 1))
        try:
            result = evaluate(infer(kernel, [ScalarType(kind)]), [number(kind, 1)])
        except PolymlOverflowError:
            result = OverflowError
        refused = expected is TypeError and kind.name == "bf16"  # an int beyond 64 bits
        assert same(result, OverflowError if refused else expected), (kind, value)


@pytest.mark.parametrize(
    "value", [300, -1, 0, 1, 127, 255, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**70)]
)
def test_a_constant_is_compared_by_its_value(value):
    def compared(a):
        return a < value, value <= a, a == value, a != value, value > a, a >= value, a > value, a <= value

    kernel = parse(compared)
    for kind in (k for k in FIXED if k.kind in "iub"):
        expected = [outcome(compared, v) for v in extremes(kind)]
        if OverflowError in expected:
            assert kind.kind == "b"
            with pytest.raises(PolymlOverflowError, match="compared with an int beyond 64 bits"):
                infer(kernel, [ScalarType(kind)])
            continue
        typed = infer(kernel, [ScalarType(kind)])
        for number_, result in zip(extremes(kind), expected):
            assert same(evaluate(typed, [number_]), result) and same(interpret(kernel, [number_]), result), (
                kind,
                number_,
            )


def test_a_comparison_that_the_type_decides_is_a_constant():
    """LLVM 22 aborts where it finds the answer itself, in a loop with lanes."""

    def compared(a):
        return a > 1, a >= 0, 1 < a, a <= 1, a < 0, a > 255, a <= 255, a >= 1

    def constants(kind):
        values = infer(parse(compared), [ScalarType(kind)]).body[-1].values
        return [value.value if isinstance(value, syntax.Const) else None for value in values]

    assert constants(BOOL) == [False, True, False, True, False, False, True, None]
    assert constants(U8) == [None, True, None, None, False, False, True, None]


def test_a_join_holds_every_value_of_both():
    values = {k: [*extremes(k), *(number(k, v) for v in (1, 0))] for k in FIXED}
    for left, right in itertools.product(FIXED, FIXED):
        common = join(frozenset((left, right)))
        assert (common is not None) == any(embeds(left, d) and embeds(right, d) for d in FIXED)
        for kind in (left, right) if common else ():
            converted = [number(common, v) for v in values[kind]]
            assert all(c == v or v != v for c, v in zip(converted, values[kind]))
    assert join(frozenset(k for k in FIXED if k.name in ("u8", "i8"))).name == "i16"
    assert join(frozenset(k for k in FIXED if k.name in ("i64", "f64"))) is None
    assert join(frozenset(k for k in FIXED if k.name in ("i32", "f32"))).name == "f64"
