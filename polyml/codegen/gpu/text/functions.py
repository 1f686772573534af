"""Functions that kernels call where C has other rules than Python and NumPy, or none: texts with the names of types left open.

A function is named after what it does and the type it does it for, as in `floor_divide_i32`. What one function calls of the
others is found by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from polyml.codegen.gpu.text.dialect import Dialect
from polyml.dtypes import BY_NUMPY_NAME, FIXED, DType

_INTEGERS = {d.name: d for d in FIXED if d.is_integer}
_FLOATS = {d.name: d for d in FIXED if d.name in ("f32", "f64")}

# T: the type, N: its name, U: the unsigned type of as many bits, BITS: how many, SIGNED: whether the type has a sign
_INTEGER = {
    "floor_divide": """
T floor_divide_N(T a, T b)
{
    if (b == 0)
        return 0;
    if (SIGNED && b == (T)-1)
        return (T)(0 - (U)a);
    T q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}""",
    "remainder": """
T remainder_N(T a, T b)
{
    if (b == 0 || SIGNED && b == (T)-1)
        return 0;
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}""",
    "shift_left": """
T shift_left_N(T a, T b)
{
    return (U)b < BITS ? (T)((U)a << b) : 0;
}""",
    "shift_right": """
T shift_right_N(T a, T b)
{
    return (U)b < BITS ? a >> b : a < 0 ? (T)-1 : 0;
}""",
    "power": """
T power_N(T a, T b, STATUS status)
{
    U result = 1, square = (U)a;
    if (b < 0)
        flag(status, -2);
    for (; b > 0; b >>= 1) {
        if (b & 1)
            result = (U)((ULONG)result * square);
        square = (U)((ULONG)square * square);
    }
    return (T)result;
}""",
    "sign": """
T sign_N(T a)
{
    return a > 0 ? 1 : a < 0 ? (T)-1 : 0;
}""",
    "absolute": """
T absolute_N(T a)
{
    return a < 0 ? (T)(0 - (U)a) : a;
}""",
}
_FLOAT = {
    "floor_divide": """
T floor_divide_N(T a, T b)
{
    T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (b == 0)
        return a / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign((T)0, a / b);
    T whole = floor(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}""",
    "remainder": """
T remainder_N(T a, T b)
{
    T rest = fmod(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return copysign((T)0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}""",
    "sign": """
T sign_N(T a)
{
    return a != a ? a : a > 0 ? (T)1 : a < 0 ? (T)-1 : (T)0;
}""",
    "minimum": """
T minimum_N(T a, T b)
{
    return a < b || a != a ? a : b;
}""",
    "maximum": """
T maximum_N(T a, T b)
{
    return a > b || a != a ? a : b;
}""",
    "least": """
T least_N(T a, T b)
{
    return a <= b || b != b ? a : b;
}""",
    "greatest": """
T greatest_N(T a, T b)
{
    return a >= b || b != b ? a : b;
}""",
}
_ANY = {
    "first_min": """
T first_min_N(T a, T b)
{
    return b < a ? b : a;
}""",
    "first_max": """
T first_max_N(T a, T b)
{
    return b > a ? b : a;
}""",
}
_ONCE = {
    "floor_divide_index": """
LONG floor_divide_index(LONG a, LONG b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}""",
    "min_index": """
LONG min_index(LONG a, LONG b)
{
    return a < b ? a : b;
}""",
    "max_index": """
LONG max_index(LONG a, LONG b)
{
    return a > b ? a : b;
}""",
    "flag": """
void flag(STATUS status, int code)
{
    CAS(status, 0, code);
}""",
    "checked_add": """
LONG checked_add(LONG a, LONG b, STATUS status)
{
    LONG sum = (LONG)((ULONG)a + (ULONG)b);
    if (((a ^ sum) & (b ^ sum)) < 0)
        flag(status, -2);
    return sum;
}""",
    "checked_subtract": """
LONG checked_subtract(LONG a, LONG b, STATUS status)
{
    LONG difference = (LONG)((ULONG)a - (ULONG)b);
    if (((a ^ b) & (a ^ difference)) < 0)
        flag(status, -2);
    return difference;
}""",
    "leaves_product": """
int leaves_product(LONG a, LONG b)
{
    return MULTIPLY_HIGH(a, b) != (LONG)((ULONG)a * (ULONG)b) >> 63;
}""",
    "checked_multiply": """
LONG checked_multiply(LONG a, LONG b, STATUS status)
{
    if (leaves_product(a, b))
        flag(status, -2);
    return (LONG)((ULONG)a * (ULONG)b);
}""",
    "checked_floor_divide": """
LONG checked_floor_divide(LONG a, LONG b, STATUS status)
{
    if (b == -1 && a == (LONG)((ULONG)1 << 63))
        flag(status, -2);
    return floor_divide_i64(a, b);
}""",
    "checked_shift_left": """
LONG checked_shift_left(LONG a, LONG b, STATUS status)
{
    LONG shifted = shift_left_i64(a, b);
    if (shift_right_i64(shifted, b) != a)
        flag(status, -2);
    return shifted;
}""",
    "checked_power": """
LONG checked_power(LONG a, LONG b, STATUS status)
{
    LONG result = 1, square = a;
    int lost = 0;
    if (b < 0) {
        flag(status, -2);
        return 0;
    }
    while (b != 0) {
        if (b & 1) {
            lost |= leaves_product(result, square);
            result = (LONG)((ULONG)result * (ULONG)square);
        }
        b >>= 1;
        if (b != 0) {
            lost |= leaves_product(square, square);
            square = (LONG)((ULONG)square * (ULONG)square);
        }
    }
    if (lost)
        flag(status, -2);
    return result;
}""",
    "checked_within": """
LONG checked_within(LONG a, LONG low, LONG high, STATUS status)
{
    if (a < low || a > high)
        flag(status, -5);
    return a;
}""",
    "checked_unsigned": """
LONG checked_unsigned(ULONG a, STATUS status)
{
    if (a >> 63)
        flag(status, -2);
    return (LONG)a;
}""",
    "checked_whole": """
LONG checked_whole(double a, STATUS status)
{
    if (!(a < 9223372036854775808.0 && a >= -9223372036854775808.0)) {
        flag(status, a != a ? -3 : -4);
        return 0;
    }
    return (LONG)a;
}""",
    "u64_of_float": """
ULONG u64_of_float(double a)
{
    return a < 9223372036854775808.0 ? (ULONG)(LONG)a : (ULONG)(LONG)(a - 9223372036854775808.0) ^ ((ULONG)1 << 63);
}""",
    "bf16_bits": """
USHORT bf16_bits(float a)
{
    UINT bits = AS_UINT(a), high = bits >> 16;
    if (a != a)
        return (USHORT)(high & 0x8000 | 0x7fc0);
    return (USHORT)(bits + ((high & 1) + 0x7fff) >> 16);
}""",
    "bf16_value": """
float bf16_value(USHORT bits)
{
    return AS_FLOAT((UINT)bits << 16);
}""",
    "rounded_bf16": """
float rounded_bf16(float a)
{
    return bf16_value(bf16_bits(a));
}""",
    "f16_value": """
float f16_value(USHORT bits)
{
    HALF_TO_FLOAT
}""",
    "f16_bits": """
USHORT f16_bits(double a)
{
    DOUBLE_TO_HALF
}""",
    "rounded_f16": """
float rounded_f16(double a)
{
    return f16_value(f16_bits(a));
}""",
}
_SPELLED = {
    "opencl": {
        "HALF_TO_FLOAT": "return vload_half(0, (const __private half *)&bits);",
        "DOUBLE_TO_HALF": "ushort bits;\n    vstore_half_rte(a, 0, (__private half *)&bits);\n    return bits;",
        "AS_UINT": "as_uint", "AS_FLOAT": "as_float", "MULTIPLY_HIGH": "mul_hi", "STATUS": "__global int *",
    },
    "cuda": {
        "HALF_TO_FLOAT": "return __half2float(__ushort_as_half(bits));",
        "DOUBLE_TO_HALF": "return __half_as_ushort(__double2half(a));",
        "AS_UINT": "__float_as_uint", "AS_FLOAT": "__uint_as_float", "MULTIPLY_HIGH": "__mul64hi", "STATUS": "int *",
    },
}  # fmt: skip
_NAME = re.compile(r"\b([a-z0-9_]+)\(")


def text(name: str, dialect: Dialect) -> str:
    """Returns the definition of the named device function in the dialect's language. Raises KeyError where there is none."""
    found = _ONCE.get(name)
    if found is None:
        stem, _, of = name.rpartition("_")
        found = _typed(stem, of, dialect).replace("_N(", f"_{of}(")
    words = {
        **_SPELLED[dialect.name], "LONG": dialect.types["i", 64], "ULONG": dialect.types["u", 64], "UINT": dialect.types["u", 32],
        "USHORT": dialect.types["u", 16], "CAS": dialect.atomics["cas"],
    }  # fmt: skip
    for word, meaning in words.items():
        pattern = rf"\b{word}\b ?" if word == "STATUS" else rf"\b{word}\b"
        found = re.sub(pattern, meaning.replace("\\", r"\\"), found)
    return dialect.function + found.lstrip("\n")


def _typed(stem: str, of: str, dialect: Dialect) -> str:
    """Returns the definition of a device function for one type of numbers, still with N in place of the type in the function's own
    name.

    stem: the function's name without the type, as in `floor_divide`.
    of: the name of the type, as in `i32`.
    """
    if stem in _ANY:
        dtype = {**_INTEGERS, **_FLOATS}[of]
        template = _ANY[stem]
    elif of in _FLOATS:
        dtype, template = _FLOATS[of], _FLOAT[stem]
    else:
        dtype, template = _INTEGERS[of], _INTEGER[stem]
    template = re.sub(r"\bT\b", dialect.register_type(dtype), template)
    if dtype.is_integer:
        template = re.sub(r"\bU\b", dialect.unsigned(dtype.bits), template)
        template = template.replace("SIGNED && ", "" if dtype.kind == "i" else "0 && ").replace("BITS", str(dtype.bits))
    return template


def definitions(names: Iterable[str], dialect: Dialect) -> str:
    """Returns the definitions of the named device functions and of all that they call, each once, callees first."""
    found: dict[str, str] = {}
    for name in names:
        for each, definition in _with_callees(name, dialect):
            found.setdefault(each, definition)
    return "\n\n".join(found.values())


def _with_callees(name: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yields (name, definition) of all functions that the named one calls, some of them repeatedly, and then of this one."""
    definition = text(name, dialect)
    body = definition.partition("{")[2]
    for callee in dict.fromkeys(_NAME.findall(body)):
        if callee in _ONCE or callee.rpartition("_")[2] in {**_INTEGERS, **_FLOATS}:
            yield from _with_callees(callee, dialect)
    yield name, definition


def suffix(dtype: DType) -> str:
    """Returns the end of the names of functions for a type, as in `floor_divide_i32`: Python's int is an i64, its float an f64."""
    return BY_NUMPY_NAME[dtype.numpy_name].name
