"""What commands show on standard error while they work for long; nothing where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def working(
    what: str, total: int | None = None, *, is_timing: bool = False, console: Console | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Shows that a command works while the `with` block runs: a text, how long it has run, and with a total a bar. It is a line that
    vanishes at the end, and nothing where the console is no terminal.

    what: says what is done, as in "simulating caches".
    total: how many parts there are to do, where that is known.
    is_timing: whether times are measured. The line is then drawn only when a part begins, since a clock in it would take time too.
    console: standard error if left out.

    Yields a function that gets how many parts are done, and the one that begins ("" for none).

    >>> with working("timing", 2) as done:
    ...     done(1, "gemm")
    """
    from rich.console import Console

    shown = console or Console(stderr=True, force_terminal=sys.stderr.isatty())  # not where FORCE_COLOR alone says so
    if not shown.is_terminal:
        yield lambda count, part: None
        return
    from rich import progress

    columns: list[progress.ProgressColumn] = [progress.TextColumn("{task.description}", markup=False)]
    if total is not None:
        columns += [progress.BarColumn(), progress.MofNCompleteColumn()]
    if not is_timing:
        columns = [progress.SpinnerColumn(), *columns, progress.TimeElapsedColumn()]
    with progress.Progress(*columns, console=shown, transient=True, redirect_stdout=False, auto_refresh=not is_timing) as bar:
        task = bar.add_task(what, total=total)
        bar.refresh()

        def done(count: int, part: str) -> None:
            bar.update(task, completed=count, description=f"{what}: {part}" if part else what, refresh=True)

        yield done
