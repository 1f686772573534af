"""PolyBench's kernels and the array programs on a device, against their references."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context

import polyml
from benchmarks.gpu.devices import Device
from polyml import kernels
from polyml.kernels.arrays import workloads
from tests.opencl.programs import Outcome, array_programs, polybench


def checked(device: Device, only: str) -> int:
    """Runs PolyBench's kernels and the array programs against their references, prints those that are wrong, and returns how many are.
    They run in processes of their own, several at a time: most of their time goes to compilation.
    """
    names = [("loops", name) for name in kernels.NAMES] + [("arrays", name) for name in workloads()]
    jobs = [(kind, name, device.target) for kind, name in names if only in name]
    total = wrong = 0
    with ProcessPoolExecutor(min(8, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for outcome in chain.from_iterable(pool.map(_outcomes, jobs)):
            total += 1
            wrong += bool(outcome.problem or outcome.refused)
            if outcome.problem or outcome.refused:
                print(f"{outcome.name}: {outcome.problem or outcome.refused}")
    print(f"{total} kernels against their references: {wrong} wrong or not run\n", flush=True)
    return wrong


def _outcomes(job: tuple[str, str, polyml.Target | str]) -> list[Outcome]:
    """Returns what became of a kernel of PolyBench in loops, or of an array program, by its name and target."""
    kind, name, target = job
    return list(polybench((name,), target=target) if kind == "loops" else array_programs((name,), target=target))
