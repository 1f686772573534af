"""The drawn tree of a schedule."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.api.plotting.nest import as_schedule
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError
from polyml.schedule.script.tree_svg import tree_svg


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Svg:
    """Returns the tree of a kernel's or a schedule's order; it is for all sizes, so none may be given. what: "tree"."""
    if sizes:
        raise ConfigError(f"the picture {what!r} is for all sizes, so it takes none")
    schedule = as_schedule(of, is_source=False)
    tree = schedule.loops
    with schedule.problem.alone():
        return tree_svg(schedule.problem.scop, tree)
