"""g++, which makes the emulator and libraries of kernels."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from tests.cuda.emulator.ptx import as_calls

_SOURCES = Path(__file__).parent / "runtime"
_DRIVER = Path(__file__).parent / "driver_library"
_CUBLAS = Path(__file__).parent / "cublas_library"
_FLAGS = ("-std=c++17", "-O2", "-g1", "-fPIC", "-w", "-fno-strict-aliasing", "-ffp-contract=off")
_KERNEL_FLAGS = (
    *_FLAGS,
    "-fsanitize=thread,bounds",
    "-fno-tree-vectorize",  # several accesses would become one
    "-fno-tree-slp-vectorize",
    "-fno-store-merging",
    "-fno-thread-jumps",  # an access would be at two places, and a warp's request two
)
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)")
_SHARED = re.compile(
    r"__shared__\s+(?:__align__\(\d+\)\s*|alignas\(\d+\)\s*)?((?:unsigned |signed |long |const )*\w+)\s+(\w+)\s*\["
)
_BYTES = {
    "char": 1,
    "bool": 1,
    "short": 2,
    "__half": 2,
    "__nv_bfloat16": 2,
    "int": 4,
    "unsigned": 4,
    "float": 4,
    "long": 8,
    "double": 8,
}
_BYTES |= {"float2": 4, "float4": 4, "double2": 8, "uint2": 4, "uint4": 4, "int2": 4, "int4": 4, "uint32_t": 4, "uint16_t": 2}


@dataclass(frozen=True)
class KernelText:
    """A KernelText says what of a kernel its text tells: its name, and (name, bytes of an element) of each parameter; 0 bytes: no array."""

    name: str
    parameters: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SharedArray:
    """A SharedArray is an array in shared memory of a kernel. address: in its library's file."""

    name: str
    address: int
    bytes: int
    element_bytes: int


class Symbols:
    """Symbols say where things are in the library of a text.

    thunks: {kernel: address of the function that calls it}. shared: {kernel: its arrays in shared memory}
    """

    def __init__(self, path: Path, text: str):
        listed = subprocess.run(["nm", "-S", str(path)], capture_output=True, text=True, check=True).stdout
        rows = [row for row in map(str.split, listed.splitlines()) if len(row) == 4]
        sizes = element_bytes(text)
        self.thunks = {row[3].removeprefix("emu_kernel_"): int(row[0], 16) for row in rows if row[3].startswith("emu_kernel_")}
        self.shared: dict[str, list[SharedArray]] = {}
        for start, size, _, symbol in rows:
            names = _local_name(symbol)
            if names and names[1] in sizes:
                found = SharedArray(names[1], int(start, 16), int(size, 16), sizes[names[1]])
                self.shared.setdefault(names[0], []).append(found)


def _local_name(symbol: str) -> tuple[str, str] | None:
    """Returns the function and the name of a static variable of a function.

    >>> _local_name("_ZZ6gemm_1E6A_tile")
    ('gemm_1', 'A_tile')
    """
    found = re.match(r"_ZZ(\d+)(\w+)", symbol)
    if found is None:
        return None
    function, rest = found[2][: int(found[1])], found[2][int(found[1]) :]
    name = re.match(r"E(\d+)(\w+)", rest)
    return (function, name[2][: int(name[1])]) if name else None


def compiler() -> str | None:
    """Returns the path of g++, None where there is none."""
    return shutil.which("g++")


def kernels_of(text: str) -> tuple[KernelText, ...]:
    """Returns the kernels of a CUDA text.

    >>> kernels_of('extern "C" __global__ void __launch_bounds__(256)\\ncopy_0(double *__restrict__ B, const long long n)')
    (KernelText(name='copy_0', parameters=(('B', 8), ('n', 0))),)
    """
    return tuple(
        KernelText(name, tuple(map(_parameter, filter(str.strip, given.split(","))))) for name, given in _KERNEL.findall(text)
    )


def with_static_arrays(text: str) -> str:
    r"""Returns a CUDA text in which arrays in shared memory that a launch asks for are declared as those that it has without.

    >>> print(with_static_arrays("extern __shared__ unsigned char m[];  // 8 bytes\nfloat (&A)[2] = *(float (*)[2])&m[0];"))
    <BLANKLINE>
    __shared__ __align__(16) float A[2];
    """
    text = re.sub(r"^ *extern __shared__ .*", "", text, flags=re.MULTILINE)
    return re.sub(r"([\w ]+?) \(&(\w+)\)((?:\[\d+\])+) = .*;", r"__shared__ __align__(16) \1 \2\3;", text)


def element_bytes(text: str) -> dict[str, int]:
    """Returns { name of an array in shared memory: bytes of its elements }; for one name with several types the least."""
    found: dict[str, int] = {}
    for kind, name in _SHARED.findall(with_static_arrays(text)):
        found[name] = min(found.get(name, 16), _bytes(kind))
    return found


def _parameter(declaration: str) -> tuple[str, int]:
    name = re.findall(r"\w+", declaration)[-1]
    kind, is_pointer, _ = declaration.partition("*")
    return name, _bytes(kind) if is_pointer else 0


def _bytes(kind: str) -> int:
    words = [word for word in kind.split() if word not in ("const", "signed")]
    return _BYTES.get(words[-1], 8 if "long" in words else 1)


@cache
def runtime() -> Path:
    """Returns the emulator's library, made at the first call on this machine for these sources."""
    files = sorted(each for folder in (_SOURCES, _DRIVER, _CUBLAS) for each in folder.rglob("*") if each.suffix in (".cpp", ".h"))
    key = hashlib.sha256(b"".join(each.read_bytes() for each in files) + repr(_KERNEL_FLAGS).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"polyml_cuda_emulator_{os.getuid()}", key)
    if folder.exists():
        return folder / "libemulator.so"
    own = [str(each) for each in files if each.suffix == ".cpp" and each.parent == _SOURCES]
    look_alikes = (("libcuda.so.1", _DRIVER, ("-lemulator",)), ("libcublas.so.13", _CUBLAS, ("-lemulator", "-l:libcuda.so.1")))
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(_SOURCES / "include", made, dirs_exist_ok=True)
        _run(*_FLAGS, "-shared", *own, "-o", f"{made}/libemulator.so")
        for name, source, needed in look_alikes:
            texts = [str(each) for each in files if each.suffix == ".cpp" and each.parent == source]
            found_there = (f"-L{made}", *needed, "-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{name}")
            _run(*_FLAGS, "-shared", *texts, *found_there, "-o", f"{made}/{name}")
        _run(*_KERNEL_FLAGS, "-x", "c++-header", f"{made}/cuda_emulator.h", "-o", f"{made}/cuda_emulator.h.gch")
        folder.parent.mkdir(exist_ok=True)
        staged = tempfile.mkdtemp(dir=folder.parent)
        shutil.copytree(made, staged, dirs_exist_ok=True)
    try:
        os.rename(staged, folder)
    except OSError:  # another process was faster
        shutil.rmtree(staged)
    return folder / "libemulator.so"


def library(text: str, path: Path) -> None:
    """Makes a shared library of a CUDA text for the emulator. Raises ValueError with what g++ says of an error."""
    path.write_bytes(_library(text))


@lru_cache(maxsize=64)  # a text runs in several orders of threads, and for several sizes
def _library(text: str) -> bytes:
    """Returns the shared library that g++ makes of a CUDA text."""
    calls = "".join(f"EMU_KERNEL({each.name})\n" for each in kernels_of(text))
    include = str(runtime().parent)
    with tempfile.TemporaryDirectory() as folder:
        source, made, linked = (Path(folder, f"kernels.{suffix}") for suffix in ("cu", "o", "so"))
        source.write_text(f"{_for_gcc(text)}\n{calls}")
        _run(
            *_KERNEL_FLAGS, "-I", include, "-include", f"{include}/cuda_emulator.h", "-x", "c++", "-c", str(source), "-o", str(made)
        )
        _run("-shared", str(made), "-o", str(linked))
        return linked.read_bytes()


def _for_gcc(text: str) -> str:
    """Returns a CUDA text with what g++ writes in another way; lines keep their numbers."""
    text = with_static_arrays(text)
    text = re.sub(r"#pragma unroll\b(?!\s+1\b).*", "#pragma GCC unroll 64", text)
    return as_calls(text)


def _run(*given: str) -> None:
    ran = subprocess.run([compiler() or "g++", *given], capture_output=True, text=True)
    if ran.returncode:
        raise ValueError(ran.stderr)


def lines_of(path: Path, offsets: list[int]) -> list[int]:
    """Returns the lines of the CUDA text in which instructions stand whose places in a library are given; 0 where it is not known."""
    if not offsets:
        return []
    ran = subprocess.run(
        ["addr2line", "-i", "-a", "-e", str(path), *(f"{each:#x}" for each in offsets)], capture_output=True, text=True, check=True
    )
    found: list[int] = []
    for line in ran.stdout.splitlines():
        if line.startswith("0x"):
            found.append(0)
        elif place := re.search(r"\.cu:(\d+)", line):  # the innermost call comes first, in a header where an intrinsic is inlined
            found[-1] = found[-1] or int(place[1])
    return found
