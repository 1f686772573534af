"""Pictures of GPUs: which block, warp and thread runs which instance, and what blocks keep in shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from polyml.api.plotting.call_sizes import call_sizes
from polyml.api.plotting.nest import as_schedule
from polyml.codegen.gpu.program import GpuProgram
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError
from polyml.pictures.threads.gpu_blocks import gpu_blocks
from polyml.pictures.threads.gpu_svg import gpu_svg

USUAL = 24  # of a size for which none is given


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Svg:
    """Returns the picture of the launches of a kernel whose target is a GPU, or of one of its schedules. Raises what `polyml.plot` raises."""
    schedule = as_schedule(of, is_source=False)
    problem = schedule.problem
    if not problem.on_gpu:
        notes = ['polyml.kernel(target="cuda") or target="opencl" makes a kernel that runs on a GPU; its schedules have blocks']
        raise ConfigError(f"{problem.scop.name} runs on a processor, which has no blocks of threads", notes=notes)
    with problem.alone():
        values = call_sizes(problem.scop, sizes, USUAL)
        return gpu_svg(gpu_blocks(cast(GpuProgram, problem.generate(schedule.tree)), values))
