"""A first call where the system gives no threads, or little memory: python -m tests.faults.programs.limited THREADS BYTES SEED.

THREADS: that this user may have, this process's first one among them. BYTES: of address space. 0: no limit.
"""

import ctypes
import os
import resource
import sys

import numpy as np

import polyml

user_threads, address_bytes, number = map(int, sys.argv[1:])

_USERS = 61_000  # where there are no users: each process is the only one of its own


def _give_up_capabilities() -> None:
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


if user_threads:
    resource.setrlimit(resource.RLIMIT_NPROC, (user_threads, user_threads))
    if os.getuid() == 0:  # whom the limit does not bind: another user, who may read what this one may, without its other powers
        os.setresuid(_USERS + number % 1000, 0, 0)
        _give_up_capabilities()
if address_bytes:
    resource.setrlimit(resource.RLIMIT_AS, (address_bytes, address_bytes))

from polyml.kernels import trmm  # noqa: E402

try:
    for _ in range(2):
        given = trmm.inputs(trmm.SIZES["MINI"], np.random.default_rng(1))
        wanted = trmm.reference(*given.values())
        trmm.trmm(*given.values())
        if not all(np.allclose(given[name], value) for name, value in wanted.items()):
            print("wrong")
            break
    else:
        print("right", trmm.trmm.compiled)
except polyml.PolymlMemoryError as problem:
    print("refused:", str(problem).splitlines()[0])
