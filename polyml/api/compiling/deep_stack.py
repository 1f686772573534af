"""Recursion as deep as an expression of thousands of terms needs.

The compiler visits expressions recursively, as Python's own does. A sum of 343 terms is 343 levels deep, each of some frames, on
top of those of the caller: past Python's limit of recursion, which says nothing of what the machine can do.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from polyml import interrupts

Result = TypeVar("Result")

FRAMES = 20_000  # six for each level of the deepest expression that Python compiles, 3,000
STACK_BYTES = 256 << 20  # address space; memory is taken as it is used


def on_deep_stack(run: Callable[[], Result]) -> Result:
    """Calls `run` on a new thread with a large stack and this thread's context variables, and returns its result.

    An exception of `run` is raised in the calling thread, and signals wait until `run` has ended. The recursion limit of the
    process is raised meanwhile. `run` must not ask for a lock that the caller holds.

    Raises RecursionError where even that stack is too small, or the system gives no thread.
    """
    context, limit = contextvars.copy_context(), sys.getrecursionlimit()
    made: list[Result] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            made.append(context.run(run))
        except BaseException as problem:
            raised.append(problem)

    thread = threading.Thread(target=work, name="polyml-deep")
    with interrupts.deferred():
        sys.setrecursionlimit(max(limit, FRAMES))
        try:
            _start(thread)
            thread.join()
        finally:
            sys.setrecursionlimit(limit)
    if raised:
        raise raised[0]
    return made[0]


def _start(thread: threading.Thread) -> None:
    usual = threading.stack_size(STACK_BYTES)
    try:
        thread.start()
    except RuntimeError as problem:  # the system has no memory or no threads left
        raise RecursionError(f"there is no thread with a large stack: {problem}") from None
    finally:
        threading.stack_size(usual)
