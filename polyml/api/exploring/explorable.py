"""The part of a kernel that makes its page. What makes one is imported where it is needed, so that importing polyml is fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polyml.api.compiling.compile_lock import alone
from polyml.api.schedules import Schedulable
from polyml.errors import ConfigError
from polyml.reading.input_limits import shown

if TYPE_CHECKING:
    from polyml.api.exploring.explored import Explored
    from polyml.schedule.script.schedule import Schedule

TILES = (2, 4, 32)  # sizes of tiles among the single steps of a page
_STARTS = ("source", "auto")


class Explorable(Schedulable):
    """The part of `Kernel` whose method makes the page that explores and steers it."""

    def explore(
        self,
        *args_or_types,
        start: str | Schedule = "source",
        sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None = None,
        tiles: Sequence[int] = TILES,
    ) -> Explored:
        """Returns a page that shows a kernel's source, instances, dependences, schedule, loops and LLVM side by side, and on which its
        schedule is changed by dragging. A notebook shows it; `save` writes it to a file, and `serve` gives its address.

        Each drag is a step of a schedule script, which is proved: it is legal, or the picture shows the pair of instances that it
        breaks. A saved file knows the single steps from its schedule; in a notebook, and when it is served, the kernel answers any.

        args_or_types: arguments or types as for `lower`; none: the types of the last call.
        start: "source" or "auto" as for `schedule`, or a schedule.
        sizes: {name of a size, as in "A_0": value} for the picture, or several of those; None: three that can be seen well.
        tiles: sizes of tiles that a saved file knows.
        Raises ConfigError for other sizes and tiles, and for kernels that run on a GPU or an array; and what `schedule` raises.

        >>> import polyml
        >>> @polyml.kernel
        ... def prefix(A):
        ...     for i in range(1, A.shape[0]):
        ...         A[i] += A[i - 1]
        >>> page = prefix.explore("f64[:]")
        >>> page.html.startswith("<!doctype html>"), len(page.html) < 3_000_000
        (True, True)
        """
        if self.target is not None:
            raise ConfigError(f"a page steers kernels for processors, and {self.__name__} is for {self.target}")
        schedule = start
        if isinstance(start, str):
            if start not in _STARTS:
                raise ConfigError(f"a page begins with one of {', '.join(_STARTS)} or with a schedule, not with {shown(start)}")
            schedule = self.schedule(start, *args_or_types)
        elif args_or_types:
            raise ConfigError("explore takes arguments or a schedule, not both", notes=["the schedule knows its types"])
        with alone():
            from polyml.api.exploring.explored import explored

        return explored(schedule, start if isinstance(start, str) else "auto", sizes, tiles)
