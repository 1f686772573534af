"""Pictures of misses: where those of a kernel's loops fall, in the caches of this computer or in given ones."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.api.plotting.call_sizes import call_sizes
from polyml.api.plotting.nest import as_schedule
from polyml.codegen.astgen.build import build
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError
from polyml.machines import cache_spec, cpu
from polyml.pictures.arrays.miss_svg import miss_svg
from polyml.pictures.arrays.misses import miss_map
from polyml.reading.input_limits import shown

USUAL, MOST_INSTANCES = 48, 5_000_000  # of a size for which none is given; of a statement


def drawn(of: object, what: str, sizes: Mapping[str, int], at: str = "", caches: str = "") -> Svg:
    """Returns the picture of the misses of a kernel's own schedule, or of a given one. Raises what `polyml.plot` raises.

    at: the level whose misses are drawn on the arrays, such as "L2"; "": the nearest one.
    caches: in the notation of `machines.cache_spec`; "": those of this computer.
    """
    schedule = as_schedule(of, is_source=False)
    levels = cache_spec.parse(caches) if caches else cache_spec.checked(cpu.host().caches)
    names = [f"L{level.level}" for level in levels]
    if at and at not in names:
        raise ConfigError(f"at= does not take {shown(at)} here", notes=[f"expected a level of the caches, {' or '.join(names)}"])
    problem = schedule.problem
    with problem.alone():
        values = call_sizes(problem.scop, sizes, USUAL, MOST_INSTANCES)
        program = build(problem.scop, schedule.tree, dict(problem.reductions))
        return miss_svg(miss_map(program, values, levels), names.index(at) if at else 0)
