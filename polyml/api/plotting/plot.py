"""`polyml.plot`: a picture of a kernel or a schedule. What draws is imported where it is needed, so that importing polyml is fast."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from polyml.errors import ConfigError
from polyml.reading.input_limits import plain, shown
from polyml.tracebacks import guarded

if TYPE_CHECKING:
    from polyml.api.decorator import Kernel
    from polyml.drawing.film import Pictures
    from polyml.drawing.svg import Svg
    from polyml.schedule.script.schedule import Schedule

OPTIONS = {  # subject -> what its `drawn` takes besides
    "footprints": ("at",),
    "misses": ("at", "caches"),
}
DRAWN_BY = {  # subject -> the module beside this one whose function `drawn(of, what, sizes)` draws it
    "domain": "nest",
    "dependences": "nest",
    "schedule": "nest",
    "tiles": "nest",
    "footprints": "footprint",
    "misses": "miss",
    "gpu": "gpu",
    "fusion": "fusion",
    "compilation": "compilation",
    "threads": "nest",
    "wavefronts": "nest",
    "order": "orders",
    "comparison": "orders",
    "replay": "orders",
    "tree": "tree",
}


@partial(guarded, taken=plain)
def plot(
    of: Kernel | Schedule, what: str = "domain", sizes: Mapping[str, int] | None = None, *, at: str = "", caches: str = ""
) -> Svg | Pictures:
    """Returns a picture of a kernel or of one of its schedules, as an SVG text that notebooks show; of several pictures, as an HTML text.

    Each statement has a panel with a circle for each instance; at most 2,000 are drawn, and the picture says so if there are more. Of statements in
    more than three loops, one iteration of the outermost loops is drawn. `docs/nest_pictures.md` shows them.

    of: a kernel that has been called, or a schedule of `Kernel.schedule`.
    what: "domain": the instances. "dependences": arrows from each instance to those that depend on it directly, by kind. "schedule": the place of
        each instance in the order. "tiles": the outlines of tiles, full ones solid and partial ones dashed. "threads": the iteration of the
        parallel loop. "wavefronts": the phases between which threads wait. "order": the schedule with a slider. "comparison": the source's order and
        the schedule. "replay": the steps from the one to the other. "tree": the schedule tree.
        "footprints": the elements of each array that are read and written, and an outline around those that one tile or instance touches.
        "misses": a heat map of cache misses on the elements of each array, and on the source's lines with their references.
        "gpu": of a kernel whose target is a GPU, the block, warp and thread of each iteration, and what blocks keep in shared memory.
        "fusion": the nests of the source, boxes around those that the schedule has fused, and arrows with the bytes that they hand on.
        "compilation": a bar for each pass of the compiler.
    sizes: {name of a size, as in "A_0" or "N": value}; a size that is not given is 6, for misses 48, for "gpu" 24, for fusion 1,000.
    at: of "footprints", what is outlined: an instance "S0[1, 2]", the tile that it is in "tile S0[1, 2]", or a statement "S0"; "": the tile or
        instance in the middle. Of "misses", the level of caches that the arrays show, "L1" if left out.
    caches: of "misses", caches in place of this computer's, such as "2K:8:64,32K:8:64" (size, ways, bytes of a line), nearest first.
    Raises PolymlTypeError for any other object, ConfigError for another picture or for sizes that are none, and what
    `Kernel.schedule` raises.

    >>> import numpy as np, polyml
    >>> @polyml.kernel
    ... def prefix(A):
    ...     for i in range(1, A.shape[0]):
    ...         A[i] += A[i - 1]
    >>> picture = polyml.plot(prefix.schedule("source", "f64[:]"), "dependences", {"A_0": 4})
    >>> picture.count('data-kind="flow"'), picture.count("data-instance")
    (2, 3)
    """
    if not isinstance(what, str) or what not in DRAWN_BY:
        raise ConfigError(f"there is no picture {shown(what)}", notes=[f"expected one of {', '.join(DRAWN_BY)}"])
    if sizes is not None and not isinstance(sizes, Mapping):
        raise ConfigError(f"sizes= takes a mapping, not {shown(sizes)}", notes=['as in sizes={"N": 8}'])
    options = {name: value for name, value in (("at", at), ("caches", caches)) if not isinstance(value, str) or value}
    for name, value in options.items():
        if name not in OPTIONS.get(what, ()):
            takers = [subject for subject, names in OPTIONS.items() if name in names]
            raise ConfigError(f"the picture {what} takes no {name}=", notes=[f"those that do: {', '.join(takers)}"])
        if not isinstance(value, str):
            raise ConfigError(f"{name}= takes a text, not {shown(value)}")
    return import_module(f"polyml.api.plotting.{DRAWN_BY[what]}").drawn(of, what, sizes or {}, **options)
