"""The way down after a failure of the compiler itself: the same kernel in simpler forms, at last as plain Python.

A failure is a CompileError, a schedule of polyml's own search that its proof refuses, or an earlier process that ended in the
midst of the compilation. What the caller wrote is not at fault, so that the call goes on; `on_defect="raise"` and
`fallback="error"` raise instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from polyml.config import Options
from polyml.errors import CompileError, IllegalSchedule, NotAffineError, PolymlError

Made = TypeVar("Made")
DEFECTS = (CompileError, IllegalSchedule)
ENDED = "an earlier process ended in the midst of it; it is tried again after a day, or after `polyml cache clear`"


def _plain_loops(options: Options) -> Options:
    return replace(options, tile=False, fusion="no")


def _source_order(options: Options) -> Options:
    return replace(_plain_loops(options), schedule="source")


def _one_by_one(options: Options) -> Options:
    return replace(_source_order(options), vectorize=False, parallel=False)


_FORMS: tuple[tuple[str, Callable[[Options], Options]], ...] = (
    ("without tiles, copies and fusion", _plain_loops),
    ("in the source's order", _source_order),
    ("in the source's order, without vectors and threads", _one_by_one),
)


def forms(options: Options) -> Iterator[tuple[str, Options]]:
    """Yields (words, settings) for several sets of settings, each of which allows fewer transformations than the one before; the
    first allows fewer than the given settings.

    The words say what is left out, such as "without tiles, copies and fusion".
    """
    seen = {options.compile_key()}
    for what, simplified in _FORMS:
        simpler = simplified(options)
        if simpler.compile_key() not in seen:
            seen.add(simpler.compile_key())
            yield what, simpler


def goes_on(options: Options) -> bool:
    """Returns whether the settings ask for code with fewer transformations where the compiler fails, instead of an error."""
    return options.on_defect != "raise" and options.fallback != "error"


def made(
    compiled: Callable[[Options, int], Made], options: Options, failed: Callable[[PolymlError, str], None], ended_in: int = -1
) -> Made:
    """Returns what `compiled` returns with the settings, or, where the compiler fails, with settings that allow fewer
    transformations.

    compiled: called with the settings and the number of the attempt, 0 for the settings as they are; it raises where the compiler
        fails.
    failed: called with the first error, and with words for what is used instead, such as "as plain Python".
    ended_in: the last attempt in which an earlier process crashed; it and those before it are skipped. -1: none crashed.
    Raises NotAffineError where every attempt fails.
    """
    first: PolymlError = CompileError(ENDED)
    if ended_in < 0:
        try:
            return compiled(options, 0)
        except DEFECTS as problem:
            if not goes_on(options):
                raise
            first = problem
    for form, (what, simpler) in enumerate(forms(options), 1):
        if form <= ended_in:
            continue
        try:
            found = compiled(simpler, form)
        except DEFECTS:
            continue
        failed(first, what)
        return found
    failed(first, "as plain Python")
    raise NotAffineError("the compiler failed in every form", notes=[first.message], code="PML-F080")
