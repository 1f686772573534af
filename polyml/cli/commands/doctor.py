"""What `polyml doctor` looks at: versions, the CPU, threads, the cache's folder, and whether a kernel compiles."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from polyml import config
from polyml.errors import PolymlError
from polyml.machines.cpu import CacheLevel, CpuMachine, host

_OPENMP = re.compile(r"/(lib(?:gomp|iomp5|omp5?)(?:-[^/]*)?\.(?:so|dylib)[^/]*)$")


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis is one line of what `polyml doctor` prints about the installation.

    name, text: the two columns of the line.
    data: the same content for --json.
    ok: whether all is well; if not, the line is red and the command's exit status is 1.
    """

    name: str
    text: str
    data: object
    ok: bool = True


def examine() -> list[Diagnosis]:
    """Runs all examinations of `polyml doctor`, a test compilation included, and returns their diagnoses in the order of
    printing.
    """
    options = config.resolve()
    return [
        *_versions(),
        *_cpu(host()),
        *_threads(options),
        _openmp(),
        *_cache(options),
        _defects(options),
        _settings(),
        _self_test(),
    ]


def _versions() -> list[Diagnosis]:
    import llvmlite.binding

    python = f"{platform.python_version()} ({sys.executable})"
    llvm = ".".join(map(str, llvmlite.binding.llvm_version_info))
    names = ("polyml", "islpy", "llvmlite", "numpy", "ml_dtypes")
    versions = {name: version(name) for name in names}
    texts = {**versions, "llvmlite": f"{versions['llvmlite']} (LLVM {llvm})"}
    return [
        Diagnosis("polyml", texts["polyml"], versions["polyml"]),
        Diagnosis("python", python, platform.python_version()),
        *(Diagnosis(name, texts[name], versions[name]) for name in names[1:]),
    ]


def version(package: str) -> str:
    """Returns the installed version of a package; a text that says so where it is not installed but runs from its folder."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed (runs from its folder)"


def _cpu(machine: CpuMachine) -> list[Diagnosis]:
    vectors = f"{machine.vector_bytes * 8} bits, {machine.vector_registers} registers, " + (
        "fused multiply-add" if machine.fma else "no fused multiply-add"
    )
    caches = [vars(c) for c in machine.caches]
    return [
        Diagnosis("cpu", f"{machine.name} ({machine.isa}, {machine.cpu_name} to LLVM)", machine.cpu_name),
        Diagnosis("vectors", vectors, {"bytes": machine.vector_bytes, "registers": machine.vector_registers}),
        Diagnosis("caches", "; ".join(map(_cache_text, machine.caches)), caches),
    ]


def _cache_text(level: CacheLevel) -> str:
    size = level.size_bytes // 1024
    text = f"L{level.level} {size // 1024} MiB" if size >= 1024 else f"L{level.level} {size} KiB"
    shared = f", shared by {level.shared_by}" if level.shared_by > 1 else ""
    return f"{text} {level.ways}-way{shared}"


def _threads(options: config.Options) -> list[Diagnosis]:
    from polyml.runtime.loading import thread_pool

    cores, total = host().cores, os.cpu_count() or 1
    count = thread_pool.count(options.threads)
    text = f"{cores} usable" + (f" of {total}" if total != cores else "")
    return [
        Diagnosis("cores", text, {"usable": cores, "total": total}),
        Diagnosis("threads", f"{count}, in a pool of its own", {"count": count, "pool": "own"}),
    ]


def _openmp() -> Diagnosis:
    """Returns a diagnosis of the OpenMP runtimes that NumPy has loaded into this process; polyml itself uses none."""
    import numpy  # noqa: F401  the libraries it brings are part of the answer

    found = loaded_openmp(_maps())
    return Diagnosis("openmp", ", ".join(found) if found else "none loaded, none needed", found)


def loaded_openmp(maps: str) -> list[str]:
    """Returns the file names of the OpenMP runtimes in `maps`, the text of /proc/self/maps."""
    return sorted({found[1] for line in maps.splitlines() if (found := _OPENMP.search(line))})


def _maps() -> str:
    try:
        return Path("/proc/self/maps").read_text()
    except OSError:
        return ""


def _cache(options: config.Options) -> list[Diagnosis]:
    from polyml.runtime.storage.disk_cache import open_cache

    if not options.cache:
        return [Diagnosis("cache", "switched off", None)]
    cache = open_cache(options)
    if cache is None:
        return [Diagnosis("cache", "no folder, HOME names none", None, ok=False)]
    if cache.fault():
        return [Diagnosis("cache", f"not used: {cache.fault()}", {"folder": cache.folder, "fault": cache.fault()}, ok=False)]
    info = cache.info()
    writable = _is_writable(Path(info.folder))
    text = f"{info.folder}: {info.entries} entries, {info.size_bytes / 1e6:.1f} of {info.limit_bytes / 1e6:.0f} MB"
    data = {"folder": info.folder, "entries": info.entries, "size_bytes": info.size_bytes, "writable": writable}
    return [Diagnosis("cache", text + ("" if writable else ", not writable"), data, writable)]


def _is_writable(folder: Path) -> bool:
    """Returns whether files can be made in a folder, or in its nearest parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _defects(options: config.Options) -> Diagnosis:
    """Returns a diagnosis of the compiler's failures that are kept in the cache folder, those of earlier versions included."""
    from polyml.bundles.bundle import first_line
    from polyml.bundles.folder import kept
    from polyml.runtime.storage.disk_cache import open_cache

    cache = open_cache(options)
    known = [] if cache is None or cache.fault() else [(str(file), first_line(file)) for file in kept(cache)]
    text = "\n".join(f"{file}\n  {what}" for file, what in known)
    data = [{"bundle": file, "failure": what} for file, what in known]
    return Diagnosis("defects", f"{len(known)}, each in a file that repeats it\n{text}" if known else "none are kept", data)


def _settings() -> Diagnosis:
    given = config.environment()
    text = ", ".join(f"POLYML_{name.upper()}={value}" for name, value in given.items())
    return Diagnosis("settings", text or "no POLYML_* variable is set", {k: str(v) for k, v in given.items()})


def _self_test() -> Diagnosis:
    """Compiles a small kernel, runs it on two threads and compares it with NumPy. Returns a diagnosis of how that went."""
    start = time.perf_counter()
    try:
        wrong = _compiled_differs()
    except PolymlError as error:
        return Diagnosis("self-test", f"failed\n{error}", str(error), ok=False)
    except Exception as error:  # the doctor reports what is broken and goes on
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        return Diagnosis("self-test", f"failed: {type(error).__name__}: {error} ({where})", str(error), ok=False)
    taken_ms = (time.perf_counter() - start) * 1e3
    if wrong:
        return Diagnosis("self-test", f"failed: {wrong}", wrong, ok=False)
    return Diagnosis("self-test", f"a kernel compiles and is right ({taken_ms:.0f} ms)", "ok")


def _compiled_differs() -> str:
    import numpy as np

    from polyml.api import kernel
    from polyml.cli.commands.doctor_kernel import scaled_product

    compiled = kernel(scaled_product, cache=False, fallback="error", threads=2)
    rng = np.random.default_rng(0)
    a, b, c = rng.random((33, 17)), rng.random((17, 65)), rng.random((33, 65))
    expected = 0.5 * c + a @ b
    compiled(a, b, c)
    return "" if np.allclose(c, expected, rtol=1e-12) else "the compiled kernel gives a wrong result"
