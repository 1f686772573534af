"""The compiler of a CUDA text for a device: nvcc where there is one, or else NVRTC of cuda.bindings. It needs no driver."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any  # cuda.bindings has no types

from polyml.errors import CompileError, ConfigError
from polyml.runtime.gpu.toolkit.nvidia import STRICT, cubin, tool

_INSTALL = "nvcc of the CUDA toolkit on the PATH, or pip install polyml[cuda-python], which has NVRTC"


def machine_code(text: str, architecture: str) -> bytes:
    """Returns the machine code of a CUDA text, a cubin.

    architecture: that of the device, as in "sm_90".
    Raises CompileError with the compiler's messages, ConfigError where there is no compiler.
    """
    if tool("nvcc") is not None:
        return cubin(text, architecture)
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise ConfigError("target cuda needs a compiler", notes=[_INSTALL]) from None
    return _by_nvrtc(nvrtc, text, architecture)


def identity() -> str:
    """Returns a text that tells compilers apart whose code may differ."""
    found = tool("nvcc")
    if found is None:
        return "nvrtc"
    status = os.stat(found)
    return f"{os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}"


def _by_nvrtc(nvrtc: Any, text: str, architecture: str) -> bytes:
    """Returns the cubin that NVRTC makes of a text."""
    try:
        made = _ok(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], []))
    except RuntimeError as problem:  # the library itself is not there
        raise ConfigError("target cuda needs a compiler", notes=[_INSTALL, str(problem).splitlines()[0]]) from None
    options = [f"--gpu-architecture={architecture}", *(f"--include-path={folder}" for folder in _headers())]
    options += ["--fmad=false"] if text.startswith(STRICT) else []
    try:
        error = nvrtc.nvrtcCompileProgram(made, len(options), [each.encode() for each in options])[0]
        if int(error):
            log = b" " * _ok(nvrtc, nvrtc.nvrtcGetProgramLogSize(made))
            _ok(nvrtc, nvrtc.nvrtcGetProgramLog(made, log))
            raise CompileError("NVRTC refuses the kernels", notes=log.rstrip(b"\0").decode(errors="replace").splitlines()[:20])
        code = b" " * _ok(nvrtc, nvrtc.nvrtcGetCUBINSize(made))
        _ok(nvrtc, nvrtc.nvrtcGetCUBIN(made, code))
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(made)


def _headers() -> list[Path]:
    """Returns the folders of CUDA's headers, such as cuda_fp16.h, in NVIDIA's packages for Python and the toolkit."""
    package = importlib.util.find_spec("nvidia")
    folders = (package.submodule_search_locations or ()) if package else ()
    places = [place.parent for folder in folders for place in sorted(Path(folder).glob("*/include/cuda_fp16.h"))]
    places.append(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include"))
    return [place for place in places if place.is_dir()]


def _ok(nvrtc: Any, result: tuple) -> Any:
    error, *values = result
    if int(error):
        raise CompileError(f"NVRTC failed: {nvrtc.nvrtcGetErrorString(error)[1].decode()}")
    return values[0] if values else None
