"""From a decorated function to its first result, in a new process, without the disk cache."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.contractions import products
from benchmarks.contractions.problem import product_error, uniform
from benchmarks.interleaved_processes import Failed, Process


@dataclass(frozen=True)
class Job:
    case: str
    dtype: str
    threads: int


@dataclass(frozen=True)
class Row:
    """A Row is one cold start.

    seconds: to decorate `products.product` and to call it once; the imports of isl, LLVM and the compiler are done before.
    """

    case: str
    dtype: str
    seconds: float | None
    note: str = ""


def cold_rows(cases: Sequence[str], dtype: str, threads: int) -> Iterator[Row]:
    for case in cases:
        process = Process(Job(case, dtype, threads), serve)
        try:
            process.prepare()
        finally:
            process.close()
        failure = process.failure
        yield Row(case, dtype, process.ready, "" if failure is None else f"{failure.kind}: {failure.reason}")


def serve(connection: Connection, job: Job) -> None:
    """Sends the seconds, or Failed."""
    import polyml
    import polyml.pipeline.compile  # isl, LLVM and the compiler itself

    m, n, k = (int(size) for size in job.case.split("x"))
    random = np.random.default_rng(0)
    A, B, C = uniform(random, (m, k), job.dtype), uniform(random, (k, n), job.dtype), np.zeros((m, n), job.dtype)
    try:
        start = time.perf_counter()
        polyml.kernel(threads=job.threads, cache=False, fallback="error")(products.product)(C, A, B)
        seconds = time.perf_counter() - start
    except Exception as error:  # becomes a line of the table
        connection.send(Failed("error", f"{type(error).__name__}: {error}".splitlines()[0]))
        return
    error = product_error(C, A.astype("f8") @ B.astype("f8"), k)
    connection.send(seconds if error <= 1.0 else Failed("wrong", f"{error:.3g} times the bound away from the reference"))
