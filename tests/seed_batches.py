"""Work on many seeds in worker processes, which are new ones for each batch: what LLVM and isl keep does not pile up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Result = TypeVar("Result")
BATCH = 500


def in_batches(
    work: Callable[[int], Result], seeds: Sequence[int], jobs: int, batch: int = BATCH, chunk: int = 10
) -> Iterator[tuple[int, Result]]:
    """Each seed with what `work` returns for it, in order.

    jobs: how many processes. batch: how many seeds they work on before they end. chunk: how many a process is given at once.
    """
    for start in range(0, len(seeds), batch):
        now = seeds[start : start + batch]
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            yield from zip(now, pool.map(work, now, chunksize=chunk))
