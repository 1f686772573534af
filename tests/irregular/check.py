"""Runs a random program as plain Python and as a kernel with several settings, and says where the two differ."""

from __future__ import annotations

import faulthandler
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

import polyml
from polyml.model.index_arrays import partial_scatters
from polyml.pipeline.regions import shared_loops
from tests.irregular.generate import Program, program
from tests.irregular.run import RAISED, Ran, arguments_of, function_of, run
from tests.transformations import recording

THREADS = (1, 2, 3, 4)
LONGEST_S = 120.0  # seconds after which the process of a check ends
# types that a scalar may have instead of Python's, where other paths give it them: docs/meaning.md, "Where it departs from Python"
WIDER = {float: np.floating, int: np.integer, bool: np.bool_}
# docs/meaning.md: such operations give what they give in arrays
DEPARTURES = {
    "float division by zero", "division by zero", "float floor division by zero", "float modulo", "float modulo by zero",
    "float divmod()", "math domain error", "math range error",
}  # fmt: skip
AT_ENTRY = "found before anything was written"  # what polyml says of subscripts that it checks at entry, where Python stops midway


@dataclass(frozen=True)
class Outcome:
    """An Outcome is what a check found.

    difference: "" where there is none. is_whole: each call ran compiled code for the whole function. has_parts: some lines of it
        are compiled where it is not. reason: why not, without names. raised: the types of the exceptions that Python raised.
    allowed: why some differences are none. fired: the transformations of each compilation.
    """

    difference: str
    is_whole: bool = False
    has_parts: bool = False
    reason: str = ""
    raised: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    fired: tuple[frozenset[str], ...] = ()


def checked(seed: int) -> Outcome:
    """Returns the outcome for the program of this number; a process whose check takes too long ends."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    try:
        with recording() as seen:
            outcome = check(program(seed))
        return replace(outcome, fired=tuple(seen))
    except Exception as problem:
        return Outcome(f"the check itself ended in {problem!r}")
    finally:
        faulthandler.cancel_dump_traceback_later()


def check(case: Program, changed: Callable[[Ran], Ran] = lambda ran: ran) -> Outcome:
    """Returns whether all calls do what plain Python does, with all settings.

    changed: makes something else of what a kernel did, as a test of the check does.
    """
    with work_for_threads(case.seed):
        return _check(case, changed)


@contextmanager
def work_for_threads(seed: int) -> Iterator[None]:
    """Lets the shortest loops count as work for threads inside a `with` block, for every second program."""
    if seed % 2:
        yield
        return
    with mock.patch.object(shared_loops, "LEAST_WORK", 0), mock.patch.object(partial_scatters, "LEAST_ITERATIONS", 0):
        yield


def _check(case: Program, changed: Callable[[Ran], Ran]) -> Outcome:
    plain = function_of(case, "plain")
    outcome = Outcome("", is_whole=True)
    wanted = [run(plain, arguments_of(case, number)) for number in range(len(case.calls))]
    outcome = replace(outcome, raised=tuple(type(ran.error).__name__ for ran in wanted if ran.error is not None))
    for fp in ("strict", "reassociate"):
        kernel = polyml.kernel(function_of(case, fp), fp=fp, cache=False, fallback="silent", on_defect="raise")
        for number, expected in enumerate(wanted):
            for threads in THREADS:
                with polyml.config.scope(threads=threads):
                    got = changed(run(kernel, arguments_of(case, number)))
                difference, allowed = _judged(case, number, expected, got, fp == "strict")
                if difference:
                    return replace(outcome, difference=f"call {number}, fp {fp}, threads {threads}: {difference}")
                outcome = replace(outcome, allowed=tuple(dict.fromkeys((*outcome.allowed, *allowed))))
        outcome = _with_form(outcome, kernel.explain())
    return outcome


def _with_form(outcome: Outcome, explained: str) -> Outcome:
    """Returns the outcome with what explain() says of how much was compiled."""
    if "runs as plain Python" not in explained:
        return outcome
    reason = re.search(r"error: (.*)", explained)
    text = re.sub(r"`[^`]*`", "`..`", reason[1]) if reason else explained.splitlines()[0]
    return replace(outcome, is_whole=False, has_parts=bool(re.search(r"^ *compiled: ", explained, re.MULTILINE)), reason=text)


def _judged(case: Program, number: int, wanted: Ran, got: Ran, is_strict: bool) -> tuple[str, tuple[str, ...]]:
    """Returns the difference of a call, and why a difference that there is counts as none."""
    difference = _of_calls(wanted, got, is_strict)
    if difference and str(wanted.error) in DEPARTURES:
        return "", ("a result where Python's numbers raise",)
    if difference and is_strict and AT_ENTRY in str(got.error) and not _of_errors(wanted, got):
        return "", ("subscripts checked at entry",)
    if (
        difference
        and got.error is None
        and not _of_calls(wanted, replace(got, result=_python_typed(wanted.result, got.result)), is_strict)
    ):
        return "", ("one type of a scalar for all paths",)
    if difference and not is_strict and _is_unstable(case, number, wanted):
        return "", ("sensitive to rounding",)
    return difference, ()


def _python_typed(one: object, other: object) -> object:
    """Returns the second result, with numbers in the types of the first one's, where polyml's hold these."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(map(_python_typed, one, other))
    if isinstance(one, np.number) and isinstance(other, np.number) and np.can_cast(one.dtype, other.dtype):
        return one.dtype.type(other)
    return other.item() if isinstance(other, WIDER.get(type(one), ())) and isinstance(other, np.generic) else other


def _of_calls(wanted: Ran, got: Ran, is_strict: bool) -> str:
    """Returns the difference of a call, or nothing."""
    if wanted.error is not None or got.error is not None:
        found = _of_errors(wanted, got)
        return found or (difference("arguments", wanted.arguments, got.arguments, True) if is_strict else "")
    return difference("result", wanted.result, got.result, is_strict) or difference(
        "arguments", wanted.arguments, got.arguments, is_strict
    )


def _of_errors(wanted: Ran, got: Ran) -> str:
    """Returns the difference of what was raised: what the kernel raises may be a subclass of Python's type."""
    if type(wanted.error) is type(got.error) and wanted.error.args == got.error.args:
        return ""
    if isinstance(wanted.error, AssertionError | RuntimeError) or str(wanted.error) == "refused":  # what programs raise
        return f"raised {got.error!r:.300}, Python {wanted.error!r}"
    of = next((kind for kind in RAISED if type(wanted.error) is kind), None)
    return "" if of and isinstance(got.error, of) else f"raised {got.error!r:.300}, Python {wanted.error!r}"


def difference(path: str, one: Any, other: Any, is_strict: bool) -> str:
    """Returns where two values differ, or nothing. one: Python's. is_strict: floats have to have the same bits, NaNs any sign."""
    if type(one) is not type(other):
        return f"{path} is a {type(other).__name__} ({other!r:.60}), Python's a {type(one).__name__} ({one!r:.60})"
    if isinstance(one, tuple) or isinstance(one, list) and any(isinstance(each, list | tuple) for each in one):
        if len(one) != len(other):
            return f"{path} has {len(other)} elements, Python's {len(one)}"
        return next(filter(None, (difference(f"{path}[{k}]", a, b, is_strict) for k, (a, b) in enumerate(zip(one, other)))), "")
    if isinstance(one, np.ndarray) and (one.dtype != other.dtype or one.shape != other.shape):
        return f"{path} is {other.dtype}{other.shape}, Python's {one.dtype}{one.shape}"
    if hasattr(one, "toarray"):
        one, other = one.toarray(), other.toarray()
    if one is None or _are_equal(np.asarray(one), np.asarray(other), is_strict):
        return ""
    return f"{path} is {other!r:.300}, Python's {one!r:.300}"


def _are_equal(one: np.ndarray, other: np.ndarray, is_strict: bool) -> bool:
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    if is_strict:
        return bool(np.all((one == other) & (np.signbit(one) == np.signbit(other)) | np.isnan(one) & np.isnan(other)))
    bound = 1e-4 if one.dtype == np.float32 else 1e-10
    scale = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
    return bool(np.allclose(one, other, rtol=bound, atol=bound * (1.0 + scale), equal_nan=True))


def _is_unstable(case: Program, number: int, wanted: Ran) -> bool:
    """Returns whether plain Python differs for arguments that differ by roundings: then another order of sums may, too."""
    plain = function_of(case, "moved")
    for step in (3, -3, 1, -2):
        moved = tuple(_moved(argument, step) for argument in arguments_of(case, number))
        if _of_calls(wanted, run(plain, moved), False):
            return True
    return False


def _moved(argument: object, step: int) -> object:
    """Returns the argument with each float times 1 + a few roundings, of signs that alternate.

    An array is changed in place, as others may share its memory.
    """
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f":
        factors = 1 + step * np.finfo(argument.dtype).eps * (1 - 2 * (np.arange(argument.size) % 2)).reshape(argument.shape)
        argument[...] = (argument * factors).astype(argument.dtype)
    return argument * (1 + step * 2.0**-52) if type(argument) is float else argument
