"""What the processes of some faults do, many times each: python -m tests.faults.programs.moments WHAT COUNT SEED.

A line on the output stream for each time: how it ended, or what was wrong about it after "wrong: ".
"""

import contextlib
import gc
import multiprocessing
import os
import random
import select
import signal
import sys
import threading
import time

import numpy as np

import polyml
from polyml.kernels import gemm, jacobi_2d, lu, trmm
from polyml.polyhedra import CONTEXT
from tests.faults.campaign import HANG_SECONDS

PROGRAMS = {"lu": lu, "trmm": trmm, "gemm": gemm, "jacobi_2d": jacobi_2d}
RUN_SECONDS = 0.3
ANSWER_SECONDS = 2.0  # from Ctrl-C in a compilation to KeyboardInterrupt, on a machine that does other things too


def fresh(name: str) -> polyml.api.Kernel:
    return polyml.kernel(getattr(PROGRAMS[name], name).py_func, cache=False, threads=2)


def is_right(name: str, kernel: polyml.api.Kernel) -> bool:
    module = PROGRAMS[name]
    given = module.inputs(module.SIZES["MINI"], np.random.default_rng(1))
    wanted = module.reference(*given.values())
    kernel(*given.values())
    return all(np.allclose(given[output], value) for output, value in wanted.items())


def seconds_of(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Interrupt:
    """Ctrl-C after `seconds`. sent: when."""

    def __init__(self, seconds: float):
        self._seconds, self.sent = seconds, 0.0
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        time.sleep(self._seconds)
        self.sent = time.perf_counter()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def wait(self) -> None:
        self._thread.join()


def left_behind() -> str:
    """What an interrupt must not leave."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return "another handler of SIGINT"
    if not gc.isenabled():
        return "no collection of garbage"
    if CONTEXT.get_max_operations() or CONTEXT.get_schedule_max_coefficient() != -1:
        return "isl's options"
    others = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    return f"threads: {', '.join(others)}" if others else ""


def interrupted(call, latest: float, draw: random.Random) -> tuple[bool, float]:
    """Whether KeyboardInterrupt came of one at a moment until `latest` seconds, and how long that took."""
    came, answered = False, 0.0
    interrupt = None
    try:
        try:
            interrupt = Interrupt(draw.uniform(0.0, latest))
            call()
            answered = time.perf_counter()
        finally:
            if interrupt is not None:
                answered = answered or time.perf_counter()
                interrupt.wait()
    except KeyboardInterrupt:
        came = True
    return came, max(0.0, answered - interrupt.sent) if came and interrupt is not None and interrupt.sent else 0.0


def compiling(count: int, draw: random.Random):
    usual = {}
    is_right("gemm", fresh("gemm"))  # what is made once for all
    for _ in range(count):
        name = draw.choice([*PROGRAMS])
        if name not in usual:
            usual[name] = seconds_of(lambda: is_right(name, fresh(name)))  # noqa: B023
        kernel = fresh(name)
        came, seconds = interrupted(lambda: is_right(name, kernel), usual[name] * 1.1, draw)  # noqa: B023
        if found := left_behind():
            yield f"wrong: {name} leaves {found}"
        elif seconds > ANSWER_SECONDS:
            yield f"wrong: {name} answers after {seconds:.1f} s"
        elif not is_right(name, kernel):
            yield f"wrong: {name} gives another result after an interrupt"
        else:
            yield "interrupted" if came else "came later"


def stepped(A, B, T):
    for _ in range(T):
        for i in range(1, A.shape[0] - 1):
            B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def running(count: int, draw: random.Random):
    """A kernel that runs is finished before Ctrl-C is answered, so that its arguments are as before the call or as behind it."""
    kernel = polyml.kernel(stepped, threads=2)
    begin = np.random.default_rng(1).random(200_000)
    kernel(begin.copy(), begin.copy(), 10)
    steps = max(10, int(10 * RUN_SECONDS / seconds_of(lambda: kernel(begin.copy(), begin.copy(), 10))))
    final = begin.copy()
    usual = seconds_of(lambda: kernel(final, begin.copy(), steps))
    for _ in range(count):
        given = begin.copy()
        came, _ = interrupted(lambda: kernel(given, begin.copy(), steps), usual * 1.2, draw)  # noqa: B023
        again = begin.copy()
        kernel(again, begin.copy(), steps)
        if not (np.array_equal(given, final) or came and np.array_equal(given, begin)):
            yield "wrong: arguments that are neither those before the call nor those behind it"
        elif not np.array_equal(again, final):
            yield "wrong: another result behind an interrupt"
        elif found := left_behind():
            yield f"wrong: leaves {found}"
        else:
            yield "interrupted" if came else "came later"


def forking(count: int, draw: random.Random):
    """Forks by the main thread, by several threads and by multiprocessing, while another thread compiles."""
    is_over = threading.Event()

    def compile_on() -> None:
        while not is_over.is_set():
            is_right("trmm", fresh("trmm"))

    compiler = threading.Thread(target=compile_on)
    compiler.start()
    try:
        for _ in range(count):
            time.sleep(draw.uniform(0.0, 0.2))
            yield draw.choice([_forked, _forked_by_threads, _forked_by_multiprocessing])()
    finally:
        is_over.set()
        compiler.join()


def _forked() -> str:
    child = os.fork()
    if child == 0:
        _child()
    return _waited([child]) or "forked"


def _forked_by_threads() -> str:
    children = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            _child()
        children.append(child)

    threads = [threading.Thread(target=fork) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _waited(children) or "forked by two threads"


def _forked_by_multiprocessing() -> str:
    process = multiprocessing.get_context("fork").Process(target=_child)
    process.start()
    return _waited([process.pid]) or "forked by multiprocessing"


def _child() -> None:
    """Ends the process: 0 where its first and its second kernel are right, and Ctrl-C is what it was."""
    status = 1
    with contextlib.suppress(BaseException):
        is_all = is_right("gemm", fresh("gemm")) and is_right("jacobi_2d", fresh("jacobi_2d"))
        status = 0 if is_all and signal.getsignal(signal.SIGINT) is signal.default_int_handler else 3
    os._exit(status)


def _waited(children: list[int]) -> str:
    for child in children:
        descriptor = os.pidfd_open(child)
        try:
            if not select.select([descriptor], [], [], HANG_SECONDS)[0]:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return f"wrong: the child hangs over {HANG_SECONDS} s"
        finally:
            os.close(descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            return f"wrong: the child ends with {code}"
    return ""


if __name__ == "__main__":
    moments = {"compiling": compiling, "running": running, "forking": forking}
    for line in moments[sys.argv[1]](int(sys.argv[2]), random.Random(int(sys.argv[3]))):
        print(line, flush=True)
