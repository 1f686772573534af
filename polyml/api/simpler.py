"""The way down after a failure of the compiler itself: the same kernel in simpler forms, at last none.

A failure is a CompileError, or a schedule of polyml's own search that its proof refuses. What the caller wrote is not at fault, so
that the call goes on; `on_defect="raise"` and `fallback="error"` raise instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from polyml.config import Options
from polyml.errors import CompileError, IllegalSchedule, NotAffineError, PolymlError

Made = TypeVar("Made")
DEFECTS = (CompileError, IllegalSchedule)
_FORMS: tuple[tuple[str, dict[str, object]], ...] = (
    ("without tiles, copies and fusion", {"tile": False, "fusion": "no"}),
    ("in the source's order", {"schedule": "source", "tile": False, "fusion": "no"}),
    ("in the source's order, without vectors and threads", {"schedule": "source", "tile": False, "fusion": "no", "vectorize": False, "parallel": False}),
)  # fmt: skip


def forms(options: Options) -> Iterator[tuple[str, Options]]:
    """What each simpler form is, and the settings that make it, the least simple first."""
    seen = {options.compile_key()}
    for what, changes in _FORMS:
        simpler = replace(options, **changes)
        if simpler.compile_key() not in seen:
            seen.add(simpler.compile_key())
            yield what, simpler


def made(compiled: Callable[[Options], Made], options: Options, failed: Callable[[PolymlError, str], None]) -> Made:
    """What `compiled` makes with these settings, or with simpler ones after a defect.

    failed: told of the first defect and of what the call goes on with. Raises NotAffineError where no form can be made.
    """
    try:
        return compiled(options)
    except DEFECTS as problem:
        if options.on_defect == "raise" or options.fallback == "error":
            raise
        first = problem
    for what, simpler in forms(options):
        try:
            found = compiled(simpler)
        except DEFECTS:
            continue
        failed(first, what)
        return found
    failed(first, "as plain Python")
    raise NotAffineError("the compiler failed in every form", notes=[first.message], code="PML-F080")
