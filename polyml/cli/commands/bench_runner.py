"""What `polyml bench` runs: the kernels of `kernels` are compiled, compared with their references, and timed."""

from __future__ import annotations

import copy
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from polyml import kernels
from polyml.api import Kernel
from polyml.cli.inputs.command_specs import BenchSpec
from polyml.errors import PolymlError
from polyml.kernels import Benchmark
from polyml.kernels._accuracy import compare

_RUN_BUDGET_S = 20.0
_CHILD = """
import sys, time
start = time.perf_counter()
import polyml
seconds = time.perf_counter() - start
from polyml.cli.commands import bench_runner as bench
bench.report_compile(sys.argv[1], seconds)
"""


@dataclass(frozen=True, kw_only=True)
class CompileTimes:
    """The times, in seconds, that it takes to have a kernel ready in a new process.

    import_s: `import polyml`.
    libraries_s: importing the compiler with isl and LLVM, once in a process.
    compile_s: all stages, and linking the code.
    stages: the parts of compile_s, {stage: seconds}.
    peak_mb: the most memory that the process had, in MB.
    cached_s: the first call where the kernel is in the disk cache, which is all that is needed after `import polyml`.
    given_up: notes on what the compiler gave up because isl took longer than its budgets.
    """

    import_s: float
    libraries_s: float
    compile_s: float
    stages: Mapping[str, float]
    peak_mb: float
    cached_s: float
    given_up: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row holds the figures of one kernel at one size. Figures that were not measured are None.

    kernel, preset, size: the kernel, the name of the size set (such as "LARGE"), and {parameter: value} in it.
    dtype: the type of the kernel's elements.
    threads: how many threads run the kernel; 0: one for each core.
    compile: how long it takes to have the kernel ready.
    run_s: the median time of a call in seconds.
    rate: work per second, in `unit`.
    error: the largest |result - reference|.
    bound_ratio: the largest quotient of an element's error and the bound on its rounding error, at most 1 for a right result.
    numpy_s: the median time in seconds of the same computation written in NumPy, where there is one.
    failure: the error that kept the kernel from running; "" for none.
    """

    kernel: str
    preset: str
    size: Mapping[str, int]
    dtype: str
    threads: int
    compile: CompileTimes | None = None
    run_s: float | None = None
    rate: float | None = None
    unit: str = ""
    error: float | None = None
    bound_ratio: float | None = None
    numpy_s: float | None = None
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Returns whether the kernel ran, and no element of its result is farther from the reference than the bound on its rounding
        error.
        """
        return not self.failure and self.bound_ratio is not None and self.bound_ratio <= 1.0

    @property
    def numpy_ratio(self) -> float | None:
        """Returns NumPy's time divided by polyml's, above 1 where polyml is faster; None where one of them was not measured."""
        return None if self.numpy_s is None or self.run_s is None else self.numpy_s / self.run_s


class Runner:
    """A runner calls a function and measures the time. Before each call it restores the arguments; that time is not counted."""

    def __init__(self, call: Callable[..., object], arguments: Mapping[str, object]):
        self.call, self.fresh, self.used = call, arguments, copy.deepcopy(dict(arguments))

    def run(self) -> tuple[float, Mapping[str, object]]:
        """Calls the function once and returns (seconds, values): {output: value} where the function returns a dict, as a reference
        computation does, and else {argument: value after the call}.
        """
        for name, value in self.used.items():
            if isinstance(value, np.ndarray):
                np.copyto(value, np.asarray(self.fresh[name]))
        values = tuple(self.used.values())
        start = time.perf_counter()
        result = self.call(*values)
        seconds = time.perf_counter() - start
        return seconds, result if isinstance(result, dict) else self.used


def run(
    names: Sequence[str],
    spec: BenchSpec,
    settings: Mapping[str, object] = MappingProxyType({}),
    on_kernel: Callable[[int, str], None] = lambda count, name: None,
) -> list[Row]:
    """Runs kernels one after another, compares them with their references and times them. Returns a row of figures for each.

    names: the kernels, in any spelling that `kernels.canonical` accepts.
    spec: the sizes, threads, repetitions and the seed.
    settings: settings of `polyml.kernel`.
    on_kernel: called before each kernel with how many are done, and with its name.
    Raises ConfigError for a name, a preset or a setting that does not exist.
    """
    rows: list[Row] = []
    for benchmark in [kernels.load(n) for n in names]:
        on_kernel(len(rows), benchmark.name)
        rows.append(_row(benchmark, spec, settings))
    return rows


def _row(benchmark: Benchmark, spec: BenchSpec, settings: Mapping[str, object]) -> Row:
    """Runs one kernel, compares its results with the reference, times it, and returns its row of figures."""
    preset = kernels.preset(spec.preset)
    size = benchmark.sizes[preset]
    element = np.dtype(benchmark.dtype if spec.dtype is None or benchmark.terms is None else spec.dtype)
    row = Row(kernel=benchmark.name, preset=preset, size=size, dtype=element.name, threads=spec.threads)
    arguments = benchmark.inputs(size, np.random.default_rng(spec.seed), element)
    kernel = Kernel(benchmark.kernel.py_func, {"fallback": "error", "threads": spec.threads, **settings})
    runner = Runner(kernel, arguments)
    try:
        _, values = runner.run()
        got = {name: np.copy(np.asarray(values[name])) for name in benchmark.outputs}
        if not spec.check_only:
            times = compile_times(benchmark.name, element.name, preset, **settings)
            seconds = _median(runner, spec.repeat)
            rate = benchmark.rate(size, seconds, element.itemsize)
            row = replace(row, compile=times, run_s=seconds, rate=rate, unit=benchmark.unit)
    except PolymlError as error:
        return replace(row, failure=str(error))
    reference = Runner(benchmark.reference, arguments)
    numpy_s, expected = reference.run()
    accuracy = compare(benchmark, size, arguments, got, expected)
    row = replace(row, error=accuracy.error, bound_ratio=accuracy.ratio)
    if spec.check_only or not benchmark.numpy:
        return row
    return replace(row, numpy_s=_median(reference, spec.repeat, numpy_s))


def _median(runner: Runner, repeat: int, known_s: float | None = None) -> float:
    """Returns the median time of `repeat` runs, or of as many as fit into 20 seconds, at least one.

    known_s: the time of a run that was already made; it counts as one.
    """
    found = [] if known_s is None else [known_s]
    while len(found) < max(repeat, 1) and sum(found) < _RUN_BUDGET_S:
        found.append(runner.run()[0])
    return statistics.median(found)


OVERRIDES = (
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE", "BLIS_MODEL_TYPE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE",
    "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS", "ATEN_CPU_CAPABILITY", "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_DISABLE_JIT", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES",
)  # fmt: skip


def overrides() -> tuple[str, ...]:
    """Returns the names of those environment variables that are set and change which machine code a numerical library, such as
    OpenBLAS, chooses for this processor.
    """
    return tuple(name for name in OVERRIDES if name in os.environ)


def compile_times(name: str, dtype: str | None = None, preset: str = "LARGE", **options: object) -> CompileTimes:
    """Returns how long a kernel takes to compile in a new process, and to load from the disk cache in another one.

    Three processes run: the first compiles without the cache, the second fills a cache, the third loads from it.

    dtype: the type of elements; None: the kernel's own.
    preset: the sizes for which the first process compiles, without running the kernel. The others run it at MINI size, which takes
        microseconds; peak_mb is that of the second one.
    options: settings of `polyml.kernel`.
    """
    order = {"kernel": name, "dtype": dtype, "preset": preset}
    cold = _child({**order, "options": {**options, "cache": False}, "libraries": True})
    with tempfile.TemporaryDirectory(prefix="polyml-bench-") as folder:
        cached = {**order, "options": {**options, "cache": True, "cache_dir": folder}}
        cached["preset"] = ""
        filled = _child({**cached, "libraries": True})
        warm = _child({**cached, "libraries": False})
    if not warm["from_cache"]:
        raise PolymlError(f"the compiled {name} was not found in the cache by the next process")
    del cold["from_cache"]
    cold |= {"peak_mb": filled["peak_mb"], "given_up": tuple(cold["given_up"])}
    return CompileTimes(**cold, cached_s=warm["compile_s"])


def _child(order: Mapping[str, object]) -> dict[str, Any]:  # Any: JSON that this module wrote
    """Runs `report_compile` in a new process and returns the figures that it prints.

    order: the kernel, dtype, preset and settings, as `report_compile` reads them.
    Raises PolymlError where the process fails.
    """
    command = [sys.executable, "-c", _CHILD, json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise PolymlError(f"compiling {order['kernel']} in a process of its own failed: {last[0]}")
    return json.loads(done.stdout)


def _peak_mb() -> float:
    """Returns the most memory that this process has had, in MB.

    It is read from /proc where there is one, since Linux's ru_maxrss begins with what the parent process had.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (kib,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(kib) / 1e3
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def report_compile(order: str, import_s: float) -> None:
    """Compiles a kernel and prints the figures as JSON; the processes that `compile_times` starts run it.

    order: JSON with the kernel, dtype, preset and settings.
    import_s: how long `import polyml` took in this process, in seconds.
    """
    job = json.loads(order)
    benchmark = kernels.load(job["kernel"])
    element = np.dtype(job["dtype"] or benchmark.dtype)
    size = benchmark.sizes[job["preset"] or "MINI"]
    arguments = tuple(benchmark.inputs(size, np.random.default_rng(0), element).values())
    start = time.perf_counter()
    if job["libraries"]:
        importlib.import_module("polyml.pipeline.compile")  # isl, LLVM and the compiler itself
    libraries_s = time.perf_counter() - start
    kernel = Kernel(benchmark.kernel.py_func, {"fallback": "error", **job["options"]})
    start = time.perf_counter()
    stages, notes = _lowered(kernel, arguments) if job["preset"] else _called(kernel, arguments)
    compile_s = time.perf_counter() - start
    found = {
        "import_s": import_s,
        "libraries_s": libraries_s,
        "compile_s": compile_s,
        "stages": stages,
        "peak_mb": _peak_mb(),
        "from_cache": bool(kernel.from_cache),
        "given_up": [note for note in notes if "given up" in note],
    }
    print(json.dumps(found))


def _called(kernel: Kernel, arguments: tuple) -> tuple[dict[str, float], Sequence[str]]:
    """Calls the kernel. Returns {stage: seconds} of its compilation or load, and (), as there are no notes on what was decided."""
    kernel(*arguments)
    return dict(kernel.timings), ()


def _lowered(kernel: Kernel, arguments: tuple) -> tuple[dict[str, float], Sequence[str]]:
    """Compiles and loads code for the arguments without running it. Returns {stage: seconds}, and notes on what was decided."""
    from polyml.runtime.loading import load

    compiled = kernel.lower(*arguments)
    load.load(compiled.artifact.object_code, compiled.artifact.entry)
    return dict(compiled.timings), compiled.artifact.notes
