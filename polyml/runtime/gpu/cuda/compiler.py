"""The compiler of a CUDA text for a device: nvcc where there is one, or else NVRTC of cuda.bindings. It needs no driver."""

from __future__ import annotations

import os

from polyml.runtime.gpu.cuda import nvrtc
from polyml.runtime.gpu.toolkit.nvidia import STRICT, cubin, tool

_INSTALL = "nvcc of the CUDA toolkit on the PATH, or pip install polyml[cuda-python], which has NVRTC"


def machine_code(text: str, architecture: str) -> bytes:
    """Returns the machine code of a CUDA text, a cubin.

    architecture: that of the device, as in "sm_90".
    Raises CompileError with the compiler's messages, ConfigError where there is no compiler.
    """
    if tool("nvcc") is not None:
        return cubin(text, architecture)
    options = [f"--gpu-architecture={architecture}", *(["--fmad=false"] if text.startswith(STRICT) else [])]
    return nvrtc.cubin(text, options, _INSTALL)


def identity() -> str:
    """Returns a text that tells compilers apart whose code may differ."""
    found = tool("nvcc")
    if found is None:
        return "nvrtc"
    status = os.stat(found)
    return f"{os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}"
