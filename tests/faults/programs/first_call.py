"""A first call that is interrupted, and the call after it: `import polyml` to result, as often as it takes."""

import signal

import numpy as np

print("begun", flush=True)


def attempt() -> bool:
    from polyml.kernels import gemm

    given = gemm.inputs(gemm.SIZES["MINI"], np.random.default_rng(1))
    wanted = gemm.reference(*given.values())
    gemm.gemm(*given.values())
    return all(np.allclose(given[name], value) for name, value in wanted.items())


interrupts, is_right = 0, None
while is_right is None:
    try:
        is_right = attempt()
    except KeyboardInterrupt:
        interrupts += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("right" if is_right and attempt() else "wrong", interrupts, flush=True)
