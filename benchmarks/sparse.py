"""Sparse matrices, by polyml beside SciPy and numba:  python -m benchmarks.sparse [OPERATIONS] --matrices banded_5,power_law --threads 2

polyml compiles what is written with matrices (`A @ x`), or with loops over their arrays; numba gets loops, with fastmath or without,
whichever is faster, and on several threads `prange` over the rows of products; `--peers mkl` is MKL's inspector and executor. Each peer has a process of its own; these take turns, after each
result was compared with one of NumPy or SciPy. The share of the bandwidth is that of 12 bytes for each element and 20 for each row and
column (int32 indices) in what `benchmarks.bandwidth` reads in a second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sparse_matrices as given
from benchmarks.bandwidth import Stream
from benchmarks.interleaved_processes import Failed, taking_turns
from benchmarks.mkl_sparse import InspectedMatrix
from benchmarks.numba_source import numba_source
from benchmarks.results import geometric_mean, write_rows
from benchmarks.sparse_matrices import MATRICES, Rows

PEERS = ("polyml", "scipy", "numba", "mkl")
OPERATIONS = ("product", "columns_8", "columns_32", "columns_128", "triangular_solve", "conjugate_gradients")
_TURN_S, _TURN_CALLS, _TRIALS = 0.05, 9, 3
_BUFFER = 2**28  # bytes over which the bandwidth is measured
Call = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Job:
    """A Job is one peer on one operation with a matrix. elements: about how many the matrix has."""

    peer: str
    operation: str
    matrix: str
    elements: int
    threads: int


@dataclass(frozen=True)
class Row:
    """A Row is one operation with one matrix.

    shape: (rows, elements) of the matrix.
    seconds: of each peer, the median of its turns.
    ratios: the median over the rounds of each peer's time / polyml's.
    share: of the bandwidth, for products with a vector.
    """

    operation: str
    matrix: str
    shape: tuple[int, int]
    seconds: Mapping[str, float] = field(default_factory=dict)
    ratios: Mapping[str, float] = field(default_factory=dict)
    share: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ready:
    """A Ready says that a peer has computed a right result. shape: (rows, elements) of the matrix."""

    shape: tuple[int, int]


def inputs(job: Job) -> tuple[Rows, np.ndarray]:
    """Returns the matrix, and the vector or dense matrix beside it."""
    rows = given.matrix(job.matrix, job.elements)
    if job.operation == "triangular_solve":
        rows = given.lower_triangle(rows)
    elif job.operation == "conjugate_gradients":
        rows = given.positive_definite(rows)
    count = int(job.operation.partition("_")[2]) if job.operation.startswith("columns") else None
    return rows, np.random.default_rng(1).uniform(0, 1, rows.size if count is None else (rows.size, count))


def is_right(job: Job, rows: Rows, x: np.ndarray, result: np.ndarray) -> bool:
    """Returns whether a result is right, by what NumPy computes."""
    if job.operation.startswith("columns"):
        return all(np.allclose(rows.product(x[:, c]), result[:, c]) for c in (0, x.shape[1] // 2, x.shape[1] - 1))
    if job.operation == "product":
        return np.allclose(rows.product(x), result)
    if job.operation == "conjugate_gradients":
        return np.allclose(given.conjugate_gradients(scipy_matrix(rows), x), result)
    return np.allclose(rows.product(result), x, rtol=1e-3, atol=1e-3)


def scipy_matrix(rows: Rows) -> Any:
    """Returns SciPy's matrix."""
    import scipy.sparse as sparse

    return sparse.csr_array((rows.val, rows.col, rows.ptr), (rows.size, rows.size))


def forms(job: Job, rows: Rows, x: np.ndarray) -> Iterator[Call]:
    """Yields the forms that a peer has of an operation."""
    A = scipy_matrix(rows)
    if job.peer == "scipy":
        yield scipy_form(job, A, x)
    elif job.peer == "polyml":
        import polyml

        written = {"triangular_solve": given.triangular_solve, "conjugate_gradients": given.conjugate_gradients}
        kernel = polyml.kernel(written.get(job.operation, given.vector_product), fallback="error", threads=job.threads, cache=False)
        yield lambda: kernel(A, x)
    elif job.peer == "mkl":
        if job.operation == "conjugate_gradients":
            raise ImportError("MKL has no conjugate gradients for its inspected matrices")
        inspected = InspectedMatrix(rows, job.operation, job.threads)
        yield inspected.solution(x) if job.operation == "triangular_solve" else inspected.product(x)
    else:
        for function in numba_forms(job):
            yield lambda function=function: function(rows.ptr, rows.col, rows.val, x)


def scipy_form(job: Job, A, x: np.ndarray) -> Call:
    import scipy.sparse.linalg as linalg

    if job.operation == "triangular_solve":
        return lambda: linalg.spsolve_triangular(A, x, lower=True)
    if job.operation == "conjugate_gradients":
        return lambda: linalg.cg(A, x, rtol=0, atol=0, maxiter=given.ITERATIONS)[0]
    return lambda: A @ x


def numba_forms(job: Job) -> Iterator[Callable]:
    import numba

    numba.set_num_threads(job.threads)
    names = {"triangular_solve": "triangular_solve", "conjugate_gradients": "conjugate_gradients", "product": "vector_product"}
    function = getattr(given, f"loops_of_{names.get(job.operation, 'dense_product')}")
    loops = ("0:i",) if job.threads > 1 and job.operation in ("product", "columns_8", "columns_32", "columns_128") else ()
    source = numba_source(function, loops, "float64")
    space: dict = {"np": np, "prange": numba.prange, "ITERATIONS": given.ITERATIONS}
    exec(source, space)
    for fastmath in (False, True):
        yield numba.njit(space[function.__name__], parallel=bool(loops), fastmath=fastmath)


def prepare(job: Job) -> tuple[Call, Ready] | Failed:
    """Returns the fastest right form of a peer."""
    try:
        rows, x = inputs(job)
        best: tuple[float, Call] | None = None
        for call in forms(job, rows, x):
            if not is_right(job, rows, x, call()):
                return Failed("wrong", "the result is not NumPy's")
            seconds = min(timed(call) for _ in range(_TRIALS))
            if best is None or seconds < best[0]:
                best = seconds, call
    except ImportError as missing:
        return Failed("unavailable", str(missing))
    except Exception as error:  # whatever a peer raises becomes a note
        return Failed.of("error", error)
    if best is None:
        return Failed("unavailable", "no form")
    return best[1], Ready((rows.size, len(rows.val)))


def timed(call: Call) -> float:
    """Returns the seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def serve(connection: Connection, job: Job) -> None:
    """Sends Ready or Failed, then the median seconds of some calls in a row for each "run" received."""
    prepared = prepare(job)
    connection.send(prepared if isinstance(prepared, Failed) else prepared[1])
    if isinstance(prepared, Failed):
        return
    while connection.recv() == "run":
        times: list[float] = []
        while not times or (sum(times) < _TURN_S and len(times) < _TURN_CALLS):
            times.append(timed(prepared[0]))
        connection.send(statistics.median(times))


def bandwidth(threads: int) -> float:
    """Returns how many bytes threads read in a second."""
    stream = Stream("read", _BUFFER, threads)
    return stream.size_bytes / min(stream.turn() for _ in range(5))


def measured(operation: str, matrix: str, rate: float, options: argparse.Namespace) -> Row:
    """Returns the row of an operation with a matrix. rate: bytes that are read in a second."""
    elements = options.elements // 4 if operation.startswith("columns") else options.elements
    jobs = [Job(peer, operation, matrix, elements, options.threads) for peer in ("polyml", *options.peers)]
    processes = taking_turns(jobs, options.repeat, options.budget, serve)
    seconds = {each.job.peer: each.seconds for each in processes if each.seconds}
    own = seconds.get("polyml", [])
    shape = next((each.ready.shape for each in processes if isinstance(each.ready, Ready)), (0, 0))
    size_bytes = 12 * shape[1] + 20 * shape[0]
    return Row(
        operation, matrix, shape,
        {peer: statistics.median(times) for peer, times in seconds.items()},
        {peer: statistics.median(a / b for a, b in zip(times, own)) for peer, times in seconds.items() if own and peer != "polyml"},
        size_bytes / statistics.median(own) / rate if own and operation == "product" else None,
        {each.job.peer: f"{each.failure.kind}: {each.failure.reason}" for each in processes if each.failure},
    )  # fmt: skip


def line(row: Row, peers: Sequence[str]) -> str:
    """Returns a row as text."""
    cells = [f"{row.operation:20} {row.matrix:16} {row.shape[0]:9,} {row.shape[1]:11,}", _milliseconds(row, "polyml")]
    cells += [f"{_milliseconds(row, peer)} {row.ratios.get(peer, float('nan')):6.2f}" for peer in peers]
    cells.append(f"{row.share:6.0%}" if row.share is not None else " " * 6)
    return " ".join([*cells, *(f"{peer} {note}" for peer, note in row.notes.items())]).rstrip()


def _milliseconds(row: Row, peer: str) -> str:
    return f"{row.seconds[peer] * 1e3:9.3f}" if peer in row.seconds else " " * 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("operations", nargs="*", metavar="OPERATIONS", help=f"some of {', '.join(OPERATIONS)} (default: all)")
    parser.add_argument("--matrices", default=",".join(MATRICES), help="some of these (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of every peer (default: 1)")
    parser.add_argument("--peers", default="scipy,numba", help="(default: scipy,numba)")
    parser.add_argument(
        "--elements", type=int, default=6_000_000, help="of a matrix, a quarter for dense products (default: 6,000,000)"
    )
    parser.add_argument("--repeat", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument("--budget", type=float, default=3.0, metavar="SECONDS", help="for the rounds of one row")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    chosen, operations = options.matrices.split(","), options.operations or OPERATIONS
    unknown = [*({*options.peers} - {*PEERS}), *({*operations} - {*OPERATIONS}), *({*chosen} - {*MATRICES})]
    if unknown:
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    rate = bandwidth(options.threads)
    print(f"{options.threads} threads read {rate / 1e9:.1f} GB/s; times in ms, and each peer's / polyml's")
    rows: list[Row] = []
    for operation in operations:
        for name in chosen:
            rows.append(measured(operation, name, rate, options))
            print(line(rows[-1], options.peers), flush=True)
            write_rows(options.json, rows)
        for peer in options.peers:
            mean = geometric_mean(row.ratios[peer] for row in rows if row.operation == operation and peer in row.ratios)
            print(f"{operation}: {peer} / polyml, geometric mean {mean:.2f}" if mean else f"{operation}: no {peer}")
    return int(any(note.startswith(("wrong", "error")) for row in rows for note in row.notes.values()))


if __name__ == "__main__":
    sys.exit(main())
