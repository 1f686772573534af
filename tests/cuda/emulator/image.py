"""What stands for machine code of NVIDIA's where the emulator is the device, and the compiler that makes it in place of nvcc.

An image is a few lines of text, an empty one, and the library that g++ makes of the CUDA text:

    polyml emulator image 1
    kernel gemm_1 256                  its name, and how many threads a block may have
    parameter C 8                      each parameter, and how many bytes an element has; 0 for a number
    shared A_tile 16896 16896 8        each array in shared memory: distance in bytes from the kernel's thunk, bytes, bytes of an element
    library 91304                      how many bytes follow the empty line

`libcuda.so.1` of the emulator (`driver_library/`) loads it by cuModuleLoadData and the like. A program that finds that library and a compiler
`nvcc` on its PATH which is `python -m tests.cuda.emulator.image` runs its CUDA code here: `environment` has the settings for both.

python -m tests.cuda.emulator.image [-arch=sm_90] -cubin -o OUT IN  makes an image of a file. Other options of nvcc's have no meaning here.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.cuda.emulator import compiler

_BOUNDS = re.compile(r"__launch_bounds__\((\d+)[^)]*\)\s*(\w+)\s*\(")


def image(text: str) -> bytes:
    """Returns the image of a CUDA text. Raises ValueError with what g++ says of an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernels.so")
        compiler.library(text, path)
        symbols, library = compiler.Symbols(path, text), path.read_bytes()
    most = {name: int(threads) for threads, name in _BOUNDS.findall(text)}
    lines = ["polyml emulator image 1"]
    for kernel in compiler.kernels_of(text):
        lines.append(f"kernel {kernel.name} {most.get(kernel.name, 1024)}")
        lines += [f"parameter {name} {size}" for name, size in kernel.parameters]
        for each in symbols.shared.get(kernel.name, []):
            lines.append(f"shared {each.name} {each.address - symbols.thunks[kernel.name]} {each.bytes} {each.element_bytes}")
    lines += [f"library {len(library)}", "", ""]
    return "\n".join(lines).encode() + library


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables of a process whose CUDA driver and nvcc are the emulator's.

    folder: where a program `nvcc` is put
    """
    root, program = Path(__file__).parents[3], folder / "nvcc"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(root))} exec {shlex.quote(sys.executable)} -m {__name__} "$@"\n')
    program.chmod(0o755)
    libraries = os.pathsep.join(filter(None, (str(compiler.runtime().parent), os.environ.get("LD_LIBRARY_PATH", ""))))
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LD_LIBRARY_PATH": libraries}


def main(given: list[str]) -> int:
    """Compiles a file as nvcc would, and returns the exit status."""
    if "--version" in given:
        print("nvcc of the emulator of CUDA, release 13.0, V13.0.0")
        return 0
    if "-cubin" not in given or "-o" not in given:
        print("the emulator's nvcc makes only images: -cubin -o OUT IN", file=sys.stderr)
        return 2
    out, (source,) = given[given.index("-o") + 1], [each for each in given if each.endswith(".cu")]
    try:
        Path(out).write_bytes(image(Path(source).read_text()))
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
