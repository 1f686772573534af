"""CUDA C++ as PTX, as machine code and as SASS, by nvcc and nvdisasm.

    __global__ void k(float *x) { ... }   ->   ld.global.f32 %f1, [%rd1];   ->   LDG.E R2, desc[UR4][R2.64] ;
                                               PTX, for any GPU                  SASS, for one architecture

nvcc is the one of the PATH, or of NVIDIA's packages for Python (`pip install polyml[gpu-test]`).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polyml.errors import CompileError, ConfigError
from polyml.reading.input_limits import plain, shown

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")  # those that polyml's tests compile for
ARCHITECTURE = "sm_90"
STRICT = "// -fmad=false"  # how a text begins whose products and sums are rounded one by one
_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")
_INSTALL = "pip install polyml[gpu-test]"
_MOST_SECONDS = 600


def tool(name: str) -> str | None:
    """Returns the path of a program of NVIDIA's toolkit, such as nvcc or nvdisasm: of the PATH, of CUDA_HOME, or of NVIDIA's packages for
    Python; None where there is none.

    >>> tool("no_such_program") is None
    True
    """
    found = shutil.which(name)
    if found or (found := shutil.which(name, path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"))):
        return found
    package = importlib.util.find_spec("nvidia")
    folders = (package.submodule_search_locations or ()) if package else ()
    places = (place for folder in folders for place in sorted(Path(folder).glob(f"*/bin/{name}")))
    return next(map(str, places), None)


def ptx(text: str, architecture: str = ARCHITECTURE) -> str:
    """Returns the PTX of a text of CUDA C++.

    architecture: that of a GPU, as in "sm_90"
    Raises ConfigError for an architecture that is none, or where there is no nvcc, and CompileError with nvcc's messages.
    """
    return _made(text, architecture, ("-ptx",)).decode()


def cubin(text: str, architecture: str = ARCHITECTURE) -> bytes:
    """Returns the machine code of a text of CUDA C++, as a file that drivers load. Raises what `ptx` does."""
    return _made(text, architecture, ("-cubin",))


def sass(text: str, architecture: str = ARCHITECTURE) -> str:
    """Returns the instructions of a text of CUDA C++ as nvdisasm lists them. Raises what `ptx` does, and ConfigError also where there is
    no nvdisasm.
    """
    disassembler = _needed("nvdisasm", "sass")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.cubin")
        file.write_bytes(cubin(text, architecture))
        return _ran([disassembler, "-c", str(file)]).stdout


def _made(text: str, architecture: str, options: Sequence[str]) -> bytes:
    """Returns the file that nvcc makes of a text, with these options."""
    asked = plain(architecture)
    if not isinstance(asked, str) or not _ARCHITECTURE.fullmatch(asked):
        raise ConfigError(
            f"{shown(asked)} is no architecture of a GPU",
            notes=[f"expected sm_90 or another, such as {', '.join(ARCHITECTURES)}"],
        )
    compiler = _needed("nvcc", "ptx and sass")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernels.cu"), Path(folder, "made")
        source.write_text(text)
        options = [*options, *(["-fmad=false"] if text.startswith(STRICT) else [])]
        _ran([compiler, f"-arch={architecture}", *options, "-o", str(made), str(source)])
        return made.read_bytes()


def _needed(name: str, stages: str) -> str:
    """Returns the path of a program. stages: what cannot be shown without it."""
    found = tool(name)
    if found is None:
        raise ConfigError(
            f"{stages} cannot be shown without {name}", notes=[f"{_INSTALL}, or put {name} of the CUDA toolkit on the PATH"]
        )
    return found


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, and returns what it printed. Raises CompileError with its messages where it fails."""
    program = Path(command[0]).name
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_MOST_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CompileError(f"{program} did not run to its end", notes=[str(problem)]) from None
    if ran.returncode:
        raise CompileError(f"{program} refuses the kernels", notes=(ran.stderr or ran.stdout).strip().splitlines()[:20])
    return ran
