"""A random program as data: source text, arguments, and the sizes it is run with. Turns into JSON and back."""

from __future__ import annotations

import json
import linecache
import math
from dataclasses import asdict, dataclass, replace
from types import FunctionType

import numpy as np

NUMPY_NAME = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bool": "bool",
    **{f"{s}{b}": f"{'u' if s == 'u' else ''}int{b}" for s in "iu" for b in (8, 16, 32, 64)},
}  # fmt: skip
LAYOUTS = ("C", "F", "strided", "reversed", "offset")


@dataclass(frozen=True)
class Argument:
    """One parameter of the kernel.

    element: "f64", "i8", "bool", ... or "int", "float" for Python's numbers. shape: one expression over the sizes per
    dimension, None for a number. value: of an int, an expression over the sizes; "" draws one.
    layout: how the array lies in memory, one of LAYOUTS; "=X" passes the array of argument X again.
    """

    name: str
    element: str
    shape: tuple[str, ...] | None = None
    value: str = ""
    layout: str = "C"


@dataclass(frozen=True)
class Program:
    """source: a module that defines the function `kernel` and expects `np` and `math`. sizes: name -> value, per run.

    data: "small" (integers in -9..9, floats around 1), "wide" (all values of an integer type), "special" (with NaN,
    infinities and signed zeros among the floats). seed: of the input data.
    """

    label: str
    source: str
    arguments: tuple[Argument, ...]
    sizes: tuple[dict[str, int], ...]
    data: str = "small"
    seed: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        raw = json.loads(text)
        arguments = tuple(Argument(**{**a, "shape": None if a["shape"] is None else tuple(a["shape"])}) for a in raw["arguments"])
        return Program(**{**raw, "arguments": arguments, "sizes": tuple(raw["sizes"])})

    def with_source(self, source: str) -> Program:
        return replace(self, source=source)


def function(program: Program, namespace: dict | None = None) -> FunctionType:
    """The Python function of the program, its source known to `inspect`. namespace replaces `np` and the like."""
    file = f"<fuzz {program.label}>"
    lines = program.source.splitlines(keepends=True)
    linecache.cache[file] = (len(program.source), None, lines, file)
    scope = {"np": np, "math": math, **(namespace or {})}
    exec(compile(program.source, file, "exec"), scope)
    return scope["kernel"]


def make_arguments(program: Program, run: int) -> list:
    """Fresh arguments for the sizes `program.sizes[run]`; the same for the same program and run."""
    sizes = program.sizes[run]
    rng = np.random.default_rng([program.seed, run])
    made: dict[str, object] = {}
    for argument in program.arguments:
        if argument.layout.startswith("="):
            made[argument.name] = made[argument.layout[1:]]
        elif argument.shape is None:
            made[argument.name] = _number(argument, sizes, rng)
        else:
            shape = tuple(max(0, _evaluate(e, sizes)) for e in argument.shape)
            made[argument.name] = lay_out(_values(argument.element, shape, program.data, rng), argument.layout)
    return list(made.values())


def _evaluate(expression: str, sizes: dict[str, int]) -> int:
    return int(eval(expression, {"__builtins__": {}}, dict(sizes)))


def _number(argument: Argument, sizes: dict[str, int], rng: np.random.Generator):
    if argument.value:
        return _evaluate(argument.value, sizes)
    if argument.element == "int":
        return int(rng.integers(0, 4))
    if argument.element == "float":
        return float(rng.choice([1.5, -0.75, 0.1, 2.0]))
    return _values(argument.element, (), "small", rng)[()]


def _values(element: str, shape: tuple[int, ...], data: str, rng: np.random.Generator) -> np.ndarray:
    dtype = np.dtype(NUMPY_NAME[element])
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low, high = (0, 10) if dtype.kind == "u" else (-9, 10)
        if data == "wide":
            low, high = np.iinfo(dtype).min, int(np.iinfo(dtype).max) + 1
        return np.asarray(rng.integers(low, high, shape, dtype=dtype))
    values = np.asarray(rng.uniform(-1.5, 1.5, shape)).astype(dtype)
    if data == "special":
        chosen = rng.random(shape) < 0.1
        values = np.where(chosen, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), values).astype(dtype)
    return values


def lay_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another place: Fortran order, every second element, backwards, or at an odd address."""
    if values.ndim == 0 or layout == "C":
        return np.array(values)
    if layout == "F":
        return np.array(values, order="F")
    if layout == "strided":
        every_second = tuple(slice(None, None, 2) for _ in values.shape)
        room = np.zeros(tuple(2 * n for n in values.shape), values.dtype)[every_second]
    elif layout == "reversed":
        room = np.zeros(values.shape, values.dtype)[tuple(slice(None, None, -1) for _ in values.shape)]
    elif layout == "offset":
        room = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    else:
        raise ValueError(f"no such layout: {layout}")
    room[...] = values
    return room
