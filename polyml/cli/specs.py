"""Argument types and values: from the command line, from the kernel's file, or guessed from its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass

from polyml.dtypes import FIXED, OF_PYTHON, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.errors import ConfigError
from polyml.frontend import syntax
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType

ELEMENTS = {d.name: d for d in (*FIXED, PYINT, PYFLOAT, PYCOMPLEX)} | {"pybool": PYBOOL}
DEFAULT_EXTENT = 100
_ARRAY = re.compile(r"(\w+)\[(.*)\]")


@dataclass(frozen=True)
class Spec:
    """What one parameter is. extents: an expression over the sizes for each dimension; () for a number.

    value: of a number, None to draw one. guessed: why the type is what it is, when nobody said so.
    """

    name: str
    type: ArgType
    extents: tuple[str, ...] = ()
    value: int | float | complex | bool | None = None
    guessed: str = ""


def sizes_from(definitions: Sequence[str]) -> dict[str, int]:
    """-D N=1000 -D M=20 -> {"N": 1000, "M": 20}."""
    sizes = {}
    for text in definitions:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not re.fullmatch(r"-?\d+", value.replace("_", "")):
            raise ConfigError(f"-D does not take {text!r}", notes=["expected NAME=INTEGER, as in -D N=1000"])
        sizes[name] = int(value)
    return sizes


def spec_from(text: str) -> Spec:
    """A=f64[N,M], A=f64[:,:], n=int, alpha=1.5 -> Spec. Raises ConfigError for anything else."""
    name, equals, described = text.partition("=")
    if not equals or not name.isidentifier():
        raise _no_spec(text)
    array = _ARRAY.fullmatch(described.replace(" ", ""))
    if array and array[1] in ELEMENTS and not ELEMENTS[array[1]].weak:
        extents = tuple(e for e in array[2].split(",") if e)
        return Spec(name, ArrayType(ELEMENTS[array[1]], len(extents)), extents)
    if described in ELEMENTS:
        return Spec(name, ScalarType(ELEMENTS[described]))
    value = _literal(text, described)
    return Spec(name, ScalarType(OF_PYTHON[type(value)]), value=value)


def _literal(text: str, described: str) -> int | float | complex | bool:
    try:
        value = ast.literal_eval(described)
    except (ValueError, SyntaxError):
        raise _no_spec(text) from None
    if not isinstance(value, (bool, int, float, complex)):
        raise _no_spec(text)
    return value


def _no_spec(text: str) -> ConfigError:
    expected = "expected NAME=TYPE[N,M] for an array, NAME=TYPE or NAME=VALUE for a number"
    elements = ", ".join(d.name for d in FIXED)
    return ConfigError(f"{text!r} describes no argument", notes=[expected, f"types: {elements}, int, float, complex"])


def guess(kernel: syntax.Kernel, given: Mapping[str, Spec]) -> tuple[Spec, ...]:
    """One spec per parameter: the given one, or a guess from how the text uses the name.

    A subscripted name is an f64 array of that rank, a name in a loop bound, subscript or shape an int, any other a
    float. Raises ConfigError for a given name that is no parameter.
    """
    names = [p.name for p in kernel.params]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ConfigError(f"{kernel.name} has no parameter {unknown[0]!r}", notes=[f"it has {', '.join(names)}"])
    ranks, integers = _ranks(kernel), _integer_names(kernel)
    return tuple(given.get(name) or _guess(name, ranks, integers) for name in names)


def _guess(name: str, ranks: Mapping[str, int], integers: set[str]) -> Spec:
    if name in ranks:
        rank = ranks[name]
        described = ArrayType(ELEMENTS["f64"], rank)
        return Spec(name, described, (":",) * rank, guessed=f"subscripted with {rank} indices")
    if name in integers:
        return Spec(name, ScalarType(PYINT), guessed="used in a bound or a subscript")
    return Spec(name, ScalarType(PYFLOAT), guessed="used as a number")


def _ranks(kernel: syntax.Kernel) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for node in _walk(kernel.body):
        if isinstance(node, syntax.Subscript):
            ranks[node.array] = max(ranks.get(node.array, 0), len(node.indices))
        elif isinstance(node, syntax.Shape):
            ranks[node.array] = max(ranks.get(node.array, 0), node.dim + 1)
    return ranks


def _integer_names(kernel: syntax.Kernel) -> set[str]:
    found = set()
    for node in _walk(kernel.body):
        places = ()
        if isinstance(node, syntax.For):
            places = (node.start, node.stop)
        elif isinstance(node, syntax.Subscript):
            places = node.indices
        elif isinstance(node, syntax.Alloc):
            places = node.shape
        found |= {n.name for n in _walk(places) if isinstance(n, syntax.Name)}
    return found


def _walk(value: object) -> Iterator[object]:
    """Every node of the grammar below `value`."""
    if isinstance(value, tuple):
        for item in value:
            yield from _walk(item)
    elif is_dataclass(value) and not isinstance(value, (DType, type)):
        yield value
        for field in fields(value):
            if field.name not in ("loc", "dtype"):
                yield from _walk(getattr(value, field.name))


def make(specs: Sequence[Spec], sizes: Mapping[str, int], rng) -> dict[str, object]:
    """Random arguments: floats in [0, 1), integers in 0..9, truth values; numbers as given, or from `sizes` by name.

    An extent of ":" is DEFAULT_EXTENT. rng: numpy.random.Generator.
    """
    return {spec.name: _make_one(spec, sizes, rng) for spec in specs}


def _make_one(spec: Spec, sizes: Mapping[str, int], rng):
    import numpy as np

    from polyml.numpy_dtypes import numpy_dtype

    if isinstance(spec.type, ScalarType):
        return _make_number(spec, spec.type.dtype, sizes)
    element = spec.type.element
    shape = tuple(_extent(e, sizes, spec) for e in spec.extents)
    if element.is_complex:
        return np.asarray(rng.random(shape) + 1j * rng.random(shape), dtype=numpy_dtype(element))
    if element.is_float:
        return np.asarray(rng.random(shape), dtype=numpy_dtype(element))
    return np.asarray(rng.integers(0, 2 if element.kind == "b" else 10, shape), dtype=numpy_dtype(element))


def _make_number(spec: Spec, dtype: DType, sizes: Mapping[str, int]):
    from polyml.numpy_dtypes import number_type

    value = spec.value if spec.value is not None else sizes.get(spec.name)
    if value is None:
        value = DEFAULT_EXTENT if dtype.is_integer else 1.5
    return number_type(dtype)(value)


def _extent(text: str, sizes: Mapping[str, int], spec: Spec) -> int:
    """An extent such as 100, N, 2*N+1 or ":"."""
    if text == ":":
        return DEFAULT_EXTENT
    try:
        value = _evaluate(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, KeyError, ValueError) as problem:
        missing = isinstance(problem, KeyError)
        hint = f"-D {problem.args[0]}=100 gives it a value" if missing else "expected N, 100, 2*N+1 or :"
        raise ConfigError(f"the extent {text!r} of {spec.name} has no value", notes=[hint]) from None
    if value < 0:
        raise ConfigError(f"the extent {text!r} of {spec.name} is {value}; no array is shorter than 0")
    return value


def check_used(specs: Sequence[Spec], sizes: Mapping[str, int]) -> None:
    """Raise ConfigError for a size that no extent and no number has."""
    names = {s.name for s in specs if isinstance(s.type, ScalarType)}
    names |= set(re.findall(r"[A-Za-z_]\w*", " ".join(extent for s in specs for extent in s.extents)))
    unknown = next((name for name in sizes if name not in names), None)
    if unknown is not None:
        known = ", ".join(sorted(names)) or "none"
        raise ConfigError(f"no argument has a size called {unknown!r}", notes=[f"sizes: {known}"])


_ARITHMETIC = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.FloorDiv: int.__floordiv__}


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_evaluate(node.left, sizes), _evaluate(node.right, sizes))
    raise ValueError(ast.unparse(node))
