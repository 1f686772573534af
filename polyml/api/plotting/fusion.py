"""Pictures of fusion: the nests of a kernel, which of them a schedule has fused, and what they hand on to one another."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.api.plotting.call_sizes import call_sizes
from polyml.api.plotting.nest import as_schedule
from polyml.drawing.svg import Svg
from polyml.pictures.graphs.fusion import fusion_graph
from polyml.pictures.graphs.fusion_svg import fusion_svg

USUAL, MOST_INSTANCES = 1000, 10**18  # of a size for which none is given; bytes are counted by formulas


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Svg:
    """Returns the picture of what a kernel's own schedule, or a given one, has fused. Raises what `polyml.plot` raises."""
    schedule = as_schedule(of, is_source=False)
    problem = schedule.problem
    with problem.alone():
        values = call_sizes(problem.scop, sizes, USUAL, MOST_INSTANCES)
        return fusion_svg(fusion_graph(problem.scop, problem.dependences, schedule.tree, values))
