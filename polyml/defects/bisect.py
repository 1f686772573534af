"""After which pass results differ: the program that each pass leaves is run instance by instance, and compared with plain Python.

`codegen.interpreter.run`, which runs programs, shares no code with LLVM, so that compiled code which differs from a right program
is the fault of what comes after the last pass. Arrays are small at first and become larger as long as that takes seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyml.bundles.bundle import Bundle
from polyml.codegen.interpreter import run
from polyml.codegen.interpreter.order import ORDERS
from polyml.codegen.ir.program import Program
from polyml.defects.repeat import compiled
from polyml.errors import ConfigError, PolymlError
from polyml.model.core.scop import Statement
from polyml.pass_manager import watched
from polyml.pipeline.passes import BUILD, EMIT

CODE = EMIT.name  # the pass that makes code of the last program
LENGTHS = (6, 13, 27, 54, 108, 216)  # limits of lengths of dimensions, tried in turn
MOST_SECONDS = 5  # a limit whose runs take longer is the last one


@dataclass(frozen=True)
class Bisection:
    """A bisection says after which pass results begin to differ from those of plain Python.

    passes: the names of the passes after which results are right, in order.
    culprit: the name of the first pass after which results differ, or that fails; "" where there is none.
    difference: what differs, in words.
    statements: the names and texts of the statements that write what differs.
    longest: the length of the longest dimension of the arrays with which it was found.
    """

    passes: tuple[str, ...]
    culprit: str
    difference: str
    statements: tuple[str, ...]
    longest: int

    def __str__(self) -> str:
        if not self.culprit:
            return f"right after each of {', '.join(self.passes)}; lengths up to {self.longest}"
        lines = [
            f"right after   {', '.join(self.passes) or 'no pass'}",
            f"wrong after   {self.culprit}; lengths up to {self.longest}",
            f"difference    {self.difference}",
            *(f"written by    {each}" for each in self.statements),
        ]
        return "\n".join(lines)


def bisect(bundle: Bundle, tried: Callable[[int], None] = lambda length: None) -> Bisection:
    """Compiles and runs the kernel of a bundle (a recorded failure of the compiler), and returns the pass after which its results
    begin to differ from those of plain Python.

    Arrays are small at first, and larger in each further run.

    tried: called before each run with the length of the longest dimension.
    Raises ConfigError where plain Python itself raises, or the bundle has no arguments.
    """
    found: Bisection | None = None
    for smaller in _smaller(bundle):
        tried(_longest(smaller))
        start = time.perf_counter()
        try:
            found = _compared(smaller, _right(smaller))
        except ConfigError:
            if smaller is bundle and found is None:
                raise
            continue  # lengths that do not fit one another
        if found.culprit or time.perf_counter() - start > MOST_SECONDS:
            break
    if found is None:
        raise ConfigError("the bundle has no arguments to compare with")
    if not found.culprit and _longest(bundle) > found.longest:
        failed, _, _ = _compiled(bundle, bundle.arguments())
        if failed is not None:  # it fails with these sizes alone
            return Bisection((), _failing(failed), failed.message, (), _longest(bundle))
    return found


def _smaller(bundle: Bundle) -> Iterator[Bundle]:
    """Yields variants of the bundle with shorter dimensions, then with longer and longer ones, and at last the bundle itself.

    Equal lengths stay equal, and different ones stay different where the limit leaves room for that.
    """
    longest = _longest(bundle)
    for limit in LENGTHS:
        if limit >= longest:
            break
        known = sorted({length for value in bundle.values for length in value.shape or () if length > limit})
        lengths = {length: max(1, limit - len(known) + 1 + place) for place, length in enumerate(known)}
        yield replace(bundle, values=tuple(value.with_lengths(lengths) for value in bundle.values))
    yield bundle


def _longest(bundle: Bundle) -> int:
    return max((length for value in bundle.values for length in value.shape or ()), default=0)


def _right(bundle: Bundle) -> tuple[object, ...]:
    """Runs the bundle's function as plain Python. Returns (its result, *the arguments after the call).

    Raises ConfigError where the function raises.
    """
    function, arguments = compiled(bundle).py_func, bundle.arguments()
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
    except Exception as problem:
        raise ConfigError(f"{bundle.function} raises {type(problem).__name__} as plain Python: {problem}") from None
    return (result, *arguments)


def _compiled(bundle: Bundle, arguments: list) -> tuple[PolymlError | None, object, Sequence[tuple[str, Program]]]:
    """Compiles the bundle's kernel and calls it with `arguments`, which it changes. Returns (error, result, programs).

    error: what the call raised; None where it raised nothing.
    result: what the call returned.
    programs: (pass, program after it) for each pass on programs. Where the compiler made several versions of the code, these are
        the passes of the last one.
    """
    programs: list[tuple[str, Program]] = []
    called = compiled(bundle)
    with watched(lambda step, before, made, seconds: programs.append((step.name, made)) if isinstance(made, Program) else None):
        try:
            failed, result = None, called(*arguments)
        except PolymlError as problem:
            failed, result = problem, None
    starts = [place for place, (name, _) in enumerate(programs) if name == BUILD.name]
    return failed, result, programs[starts[-1] :] if starts else ()


def _compared(bundle: Bundle, right: Sequence[object]) -> Bisection:
    """Returns the first pass after which the results of a bundle differ from the right ones.

    right: (result, *arguments after the call) of plain Python.
    """
    names, longest = [value.name for value in bundle.values], _longest(bundle)
    passes: list[str] = []
    arguments = bundle.arguments()
    failed, result, programs = _compiled(bundle, arguments)
    for name, program in programs:
        for order in ORDERS:
            given = bundle.arguments()
            try:
                got = run.run(program, dict(zip(names, given, strict=True)), order=order)
            except Exception as problem:  # a wrong program may do anything
                return Bisection(tuple(passes), name, f"{type(problem).__name__}: {problem}", (), longest)
            difference, array = _difference(names, (got, *given), right)
            if difference:
                difference += "" if order == "source" else f", with iterations that may run in any order {order}"
                return Bisection(tuple(passes), name, difference, _writers(program, array), longest)
        passes.append(name)
    if failed is not None:
        return Bisection(tuple(passes), _failing(failed), failed.message, (), longest)
    difference, array = _difference(names, (result, *arguments), right)
    if difference:
        return Bisection(tuple(passes), CODE, difference, _writers(programs[-1][1], array) if programs else (), longest)
    return Bisection((*passes, CODE), "", "", (), longest)


def _failing(problem: PolymlError) -> str:
    """Returns the name of the pass that a CompileError's message names; "the compiler" where the message names none."""
    words = problem.message.split()
    return words[1] if words[:1] == ["stage"] else "the compiler"


def _difference(names: Sequence[str], got: Sequence[object], right: Sequence[object]) -> tuple[str, str]:
    """Returns the first element that differs by more than rounding, in words, and the name of the argument that it is in.

    The name is "" for the result of the call; both are "" where nothing differs.

    names: the names of the arguments.
    got, right: (result, *arguments after the call) of the run that is tested, and of plain Python.
    """
    for name, mine, wanted in zip(("", *names), got, right, strict=True):
        results = mine if isinstance(wanted, tuple) and isinstance(mine, tuple) else (mine,)
        for one, other in zip(results, wanted if isinstance(wanted, tuple) else (wanted,)):
            if other is not None and (found := _element(np.asarray(one), np.asarray(other))):
                return f"{name or 'the result'}{found}", name
    return "", ""


def _element(mine: np.ndarray, right: np.ndarray) -> str:
    """Returns in words how the first element of an array that differs by more than rounding does so; "" where none differs."""
    if mine.shape != right.shape:
        return f" has the shape {mine.shape}, not {right.shape}"
    if right.dtype.kind in "biu":
        differ = mine != right
    else:
        kind = "c16" if right.dtype.kind == "c" else "f8"
        bound = {2: 5e-2, 4: 1e-3}.get(right.dtype.itemsize, 1e-9)
        mine, right = mine.astype(kind), right.astype(kind)
        scale = float(np.max(np.abs(right), initial=1.0, where=np.isfinite(right)))
        differ = ~np.isclose(mine, right, rtol=bound, atol=bound * scale, equal_nan=True)
    if not differ.any():
        return ""
    at = tuple(map(int, np.argwhere(differ)[0]))
    return f"{list(at) if at else ''} is {mine[at]}, not {right[at]}"


def _writers(program: Program, array: str) -> tuple[str, ...]:
    """Returns the name and the source line of each statement that writes an array; of all statements where none does.

    array: the argument's name; "" for an array that is no argument.
    """
    arrays = program.scop.arrays
    statements = program.scop.statements.values()
    found = [s for s in statements if array in (s.write.array, arrays[s.write.array].source_name)]
    return tuple(_named(s) for s in found or statements)


def _named(statement: Statement) -> str:
    loc = statement.loc
    return f"{statement.name}: line {loc.line} of the source: {loc.source.line(loc.line).strip()}" if loc else statement.name
