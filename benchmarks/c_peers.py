"""C compilers as peers: the kernel's source as C, by gcc, by clang with Polly, or through Pluto to gcc."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.c_source import c_source
from benchmarks.peer import Call, PeerUnavailable, built
from polyml.kernels import Benchmark

_FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=gnu11", "-fPIC")


def gcc(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    return {"": _compiled(benchmark, arguments, [[_gcc(), *_FLAGS]])}


def polly(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    compiler = clang_with_polly()
    if compiler is None:
        raise PeerUnavailable("there is no clang with Polly")
    command = [compiler, *_FLAGS, "-mllvm", "-polly"]
    forms = {"serial": _compiled(benchmark, arguments, [command])}
    if threads > 1:
        forms["parallel"] = _compiled(benchmark, arguments, [[*command, "-mllvm", "-polly-parallel"]], ["-lgomp"])
    return forms


def pluto(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    """Returns the kernel in Pluto's tiles, on several threads with its parallel loops, compiled by gcc."""
    compiler = shutil.which("polycc")
    if compiler is None:
        raise PeerUnavailable("Pluto (polycc) is not installed")
    tiled = [compiler, "--tile", *(["--parallel"] if threads > 1 else ["--noparallel"])]
    return {"": _compiled(benchmark, arguments, [tiled, [_gcc(), *_FLAGS, "-fopenmp"]], ["-lgomp"], scop=True)}


def _gcc() -> str:
    compiler = shutil.which("gcc")
    if compiler is None:
        raise PeerUnavailable("gcc is not installed")
    return compiler


@cache
def clang_with_polly() -> str | None:
    """Returns the first clang in the path, newest version first, that takes Polly's option."""
    for name in ("clang", *(f"clang-{version}" for version in range(30, 9, -1))):
        compiler = shutil.which(name)
        if compiler is None:
            continue
        test = subprocess.run(
            [compiler, "-O3", "-mllvm", "-polly", "-x", "c", "-c", "-", "-o", os.devnull],
            input=b"void f(void) {}", capture_output=True, check=False,
        )  # fmt: skip
        if test.returncode == 0:
            return compiler
    return None


@cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def _compiled(
    benchmark: Benchmark,
    arguments: Mapping[str, object],
    steps: Sequence[list[str]],
    libraries: Sequence[str] = (),
    scop: bool = False,
) -> Call:
    """Compiles the kernel's C source.

    steps: commands that take C and print C, and last a compiler.
    scop: whether the loops are marked as Pluto wants them.
    """
    text = c_source(benchmark.kernel.py_func, arguments, benchmark.dtype, scop=scop)
    *translators, compiler = steps
    # Linked without -ffast-math, with which GCC's libraries let the whole process flush subnormal numbers to zero.
    # Libraries come last, or the linker drops what only they define.
    link = [compiler[0], "-shared", "kernel.o", "-o", "kernel.so", "-lm", *libraries]
    files = ["kernel.c", *(f"kernel.{k}.c" for k in range(len(translators)))]
    commands = [[*step, source, "-o", target] for step, source, target in zip(translators, files, files[1:])]
    commands += [[*compiler, "-c", files[-1], "-o", "kernel.o"], link]

    def make(folder: Path) -> None:
        Path(folder, files[0]).write_text(text)
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode != 0:
                raise PeerUnavailable(f"{Path(command[0]).name} failed: {done.stderr.strip().splitlines()[-1:]}")

    folder = built(make, text, repr(commands), *(_version(step[0]) for step in steps))
    function = getattr(ctypes.CDLL(str(folder / "kernel.so")), benchmark.name)
    function.restype = None
    real = {"float32": ctypes.c_float, "float64": ctypes.c_double}.get(benchmark.dtype)

    def call(*values: object) -> None:
        function(*(_c_value(v, real) for v in values if not isinstance(v, int)))

    return call


def _c_value(value: object, real: type | None) -> object:
    return ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else real(value)
