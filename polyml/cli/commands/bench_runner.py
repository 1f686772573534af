"""What `polyml bench` runs: the kernels of `kernels` are compiled, compared with their references, and timed."""

from __future__ import annotations

import copy
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
    """The compile times say what it takes to have a kernel ready in a new process, in seconds.

    import_s: `import polyml`.
    libraries_s: importing the compiler with isl and LLVM, once in a process.
    compile_s: all stages, and linking the code.
    stages: the parts of compile_s by name.
    peak_mb: the process's memory at most, in MB.
    cached_s: the first call with the kernel in the disk cache, all that is needed after `import polyml`.
    given_up: what isl's budgets did not suffice for.
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
    """A row has the figures of one kernel at one size. Figures that were not measured are None.

    kernel, preset, size: the kernel, the name of its size, and the sizes.
    dtype: the type of its elements.
    threads: how many run it; 0: one for each core.
    compile: what it takes to have it ready.
    run_s: the median time of a call.
    rate: work per second, in `unit`.
    error: the largest |result - reference|.
    bound_ratio: the largest part of the rounding bound that an element's error takes, at most 1 for a right result.
    numpy_s: the time of the NumPy form, where there is one.
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
        """Says whether the kernel ran and its result is right."""
        return not self.failure and self.bound_ratio is not None and self.bound_ratio <= 1.0

    @property
    def numpy_ratio(self) -> float | None:
        """Returns the time of the NumPy form over polyml's: above 1, polyml is faster."""
        return None if self.numpy_s is None or self.run_s is None else self.numpy_s / self.run_s


class Runner:
    """A runner makes a call, whose arguments are put back before each run, outside the time that is taken."""

    def __init__(self, call: Callable[..., object], arguments: Mapping[str, object]):
        self.call, self.fresh, self.used = call, arguments, copy.deepcopy(dict(arguments))

    def run(self) -> tuple[float, Mapping[str, object]]:
        """Runs the call, and returns its seconds and {argument: value after the call}; a call that returns a dict of outputs
        changes nothing.
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
    on_row: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Runs kernels, and returns a row for each.

    names: the kernels, as `kernels.canonical` takes them.
    settings: settings of `polyml.kernel`.
    on_row: is called with each row as soon as it is there.
    Raises ConfigError for a name, a preset or a setting that does not exist.
    """
    rows = []
    for benchmark in [kernels.load(n) for n in names]:
        row = _row(benchmark, spec, settings)
        if on_row is not None:
            on_row(row)
        rows.append(row)
    return rows


def _row(benchmark: Benchmark, spec: BenchSpec, settings: Mapping[str, object]) -> Row:
    """Returns the row of one kernel: its results compared with the reference, then its times."""
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
    """Returns the median time of `repeat` runs, or of as many as fit the budget, at least one.

    known_s: the time of a run that was already made.
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
    """Returns the variables of the environment that override which code a library chooses for this processor."""
    return tuple(name for name in OVERRIDES if name in os.environ)


def compile_times(name: str, dtype: str | None = None, preset: str = "LARGE", **options: object) -> CompileTimes:
    """Compiles a kernel in one new process without the disk cache, then fills a cache in a second and loads from it in a third.
    Returns the times.

    dtype: the type of elements, in place of the kernel's own.
    preset: the sizes for which the first process compiles, without running the kernel. The others run it, at MINI size, which
        takes microseconds, and peak_mb is theirs.
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
    """Returns what a process of its own finds of a compilation."""
    command = [sys.executable, "-c", _CHILD, json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise PolymlError(f"compiling {order['kernel']} in a process of its own failed: {last[0]}")
    return json.loads(done.stdout)


def _peak_mb() -> float:
    """Returns the most memory of this process since it began. Linux's ru_maxrss begins with what the process before it had."""
    status = Path("/proc/self/status")
    if status.exists():
        (kib,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(kib) / 1e3
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def report_compile(order: str, import_s: float) -> None:
    """Compiles what `order` (JSON) describes, and prints the figures as JSON: what a process of `compile_times` does."""
    job = json.loads(order)
    benchmark = kernels.load(job["kernel"])
    element = np.dtype(job["dtype"] or benchmark.dtype)
    size = benchmark.sizes[job["preset"] or "MINI"]
    arguments = tuple(benchmark.inputs(size, np.random.default_rng(0), element).values())
    start = time.perf_counter()
    if job["libraries"]:
        pass  # isl, LLVM and the compiler itself
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
    """Returns {stage: seconds} of the first call, and no notes."""
    kernel(*arguments)
    return dict(kernel.timings), ()


def _lowered(kernel: Kernel, arguments: tuple) -> tuple[dict[str, float], Sequence[str]]:
    """Returns {stage: seconds} to have code for the arguments, and what was decided."""
    from polyml.runtime.loading import load

    compiled = kernel.lower(*arguments)
    load.load(compiled.artifact.object_code, compiled.artifact.entry)
    return dict(compiled.timings), compiled.artifact.notes
