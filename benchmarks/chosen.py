"""Which code the libraries and compilers of a benchmark's peers chose for this processor:  python -m benchmarks.chosen

Each says it itself, in a process that sees no variable which overrides its choice: OpenBLAS by threadpoolctl, MKL and oneDNN by their
verbose lines, ATen and numba by their own functions, gcc and clang by the options that `-march=native` stands for. What is narrower
than the machine's vectors is marked, as a peer that another build or another setting might serve better.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from shutil import which

from benchmarks.library_environment import default_choices
from polyml.machines import cpu as machine

LIBRARIES = {
    "numpy": ("OpenBLAS of NumPy", "NumPy's loops"),
    "scipy": ("OpenBLAS of SciPy",),
    "mkl": ("MKL",),
    "torch": ("MKL", "oneDNN of PyTorch", "ATen"),
    "onednn": ("oneDNN",),
    "numba": ("numba",),
    "pythran": ("gcc", "OpenBLAS of the system"),
    "gcc": ("gcc",),
    "pluto": ("gcc",),
    "polly": ("clang",),
}
"""{a peer: what it computes with}"""

_OPENBLAS_BITS = {
    512: ("SkylakeX", "Cooperlake", "SapphireRapids"),
    256: ("Sandybridge", "Haswell", "Bulldozer", "Piledriver", "Steamroller", "Excavator", "Zen"),
    128: (
        "Prescott",
        "Core2",
        "Penryn",
        "Dunnington",
        "Nehalem",
        "Atom",
        "Katmai",
        "Opteron",
        "Opteron_SSE3",
        "Barcelona",
        "Bobcat",
    ),
}
"""Vectors of the cores that OpenBLAS's dynamic builds know (its driver/others/dynamic.c and kernel/x86_64)."""

_MOST_S = 60  # of a process that is asked

_OPENBLAS = """
{0}
from threadpoolctl import threadpool_info
for each in threadpool_info():
    if each["internal_api"] == "openblas" and "{1}" in each["filepath"]:
        print(each["version"], each["architecture"])
"""
_LOADED = {  # what loads an OpenBLAS, and what its path has
    "NumPy": ("import numpy", "numpy.libs"),
    "SciPy": ("import scipy.linalg", "scipy.libs"),
    "the system": ("import ctypes; ctypes.CDLL('libopenblas.so.0')", "libopenblas"),
}
_TORCH = """
import torch
torch.mm(torch.ones(8, 8), torch.ones(8, 8))
torch.nn.functional.conv2d(torch.ones(1, 64, 56, 56), torch.ones(64, 64, 3, 3))
print("ATen", torch.backends.cpu.get_cpu_capability())
"""
_ONEDNN = "import numpy; from benchmarks.contractions import onednn; a = numpy.ones((8, 8), 'f4'); onednn.matmul(a, a, a.copy())()"
_LOOPS = "import numpy as np; print(np.lib.introspect.opt_func_info('^exp$', 'float64')['exp'].popitem()[1]['current'])"
_NUMBA = """
import llvmlite.binding, numba
features = llvmlite.binding.get_host_cpu_features()
print(numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name(), *(name for name in ("avx512f", "avx2") if features.get(name)))
"""


@dataclass(frozen=True)
class Choice:
    """A Choice is the code that a library runs on this machine.

    code: in the library's own words, or why there is none.
    vector_bits: the length of its vectors; None where it does not say.
    """

    library: str
    code: str
    vector_bits: int | None = None

    def line(self, machine_bits: int) -> str:
        if self.vector_bits is None:
            return f"{self.library}: {self.code}"
        mark = f", NARROWER than this machine's {machine_bits}" if self.vector_bits < machine_bits else ""
        return f"{self.library}: {self.code}, vectors of {self.vector_bits} bits{mark}"


def lines(peers: Collection[str]) -> list[str]:
    """Returns a line for each library that these peers compute with."""
    bits = machine.host().vector_bytes * 8
    return [chosen(library).line(bits) for library in dict.fromkeys(name for peer in peers for name in LIBRARIES.get(peer, ()))]


@cache
def chosen(library: str) -> Choice:
    """Returns what the library says in a process of its own."""
    if library.startswith("OpenBLAS"):
        return openblas(library, _said(_OPENBLAS.format(*_LOADED[library.removeprefix("OpenBLAS of ")])))
    if library in ("MKL", "oneDNN of PyTorch", "ATen"):
        return of_torch(library, _said(_TORCH))
    if library == "NumPy's loops":
        return by_isa_of_loops(library, _said(_LOOPS))
    if library == "oneDNN":
        return by_isa(library, _said(_ONEDNN))
    if library == "numba":
        return by_flags(library, _said(_NUMBA))
    return of_compiler(library)


def openblas(library: str, said: str) -> Choice:
    """Returns OpenBLAS's choice.

    >>> openblas("OpenBLAS", "0.3.31 Zen").line(512)
    "OpenBLAS: 0.3.31 Zen, vectors of 256 bits, NARROWER than this machine's 512"
    """
    core = said.split()[-1] if said else ""
    bits = next((bits for bits, cores in _OPENBLAS_BITS.items() if core in cores), None)
    return Choice(library, said.strip() or "not there", bits)


def of_torch(library: str, said: str) -> Choice:
    if library == "oneDNN of PyTorch":
        return by_isa(library, said)
    head = "ATen " if library == "ATen" else "MKL_VERBOSE oneMKL "
    found = [line.removeprefix(head) for line in said.splitlines() if line.startswith(head)]
    if not found:
        return Choice(library, "not there")
    text = found[0].replace("Product build ", "").replace("for Intel(R) 64 architecture ", "")
    return Choice(library, text, _bits(text))


def by_isa(library: str, said: str) -> Choice:
    r"""Returns the choice that oneDNN's verbose lines name.

    >>> by_isa("oneDNN", "onednn_verbose,info,oneDNN v3.2.0 (x)\nonednn_verbose,info,cpu,isa:Intel AVX2").line(256)
    'oneDNN: v3.2.0, Intel AVX2, vectors of 256 bits'
    """
    isa, version = re.search(r"cpu,isa:(.*)", said), re.search(r"oneDNN (v[\d.]+)", said)
    if isa is None:
        return Choice(library, "not there")
    text = f"{version[1]}, {isa[1]}" if version else isa[1]
    return Choice(library, text, _bits(isa[1]))


def by_isa_of_loops(library: str, said: str) -> Choice:
    """Returns NumPy's choice. It has one for each function; that of exp stands for all."""
    return Choice(library, f"{said.strip()} in exp", _bits(said)) if said else Choice(library, "not there")


def by_flags(library: str, said: str) -> Choice:
    return Choice(library, f"LLVM's {said.strip()}", _bits(said)) if said else Choice(library, "not there")


def of_compiler(name: str) -> Choice:
    if name == "gcc":
        command = ["gcc", "-march=native", "-Q", "--help=target"]
        found = _run(command) if which("gcc") else ""
        cpu = re.search(r"-march=\s+(\S+)", found)
        wide = (
            "avx512f"
            if re.search(r"-mavx512f\s+\[enabled\]", found)
            else "avx2"
            if re.search(r"-mavx2\s+\[enabled\]", found)
            else ""
        )
    else:
        from benchmarks.c_peers import clang_with_polly

        name = clang_with_polly() or name
        found = _run([name, "-march=native", "-###", "-x", "c", "-c", os.devnull]) if which(name) else ""
        cpu = re.search(r'"-target-cpu" "([^"]+)"', found)
        wide = "avx512f" if '"+avx512f"' in found else "avx2" if '"+avx2"' in found else ""
    return Choice(name, f"{cpu[1]} {wide}".strip(), _bits(wide)) if cpu else Choice(name, "not there")


def _bits(text: str) -> int | None:
    """Returns the length of the vectors that a text names; None where it names none.

    >>> _bits("Intel AVX-512 with DL Boost"), _bits("AVX512"), _bits("znver3 avx2"), _bits("Intel(R) Architecture processors")
    (512, 512, 256, None)
    """
    if re.search("avx-?512|X86_V4", text, re.IGNORECASE):
        return 512
    return 256 if re.search("avx|X86_V3", text, re.IGNORECASE) else None


@cache
def _said(program: str) -> str:
    """Returns what a Python program prints."""
    return _run([sys.executable, "-W", "ignore", "-c", program], MKL_VERBOSE="1", ONEDNN_VERBOSE="1")


def _run(command: Sequence[str], **variables: str) -> str:
    with default_choices():
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env={**os.environ, **variables}, timeout=_MOST_S
            )
        except subprocess.TimeoutExpired:
            return ""
    return done.stdout + (done.stderr if command[0] != sys.executable else "") if done.returncode == 0 else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chosen", description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument(
        "peers", nargs="*", default=list(LIBRARIES), metavar="PEER", help=f"of {' '.join(LIBRARIES)} (default: all)"
    )
    options = parser.parse_args()
    print(*lines(options.peers), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
