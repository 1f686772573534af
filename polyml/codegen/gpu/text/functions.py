"""Functions that kernels call where C has other rules than Python and NumPy, or none: texts with the names of types left open.

A function is named after what it does and the type it does it for, as in `floor_divide_i32`. What one function calls of the
others is found by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from polyml.codegen.gpu.text.block_loops.instructions import instruction
from polyml.codegen.gpu.text.device_functions.complex_numbers import COMPLEX_NUMBERS
from polyml.codegen.gpu.text.device_functions.conversions import CONVERSIONS
from polyml.codegen.gpu.text.device_functions.indices import INDICES
from polyml.codegen.gpu.text.device_functions.numbers import BOTH, FLOATS, INTEGERS
from polyml.codegen.gpu.text.device_functions.python_integers import PYTHON_INTEGERS
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.dtypes import BY_NUMPY_NAME, FIXED, DType

_INTEGERS = {d.name: d for d in FIXED if d.is_integer}
_FLOATS = {d.name: d for d in FIXED if d.name in ("f32", "f64")}
_ONCE = {**INDICES, **PYTHON_INTEGERS, **CONVERSIONS, **COMPLEX_NUMBERS}
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
    if ptx := instruction(name):
        return ptx
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
    found = found.lstrip("\n")
    return found.replace("FUNCTION ", dialect.function) if "FUNCTION " in found else dialect.function + found


def _typed(stem: str, of: str, dialect: Dialect) -> str:
    """Returns the definition of a device function for one type of numbers, still with N in place of the type in the function's own
    name.

    stem: the function's name without the type, as in `floor_divide`.
    of: the name of the type, as in `i32`.
    """
    if stem in BOTH:
        dtype = {**_INTEGERS, **_FLOATS}[of]
        template = BOTH[stem]
    elif of in _FLOATS:
        dtype, template = _FLOATS[of], FLOATS[stem]
    else:
        dtype, template = _INTEGERS[of], INTEGERS[stem]
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
        if callee != name and (callee in _ONCE or callee.rpartition("_")[2] in {**_INTEGERS, **_FLOATS}):
            yield from _with_callees(callee, dialect)
    yield name, definition


def suffix(dtype: DType) -> str:
    """Returns the end of the names of functions for a type, as in `floor_divide_i32`: Python's int is an i64, its float an f64."""
    return BY_NUMPY_NAME[dtype.numpy_name].name
