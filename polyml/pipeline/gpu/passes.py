"""The passes for a GPU, in the order in which they run, in place of all of `pipeline.passes` from the schedule on.

Scop --launches--> Mapped nests --gpu_build--> GpuProgram --gpu_print--> text of kernels
"""

from __future__ import annotations

from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.gpu.text.printer import source
from polyml.pass_manager import Pass
from polyml.schedule.gpu.launch_plan import planned, planned_as_written
from polyml.schedule.gpu.libraries.placement import with_libraries

_NEXT = "what follows takes another kind of value"

LAUNCHES = Pass("launches", planned, "of dependences alone: which loops are threads", stage="launches", required=_NEXT)
LAUNCHES_AS_WRITTEN = Pass(
    "launches_as_written", planned_as_written, "where launches takes too long", stage="launches", required=_NEXT
)
PLANS = (LAUNCHES, LAUNCHES_AS_WRITTEN)  # of which the first is taken that is found in time
LIBRARIES = Pass("libraries", with_libraries, "where the setting allows it", stage="launches", required=_NEXT)
GPU_BUILD = Pass("gpu_build", gpu_program, "a thread's loops, and the host's around launches", stage="launches", required=_NEXT)
GPU_PRINT = Pass("gpu_print", source, "in OpenCL C or CUDA C++", stage="gpu", required=_NEXT)
