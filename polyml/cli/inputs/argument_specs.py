"""Types and values of arguments: from the command line, from the kernel's file, or guessed from its text."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import prod

from polyml.cli.inputs.guessed_ranks import guessed_ranks
from polyml.dtypes import FIXED, OF_PYTHON, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.errors import ConfigError
from polyml.frontend import syntax
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.reading.input_limits import excess, shown, whole_number

ELEMENTS = {d.name: d for d in (*FIXED, PYINT, PYFLOAT, PYCOMPLEX)} | {"pybool": PYBOOL}
DEFAULT_EXTENT = 100
_SMALLER = {3: 30}  # by the most dimensions of an array: nests over such arrays are deep
_SMALLEST = 16  # with more dimensions than these
_ARRAY = re.compile(r"(\w+)\[(.*)\]")
_LONGEST, _DEEPEST = 200, 20  # characters and brackets of an extent or a value at most
_MOST = 2**63 - 1  # a size at most
_MOST_DIMENSIONS = 64  # NumPy's arrays have no more


@dataclass(frozen=True)
class Spec:
    """A spec is what is known of one parameter of a kernel before there is an argument for it.

    name, type: the parameter and its type.
    extents: an expression over the sizes for each dimension of an array, such as "N" or "2*N+1"; () for a number.
    value: the value of a number; None: it is chosen later.
    guessed: why the type was guessed to be what it is; "" where it was given.
    """

    name: str
    type: ArgType
    extents: tuple[str, ...] = ()
    value: int | float | complex | bool | None = None
    guessed: str = ""


def sizes_from(definitions: Sequence[str], option: str = "-D") -> dict[str, int]:
    """Returns {name: size} from the texts of options, such as "N=1000". Raises ConfigError for any other text.

    option: its name, for messages.
    """
    sizes = {}
    for text in definitions:
        name, equals, value = text.partition("=")
        size = whole_number(value, -_MOST, _MOST)
        if not equals or not name.isidentifier() or size is None:
            notes = [f"expected NAME=INTEGER, as in {option} N=1000", "the integer has at most 64 bits"]
            raise ConfigError(f"{option} does not take {shown(text)}", notes=notes[: 1 + (len(value) > 18)])
        sizes[name] = size
    return sizes


def spec_from(text: str) -> Spec:
    """Returns the spec in the text of --arg: "A=f64[N,M]", "A=f64[:,:]", "n=int" or "alpha=1.5". Raises ConfigError for any
    other text.
    """
    name, equals, described = text.partition("=")
    if not equals or not name.isidentifier():
        raise _no_spec(text)
    if len(described) > _MOST_DIMENSIONS * _LONGEST:
        raise _no_spec(text)
    array = _ARRAY.fullmatch(described.replace(" ", ""))
    if array and array[1] in ELEMENTS and not ELEMENTS[array[1]].weak:
        extents = tuple(e for e in array[2].split(",") if e)
        if len(extents) > _MOST_DIMENSIONS:
            raise ConfigError(f"{name} has {len(extents)} dimensions", notes=[f"an array has at most {_MOST_DIMENSIONS}"])
        return Spec(name, ArrayType(ELEMENTS[array[1]], len(extents)), extents)
    if described in ELEMENTS:
        return Spec(name, ScalarType(ELEMENTS[described]))
    value = _literal(text, described)
    return Spec(name, ScalarType(OF_PYTHON[type(value)]), value=value)


def _literal(text: str, described: str) -> int | float | complex | bool:
    if excess(described, _LONGEST, _DEEPEST):
        raise _no_spec(text)
    try:
        value = ast.literal_eval(described.strip())
    except (ValueError, SyntaxError, TypeError):  # the last of +"x"
        raise _no_spec(text) from None
    if not isinstance(value, (bool, int, float, complex)):
        raise _no_spec(text)
    return value


def _no_spec(text: str) -> ConfigError:
    expected = "expected NAME=TYPE[N,M] for an array, NAME=TYPE or NAME=VALUE for a number"
    elements = ", ".join(d.name for d in FIXED)
    return ConfigError(f"{shown(text)} describes no argument", notes=[expected, f"types: {elements}, int, float, complex"])


def guess(kernel: syntax.Kernel, given: Mapping[str, Spec]) -> tuple[Spec, ...]:
    """Returns a spec for each parameter: the given one, or a guess from how the kernel's text uses the name.

    A name that is subscripted, sliced or reduced is taken to be an f64 array with as many dimensions as that shows; a name in a loop
    bound, a subscript or a shape an int; any other name a float.

    given: {parameter: spec}; raises ConfigError where one is no parameter of the kernel.
    """
    names = [p.name for p in kernel.params]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ConfigError(f"{kernel.name} has no parameter {shown(unknown[0])}", notes=[f"it has {', '.join(names)}"])
    ranks, integers = guessed_ranks(kernel), _integer_names(kernel)
    return tuple(given.get(name) or _guess(name, ranks, integers) for name in names)


def _guess(name: str, ranks: Mapping[str, tuple[int, str]], integers: set[str]) -> Spec:
    if name in ranks:
        rank, how = ranks[name]
        return Spec(name, ArrayType(ELEMENTS["f64"], rank), (":",) * rank, guessed=how)
    if name in integers:
        return Spec(name, ScalarType(PYINT), guessed="used in a bound or a subscript")
    return Spec(name, ScalarType(PYFLOAT), guessed="used as a number")


def _integer_names(kernel: syntax.Kernel) -> set[str]:
    found = set()
    for node in _walk(kernel.body):
        places: tuple[syntax.Expr, ...] | syntax.Like = ()
        if isinstance(node, syntax.For):
            places = (node.start, node.stop)
        elif isinstance(node, syntax.Subscript):
            places = node.indices
        elif isinstance(node, syntax.Alloc):
            places = node.shape
        found |= {n.name for n in _walk(places) if isinstance(n, syntax.Name)}
    return found


def _walk(value: object) -> Iterator[object]:
    """Yields every node of a syntax tree, `value` itself included; locations and types are left out."""
    if isinstance(value, tuple):
        for item in value:
            yield from _walk(item)
    elif is_dataclass(value) and not isinstance(value, (DType, type)):
        yield value
        for field in fields(value):
            if field.name not in ("loc", "dtype"):
                yield from _walk(getattr(value, field.name))


def make(specs: Sequence[Spec], sizes: Mapping[str, int], rng) -> dict[str, object]:
    """Returns {parameter: argument}: arrays with random elements, and numbers with the values of their specs or of `sizes`.

    Random floats are in [0, 1), integers in 0..9. A dimension whose extent is ":" has 100 elements, in calls with arrays of three
    dimensions 30, with more 16.

    rng: a numpy.random.Generator.
    Raises ConfigError for extents without a value, and for arrays that do not fit in memory.
    """
    default = _default_extent(max((len(spec.extents) for spec in specs), default=0))
    shapes = {spec.name: tuple(default if e == ":" else _extent(e, sizes, spec) for e in spec.extents) for spec in specs}
    _check_memory(specs, shapes)
    try:
        return {spec.name: _make_one(spec, sizes, rng, shapes[spec.name]) for spec in specs}
    except MemoryError:
        raise _too_large(specs, shapes) from None


def _check_memory(specs: Sequence[Spec], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises ConfigError for arrays that are larger than this machine's memory.

    The operating system would grant such memory, and kill the process when it uses it.
    """
    if _bytes(specs, shapes) > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise _too_large(specs, shapes)


def _bytes(specs: Sequence[Spec], shapes: Mapping[str, tuple[int, ...]]) -> int:
    return sum(prod(shapes[s.name]) * s.type.element.size_bytes for s in specs if isinstance(s.type, ArrayType))


def _too_large(specs: Sequence[Spec], shapes: Mapping[str, tuple[int, ...]]) -> ConfigError:
    of = ", ".join(f"{name}[{', '.join(map(str, shape))}]" for name, shape in shapes.items() if shape)
    notes = [f"they are {of}", "-D and --arg choose smaller ones"]
    return ConfigError(f"the arrays take {_bytes(specs, shapes) / 1e9:,.3g} GB, which is more memory than there is", notes=notes)


def _make_one(spec: Spec, sizes: Mapping[str, int], rng, shape: tuple[int, ...]):
    import numpy as np

    from polyml.numpy_dtypes import numpy_dtype

    if isinstance(spec.type, ScalarType):
        return _make_number(spec, spec.type.dtype, sizes)
    element = spec.type.element
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
    try:
        return number_type(dtype)(value)
    except (OverflowError, ValueError, TypeError):
        raise ConfigError(f"{spec.name} is {shown(value)}, which is no {dtype}") from None


def _default_extent(dimensions: int) -> int:
    """Returns the extent of dimensions without one. dimensions: the most that an array has."""
    return DEFAULT_EXTENT if dimensions < min(_SMALLER) else _SMALLER.get(dimensions, _SMALLEST)


def _extent(text: str, sizes: Mapping[str, int], spec: Spec) -> int:
    """Returns the value of an extent such as "100", "N" or "2*N+1". Raises ConfigError where it has none or one below 0.

    spec: the parameter that has the extent, for messages.
    """
    try:
        too_long = excess(text, _LONGEST, _DEEPEST)
        if too_long:
            raise ValueError(f"it {too_long}")
        value = _evaluate(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, KeyError, ValueError, ZeroDivisionError) as problem:
        hint = _HINTS.get(type(problem), "expected N, 100, 2*N+1 or :").format(*problem.args)
        raise ConfigError(f"the extent {shown(text)} of {spec.name} has no value", notes=[hint]) from None
    if value > _MOST:
        raise ConfigError(f"the extent {shown(text)} of {spec.name} is {shown(value)}", notes=["at most 64 bits"])
    if value < 0:
        raise ConfigError(f"the extent {shown(text)} of {spec.name} is {shown(value)}; no array is shorter than 0")
    return value


def check_used(specs: Sequence[Spec], sizes: Mapping[str, int]) -> None:
    """Raises ConfigError for a size that no extent and no number of the specs uses."""
    names = {s.name for s in specs if isinstance(s.type, ScalarType)}
    names |= set(re.findall(r"[A-Za-z_]\w*", " ".join(extent for s in specs for extent in s.extents)))
    unknown = next((name for name in sizes if name not in names), None)
    if unknown is not None:
        known = ", ".join(sorted(names)) or "none"
        guessed = [(s, s.type.element) for s in specs if s.guessed and isinstance(s.type, ArrayType)]
        name = unknown if unknown.isidentifier() and len(unknown) < 60 else "N"
        remedy = [
            f"--arg '{s.name}={element}[{','.join([name] * len(s.extents))}]' gives it to {s.name}, whose type is a guess"
            for s, element in guessed
        ]
        raise ConfigError(f"no argument has a size called {shown(unknown)}", notes=[f"sizes: {known}", *remedy[:3]])


_HINTS = {KeyError: "-D {0}=100 gives it a value", ZeroDivisionError: "it divides by zero"}
_ARITHMETIC = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.FloorDiv: int.__floordiv__}


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_evaluate(node.left, sizes), _evaluate(node.right, sizes))
    raise ValueError(ast.unparse(node))
