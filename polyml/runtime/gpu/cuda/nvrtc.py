"""NVRTC, the CUDA compiler of cuda.bindings, in a process of its own.

It has its own LLVM, beside that of llvmlite and of OpenCL drivers, and what fails in it must not end the caller's process.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any  # cuda.bindings has no types

from polyml.errors import CompileError, ConfigError

REFUSED, ABSENT = 3, 4  # exit statuses: of a text with errors, of a library that is not there


def cubin(text: str, options: list[str], install: str) -> bytes:
    """Returns the machine code of a CUDA text.

    options: those of NVRTC.
    install: what to install where there is no NVRTC.
    Raises CompileError with NVRTC's messages, ConfigError where it is not there.
    """
    folders = [f"--include-path={folder}" for folder in _headers()]
    command = [sys.executable, "-c", f"from {__name__} import main; raise SystemExit(main())", *options, *folders]
    paths = os.pathsep.join(filter(None, sys.path))
    ran = subprocess.run(command, input=text.encode(), capture_output=True, env={**os.environ, "PYTHONPATH": paths})
    told = ran.stderr.decode(errors="replace").splitlines()
    if ran.returncode == ABSENT:
        raise ConfigError("target cuda needs a compiler", notes=[install, *told[:1]])
    if ran.returncode == REFUSED:
        raise CompileError("NVRTC refuses the kernels", notes=told[:20])
    if ran.returncode:
        raise CompileError(f"NVRTC failed with exit status {ran.returncode}", notes=told[-20:])
    return ran.stdout


def main() -> int:
    """Compiles the text of the standard input with the options of the command line, writes the cubin to the standard output, and
    returns the exit status.
    """
    try:
        from cuda.bindings import nvrtc

        made = _ok(nvrtc, nvrtc.nvrtcCreateProgram(sys.stdin.buffer.read(), b"kernels.cu", 0, [], []))
    except (ImportError, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return ABSENT
    options = [each.encode() for each in sys.argv[1:]]
    error = nvrtc.nvrtcCompileProgram(made, len(options), options)[0]
    if int(error):
        log = b" " * _ok(nvrtc, nvrtc.nvrtcGetProgramLogSize(made))
        _ok(nvrtc, nvrtc.nvrtcGetProgramLog(made, log))
        sys.stderr.buffer.write(log.rstrip(b"\0"))
        return REFUSED
    code = b" " * _ok(nvrtc, nvrtc.nvrtcGetCUBINSize(made))
    _ok(nvrtc, nvrtc.nvrtcGetCUBIN(made, code))
    sys.stdout.buffer.write(code)
    return 0


def _headers() -> list[Path]:
    """Returns the folders of CUDA's headers, such as cuda_fp16.h, in NVIDIA's packages for Python and the toolkit."""
    package = importlib.util.find_spec("nvidia")
    folders = (package.submodule_search_locations or ()) if package else ()
    places = [place.parent for folder in folders for place in sorted(Path(folder).glob("*/include/cuda_fp16.h"))]
    places.append(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include"))
    return [place for place in places if place.is_dir()]


def _ok(nvrtc: Any, result: tuple) -> Any:
    """Returns the value of a call of NVRTC. Raises RuntimeError where it has failed."""
    error, *values = result
    if int(error):
        raise RuntimeError(f"NVRTC: {nvrtc.nvrtcGetErrorString(error)[1].decode()}")
    return values[0] if values else None
