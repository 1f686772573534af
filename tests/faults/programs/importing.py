"""Ctrl-C in the midst of what a first call imports, in children that have imported polyml alone:
python -m tests.faults.programs.importing COUNT BEGIN.

A line for each: how it ended, or what was wrong about it after "wrong: ".
"""

import _thread
import os
import select
import signal
import sys

import numpy as np
import numpy.random  # noqa: F401  not to be interrupted: NumPy cannot import it again

from polyml.kernels import gemm
from tests.faults.campaign import HANG_SECONDS


class Interrupting:
    """Ctrl-C behind the initialisation of extension module number `at`, before its import is over, counted from now on. seen: how many
    there were.
    """

    def __init__(self, at: int):
        self.at, self.seen = at, 0
        sys.setprofile(self._hook)

    def _hook(self, _, event: str, what) -> None:
        if event == "c_return" and what.__name__ == "exec_dynamic":  # what importlib calls
            self.seen += 1
            if self.seen == self.at:
                sys.setprofile(None)
                _thread.interrupt_main()


def is_right() -> bool:
    given = gemm.inputs(gemm.SIZES["MINI"], np.random.default_rng(1))
    wanted = gemm.reference(*given.values())
    gemm.gemm(*given.values())
    return all(np.allclose(given[name], value) for name, value in wanted.items())


def modules() -> int:
    """How many a first call imports."""
    own, other = os.pipe()
    if os.fork() == 0:
        counted = Interrupting(0)
        is_right()
        os.write(other, str(counted.seen).encode())
        os._exit(0)
    os.wait()
    return int(os.read(own, 100))


def first_call(at: int) -> int:
    """0: Ctrl-C ended the first attempt; 4: none did; anything else is wrong."""
    Interrupting(at)
    try:
        return 4 if is_right() else 1
    except KeyboardInterrupt:
        return 0 if is_right() and is_right() else 1


def trial(at: int) -> str:
    child = os.fork()
    if child == 0:
        status = 3
        try:
            status = first_call(at)
        finally:
            os._exit(status)
    descriptor = os.pidfd_open(child)
    if not select.select([descriptor], [], [], HANG_SECONDS)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "interrupted, then as Python", 4: "as Python"}.get(
        code, f"wrong: ends with {code} after Ctrl-C in the import of module {at}"
    )


begin, count = int(sys.argv[2]), modules()
for number in range(begin, begin + int(sys.argv[1])):  # each in turn
    print(trial(1 + number % count), flush=True)
