"""What a program gives under plain Python and NumPy, and how close a compiled run must come to it.

One departure from Python is not called a difference: a scalar has one type for the whole function, found as if every loop
ran. `s = 0; for i in range(n): s = A[i]; return s` returns a number of A's type also where no iteration happens and
Python returns its own 0. The number itself has to be the same.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyml.frontend import syntax
from polyml.frontend.interpreter import trace
from polyml.frontend.parsing.parse import parse
from tests.fuzz import tolerance
from tests.fuzz.program import Program, function, make_arguments

INEXACT = {"exp", "sin", "cos", "tanh", "arctan"}  # a library may be off by an ulp; so may **


@dataclass(frozen=True)
class Run:
    """One call. arrays: every argument after it. values: what was returned, always a tuple. error: what it raised."""

    arrays: tuple
    values: tuple
    is_tuple: bool
    error: Exception | None = None


def call(runner: Callable, arguments: Sequence) -> Run:
    """runner(*arguments), with copies of what it leaves behind. Exceptions become values."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = runner(*arguments)
    except Exception as error:  # any exception is an outcome to compare
        return Run(_copies(arguments), (), False, error)
    values = result if isinstance(result, tuple) else () if result is None else (result,)
    return Run(_copies(arguments), _copies(values), isinstance(result, tuple))


def _copies(values: Sequence) -> tuple:
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)


def expected(program: Program, run: int) -> Run:
    """The program as Python runs it."""
    return call(function(program), make_arguments(program, run))


@dataclass(frozen=True)
class Bounds:
    """Absolute error bounds of a run: per argument and per returned value, None where the value must be the same.

    unstable: why there is no bound ("comparison"); then only integers that do not depend on floats could be compared,
    so nothing is.
    """

    arrays: tuple
    values: tuple
    unstable: str = ""


def bounds(program: Program, run: int, rounds: bool = False) -> Bounds:
    """A priori bounds for any order of the program's reductions, with or without contraction. rounds: of operations in float32 with operands
    that are rounded to 11 bits (tf32), each of which is off by 2**-11.
    """
    arguments = make_arguments(program, run)
    shared = {id(a): tolerance.bounded(a) for a in arguments}
    narrow = "32" in program.source or any(a.element == "f32" for a in program.arguments)
    tolerance.Number.compute_in(np.float32 if narrow else np.float64, 2.0**-10 if narrow and rounds else 0.0)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = tolerance.tracked(program.source)
            tracked = replace(program, label=f"{program.label} tracked", source=source)
            made = function(tracked, tolerance.namespace())(*(shared[id(a)] for a in arguments))
    except tolerance.Unstable as reason:
        return Bounds((), (), str(reason))
    except (OverflowError, ValueError, ZeroDivisionError) as reason:  # where the language departs from Python
        return Bounds((), (), f"{type(reason).__name__}")
    values = made if isinstance(made, tuple) else () if made is None else (made,)
    return Bounds(tuple(_error(shared[id(a)]) for a in arguments), tuple(_error(v) for v in values))


def _error(value):
    if isinstance(value, tolerance.Number):
        return value.error
    if not isinstance(value, tolerance.Floats):
        return None
    out = np.zeros(value.shape)
    for index in np.ndindex(*value.shape):
        out[index] = value.cells[index].error
    return out


def is_defined(program: Program) -> bool:
    """Whether the result does not depend on what np.empty finds in memory."""
    if "np.empty" not in program.source:
        return True
    for run in range(len(program.sizes)):
        first, *others = (call(function(program, {"np": _Filled(k)}), make_arguments(program, run)) for k in range(4))
        if any(difference(first, other, None, [a.name for a in program.arguments]) for other in others):
            return False
    return True


class _Filled:
    """NumPy, with np.empty giving arrays full of one value: 1, 2, a small number or a great one, by `number`.

    A sum shows one of the first two, and what keeps the least or the greatest of several numbers one of the last two.
    """

    def __init__(self, number: int):
        self.number = number

    def __getattr__(self, name):
        if name != "empty":
            return getattr(np, name)
        return lambda shape, dtype=float: np.full(shape, _values(np.dtype(dtype))[self.number], dtype)


def _values(dtype: np.dtype) -> tuple:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return 1, 2, limits.min // 2, limits.max // 2
    return (True, False, True, False) if dtype.kind == "b" else (1, 2, -1e4, 1e4)


def is_inexact(source: str) -> bool:
    """Whether the program calls a function that libraries round differently."""
    nodes = list(ast.walk(ast.parse(source)))
    called = {n.func.attr for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    return bool(called & INEXACT) or any(isinstance(n, ast.Pow) for n in nodes)


def skips_a_loop(program: Program, run: int) -> bool:
    """Whether the body of some loop does not run at all: then a number may have the type that the loop would give it."""
    kernel = parse(function(program))
    ran = {event.path for event in trace(kernel, make_arguments(program, run))}
    return any(not any(path[: len(loop)] == loop and path != loop for path in ran) for loop in _loops(kernel.body, ()))


def _loops(stmts: Sequence[syntax.Stmt], path: tuple[int, ...], first: int = 0) -> Iterator[tuple[int, ...]]:
    """Where the loops stand, as the paths of `trace` tell it."""
    for position, stmt in enumerate(stmts, first):
        here = (*path, position)
        if isinstance(stmt, syntax.For):
            yield here
            yield from _loops(stmt.body, here)
        elif isinstance(stmt, syntax.If):
            yield from _loops(stmt.then, here)
            yield from _loops(stmt.orelse, here, len(stmt.then))


def difference(want: Run, got: Run, within: Bounds | None, names: Sequence[str], *, other_types: bool = False) -> str:
    """Where two runs differ, in words; "" where they agree. within None: every bit counts, except which NaN.

    other_types: a returned number may have another type, if it is the same number.
    """
    if within and within.unstable:
        within = None
        want, got = _integers_aside(want), _integers_aside(got)
    if want.is_tuple != got.is_tuple or len(want.values) != len(got.values):
        return f"returned {len(got.values)} values (tuple: {got.is_tuple}), not {len(want.values)}"
    for position, (a, b) in enumerate(zip(want.values, got.values)):
        error = within.values[position] if within else None
        if other_types and np.ndim(a) == np.ndim(b) == 0 and a is not None and a == b:
            continue
        if found := _differs(a, b, error, returned=True):
            return f"returned value {position}: {found}"
    for position, (a, b) in enumerate(zip(want.arrays, got.arrays)):
        error = within.arrays[position] if within else None
        if isinstance(a, np.ndarray) and (found := _differs(a, b, error)):
            return f"argument {names[position]}: {found}"
    return ""


def _integers_aside(run: Run) -> Run:
    """Nothing is compared of a run without bounds but its shape; integers may have been chosen by a float."""
    return Run((), tuple(None for _ in run.values), run.is_tuple)


def _differs(a, b, error, returned: bool = False) -> str:
    if a is None:
        return ""
    first, second = np.asarray(a), np.asarray(b)
    if returned and isinstance(a, (bool, int, float)) and isinstance(b, np.generic) and not isinstance(a, np.generic):
        first = _as_typed(first, second)
    if first.dtype != second.dtype or first.shape != second.shape:
        return f"{second.dtype}{list(second.shape)}, not {first.dtype}{list(first.shape)}"
    if returned and isinstance(a, np.ndarray) != isinstance(b, np.ndarray):
        return f"a {type(b).__name__}, not a {type(a).__name__}"
    equal = _equal_bits(first, second) if error is None else _close(first, second, np.asarray(error))
    if equal.all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~equal)[0]) if first.ndim else ()
    count = int((~equal).sum())
    bound = "" if error is None else f" (bound {np.asarray(error)[where]:.3g})"
    found = f"{second[where]!r}, not {first[where]!r}{bound}"
    return f"{count} of {first.size} elements differ, first {list(where)}: {found}"


def _as_typed(python: np.ndarray, found: np.ndarray) -> np.ndarray:
    """A Python number in the type of the NumPy one that has the same value; as it is where there is none."""
    same = python == found or (python != python and found != found)
    return found.copy() if same and np.signbit(float(python)) == np.signbit(float(found)) else python


def _equal_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    same_sign = np.signbit(a) == np.signbit(b)
    return np.asarray(((a == b) & same_sign) | (np.isnan(a) & np.isnan(b)))


def _close(a: np.ndarray, b: np.ndarray, error: np.ndarray) -> np.ndarray:
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    with np.errstate(all="ignore"):
        tiny = np.finfo(a.dtype).tiny
        close = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= error + tiny
        open_ended = np.isinf(error) | (np.isnan(error) & np.isfinite(a))
        return np.asarray((a == b) | close | (np.isnan(a) & np.isnan(b)) | open_ended)
