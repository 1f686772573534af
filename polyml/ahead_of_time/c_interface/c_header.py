"""The header of a library: its function, what it returns, and what each parameter is."""

from __future__ import annotations

from polyml.ahead_of_time.c_interface.c_function import CFunction, OutParameter
from polyml.ahead_of_time.c_interface.extent_code import renamed
from polyml.ahead_of_time.call_signature import LibraryArgument
from polyml.dtypes import DType
from polyml.frontend.syntax import ArrayType

_OF = {
    "f64": "double", "f32": "float", "f16": "uint16_t", "bf16": "uint16_t", "bool": "bool", "pybool": "bool", "int": "int64_t",
    "float": "double", **{f"i{b}": f"int{b}_t" for b in (8, 16, 32, 64)}, **{f"u{b}": f"uint{b}_t" for b in (8, 16, 32, 64)},
}  # fmt: skip
_COMPLEX = {"c128": "double", "c64": "float"}
_NOTES = {"f16": "the bits of IEEE's binary16", "bf16": "the bits of a bfloat16"}


def header(function: CFunction, made_of: str, built_for: str, has_threads: bool) -> str:
    """Returns the text of a library's header, for C and C++.

    made_of: the kernel and its place; built_for: the processor; each as words.
    has_threads: whether the library runs threads, so that their number can be set.
    """
    symbol, upper = function.symbol, function.symbol.upper()
    lines = [
        f"/* {_plain(made_of)}: made by polyml for {_plain(built_for)}.", " *",
        *(f" *   {line}" for line in _described(function)), " *",
        " * Arrays are stored row by row, without gaps. Another number than 0 says what went wrong.", " */",
        f"#ifndef POLYML_{upper}_H", f"#define POLYML_{upper}_H", "", "#include <stdbool.h>", "#include <stdint.h>",
    ]  # fmt: skip
    kinds = [name for name in _COMPLEX if any(_complex_name(d) == name for d in _types(function))]
    if kinds:
        lines += ["#ifdef __cplusplus", "#include <complex>"]
        lines += [f"typedef std::complex<{_COMPLEX[kind]}> {symbol}_{kind};" for kind in kinds]
        lines += ["#else", *(f"typedef {_COMPLEX[kind]} _Complex {symbol}_{kind};" for kind in kinds), "#endif"]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"enum {symbol}_status {{"]
    lines += [
        f"    {upper}_{code.name} = {code.number}, /* {_plain(code.text)} */"
        for code in function.codes
        if code.number in function.listed
    ]
    lines += ["};", "", f"int {symbol}({', '.join(_parameters(function)) or 'void'});", ""]
    lines += [f"/* The words for a number that {symbol} returned. */", f"const char *{symbol}_error(int status);", ""]
    if has_threads:
        lines += ["/* How many threads run later calls, up to 256; 0, as at first: one for each core, or what OpenMP says. */"]
        lines += [f"void {symbol}_set_threads(int64_t count);", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _types(function: CFunction) -> list[DType]:
    arrays = [a.type.element for a in function.signature.arguments if isinstance(a.type, ArrayType)]
    return [*arrays, *(out.dtype for out in function.outs)]


def _complex_name(dtype: DType) -> str:
    return f"c{dtype.bits}" if dtype.is_complex else ""


def _c_type(function: CFunction, dtype: DType) -> str:
    return f"{function.symbol}_{_complex_name(dtype)}" if dtype.is_complex else _OF[dtype.name]


def _parameters(function: CFunction) -> list[str]:
    """Returns the declarations of the function's parameters."""
    made = []
    for argument in function.signature.arguments:
        name = function.names[argument.name]
        if isinstance(argument.type, ArrayType):
            const = "" if argument.name in function.written else "const "
            made.append(f"{const}{_c_type(function, argument.type.element)} *{name}")
        elif argument.type.dtype.is_complex:
            part = _COMPLEX[_complex_name(argument.type.dtype)]
            made += [f"{part} {name}_re", f"{part} {name}_im"]
        else:
            made.append(f"{_c_type(function, argument.type.dtype)} {name}")
    made += [f"{_c_type(function, out.dtype)} *{out.name}" for out in function.outs]
    return [*made, *(f"int64_t {function.names[size]}" for size in function.signature.sizes)]


def _described(function: CFunction) -> list[str]:
    """Returns a line for each parameter that is an array or a result."""
    lines = [_argument(function, each) for each in function.signature.arguments if isinstance(each.type, ArrayType) or _bits(each)]
    return lines + [_out(function, out) for out in function.outs]


def _bits(argument: LibraryArgument) -> str:
    kind = argument.type
    return _NOTES.get((kind.element if isinstance(kind, ArrayType) else kind.dtype).name, "")


def _argument(function: CFunction, argument: LibraryArgument) -> str:
    name, bits = function.names[argument.name], _bits(argument)
    use = "is written" if argument.name in function.written else "is read"
    if not isinstance(argument.type, ArrayType):
        return f"{name}: {bits}"
    shape = f"[{', '.join(_renamed(function, str(e)) for e in argument.extents)}]"
    return f"{name}{shape} {use}{f'; its elements are {bits}' if bits else ''}"


def _out(function: CFunction, out: OutParameter) -> str:
    bits = f"; {_NOTES[out.dtype.name]}" if out.dtype.name in _NOTES else ""
    if out.array is None:
        return f"*{out.name} receives a number{bits}"
    shape = f"[{', '.join(_renamed(function, e) for e in function.extents(out))}]"
    return f"{out.name}{shape} receives an array, in memory of the caller{bits}"


def _renamed(function: CFunction, extent: str) -> str:
    return renamed(extent, function.names)


def _plain(text: str) -> str:
    """Returns a text that may stand in a comment of C."""
    return "".join(c if c.isprintable() else " " for c in text).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
