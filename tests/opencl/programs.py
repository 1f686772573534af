"""What is run: PolyBench's kernels, array programs and random programs, each compared with an oracle that shares no code with it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import polyml
from polyml import kernels
from polyml.kernels.arrays import workloads
from tests.opencl import footprints


@dataclass(frozen=True)
class Outcome:
    """problem: what is wrong, "" where nothing is. refused: why the device did not run it."""

    name: str
    problem: str = ""
    refused: str = ""


def polybench(names: tuple[str, ...] = kernels.NAMES, preset: str = "MINI", target: object = "opencl") -> Iterator[Outcome]:
    """The kernels of PolyBench in loops."""
    for name in names:
        benchmark = kernels.load(name)
        size = benchmark.sizes[preset]
        arguments = benchmark.inputs(size, np.random.default_rng(0), benchmark.dtype)
        wanted = benchmark.reference(*copy.deepcopy(arguments).values())
        refused = _ran(benchmark.kernel, tuple(arguments.values()), target)[1]
        parts = benchmark.determined(size) if benchmark.determined else {}
        problems = (_difference(output, arguments[output], wanted[output], parts.get(output, ...)) for output in benchmark.outputs)
        yield Outcome(name, "" if refused else next(filter(None, problems), ""), refused)


def array_programs(names: tuple[str, ...] = (), preset: str = "", target: object = "opencl") -> Iterator[Outcome]:
    """Programs as NumPy users write them; all of them where no names are given."""
    found = workloads()
    for name in names or found:
        workload = found[name]
        refused: list[str] = []

        def run(*arguments: object, kernel: object = workload.kernel, why: list[str] = refused) -> object:
            result, reason = _ran(kernel, arguments, target)
            why.append(reason)
            return result

        problem = workload.problem(preset or min(workload.sizes, key=lambda each: _volume(workload.sizes[each])), run)
        yield Outcome(name, "" if refused[-1] else problem, refused[-1])


def shared_footprints(names: tuple[str, ...] = tuple(footprints.NAMES), target: object = "opencl") -> Iterator[Outcome]:
    """The kernels of `footprints`, against plain Python."""
    for name in names:
        found, wanted = footprints.arguments(name), footprints.arguments(name)
        footprints.NAMES[name](*wanted)
        refused = _ran(footprints.NAMES[name], found, target)[1]
        same = all(map(np.array_equal, found, wanted))
        yield Outcome(name, "" if refused or same else "other numbers", refused)


def _volume(size: dict[str, int]) -> int:
    return int(np.prod([max(each, 1) for each in size.values()], dtype=float))


def _ran(kernel: object, arguments: tuple, target: object) -> tuple[object, str]:
    """(what the kernel returns on the device, why it did not run there)"""
    on_device = polyml.kernel(kernel, target=target, fallback="error", cache=False)
    try:
        return on_device(*arguments), ""
    except polyml.PolymlError as problem:
        return None, f"{type(problem).__name__}: {problem.message}"


def _difference(name: str, found: object, wanted: object, part: object) -> str:
    one, other = np.asarray(found)[part], np.asarray(wanted)[part]
    scale = np.max(np.abs(other), initial=1e-300)
    apart = np.max(np.abs(one - other), initial=0.0) / scale
    return "" if one.shape == other.shape and apart <= (1e-4 if one.dtype == np.float32 else 1e-9) else f"{name}: {apart:.1e} apart"
