"""Pictures of footprints: the elements of arrays that a kernel reads and writes, for sizes that are checked."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.api.plotting.call_sizes import call_sizes
from polyml.api.plotting.nest import as_schedule
from polyml.drawing.svg import Svg
from polyml.pictures.arrays.footprint_svg import footprint_svg
from polyml.pictures.arrays.footprints import footprints


def drawn(of: object, what: str, sizes: Mapping[str, int], at: str = "") -> Svg:
    """Returns the picture of a kernel's footprints, of a kernel with the tiles of its own schedule. Raises what `polyml.plot` raises."""
    schedule = as_schedule(of, is_source=False)
    problem = schedule.problem
    with problem.alone():
        values = call_sizes(problem.scop, sizes)
        return footprint_svg(footprints(problem.scop, schedule.tree, values, at))
