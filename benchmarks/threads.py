"""Calls of machine code on several threads at once: ctypes releases Python's lock."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence

from polyml.machines import cpu
from polyml.runtime.loading import assemble, load


def machine_code(text: str, name: str, *arguments: type) -> Callable[..., None]:
    """Returns the function `name` of LLVM text for this processor, as a call of ctypes' values."""
    host = cpu.host()
    code = load.load([assemble.assemble(text, cpu=host.cpu_name, features=host.features)], name)
    function = ctypes.CFUNCTYPE(None, *arguments)(code.address(name))

    def call(*values: object, keep: object = code) -> None:
        function(*values)

    return call


def seconds_together(calls: Sequence[Callable[[], object]]) -> float:
    """Returns the seconds until the last of the calls is done, each on a thread; they wait for each other first."""
    if len(calls) == 1:
        start = time.perf_counter()
        calls[0]()
        return time.perf_counter() - start
    barrier = threading.Barrier(len(calls) + 1)

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        call()

    workers = [threading.Thread(target=run, args=(call,)) for call in calls]
    for worker in workers:
        worker.start()
    start = time.perf_counter()
    barrier.wait()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start
