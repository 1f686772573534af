"""nvcc, and what it says of kernels."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from polyml.runtime.gpu.toolkit.nvidia import ARCHITECTURES, tool  # noqa: F401  for tests

_ENTRY = re.compile(
    r"Compiling entry function '(\w+)'.*?Function properties for \1\n\s+(\d+) bytes stack frame, (\d+) bytes spill stores"
    r".*?Used (\d+) registers(?:[^\n]*?, (\d+) bytes smem)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Compiled:
    """What ptxas says of a kernel. spilled: bytes stored for want of registers. shared_bytes: shared memory of a block."""

    name: str
    registers: int
    stack_bytes: int
    spilled: int
    shared_bytes: int = 0


def nvcc() -> str | None:
    """Returns the path of nvcc, None where there is none."""
    return tool("nvcc")


def instructions(text: str, architecture: str, compiler: str, disassembler: str) -> Counter[str]:
    """Returns how often each instruction of SASS stands in the kernels of a text, as in {"FFMA": 64, "LDS.128": 4}, without those
    that never run (`@!PT`), with which ptxas fills up between others.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernels.cu"), Path(folder, "kernels.cubin")
        source.write_text(text)
        subprocess.run([compiler, f"-arch={architecture}", "-cubin", "-o", str(made), str(source)], check=True, capture_output=True)
        listed = subprocess.run([disassembler, str(made)], check=True, capture_output=True, text=True).stdout
    return Counter(re.findall(r"/\*[0-9a-f]{4}\*/\s+(?:@(?!!PT)!?U?P\w+\s+)?([A-Z][A-Z0-9.]*)", listed))


def compiled(text: str, architecture: str, compiler: str) -> list[Compiled]:
    """Returns the kernels of a text, compiled for an architecture such as sm_90. Raises ValueError with what nvcc says of an error."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.cu")
        source.write_text(text)
        command = [
            compiler,
            f"-arch={architecture}",
            "-cubin",
            "-Xptxas",
            "-v",
            "-o",
            str(source.with_suffix(".cubin")),
            str(source),
        ]
        ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise ValueError(ran.stderr)
    return [
        Compiled(name, int(registers), int(stack), int(spilled), int(shared or 0))
        for name, stack, spilled, registers, shared in _ENTRY.findall(ran.stderr)
    ]
