"""What a kernel is compared with. Each peer turns a benchmark into a call on its arguments, in its own process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping

from benchmarks.c_peers import gcc, pluto, polly
from benchmarks.numba_source import numba_source
from benchmarks.parallel_loops import PARALLEL_LOOPS
from benchmarks.peer import Call, Peer, PeerUnavailable, built
from benchmarks.pythran import pythran
from polyml.kernels import Benchmark


def _polyml(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    import polyml

    call = polyml.kernel(fallback="error", cache=False, threads=threads)(benchmark.kernel.py_func)
    return {"": call}


def _numpy(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    if not benchmark.numpy:
        raise PeerUnavailable("no NumPy form")
    return {"": benchmark.reference}


def _numba(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    try:
        import numba
    except ImportError:
        raise PeerUnavailable("numba is not installed (pip install 'polyml[bench]')") from None
    numba.set_num_threads(threads)
    # error_model="numpy": divisions need no test for zero, as in the other peers.
    options = {"fastmath": True, "error_model": "numpy", "cache": True}
    loops = PARALLEL_LOOPS[benchmark.name]
    serial = {"serial": numba.njit(**options)(_python(benchmark, (), numba.__version__))}
    if not loops or threads == 1:
        return serial
    return {"prange": numba.njit(parallel=True, **options)(_python(benchmark, loops, numba.__version__))} | serial


def _python(benchmark: Benchmark, loops: tuple[str, ...], version: str) -> Callable:
    """Returns the kernel's own source as a function of a file, beside which numba keeps what it compiles."""
    text = "import math\nimport numpy as np\nfrom numba import prange\n\n\n"
    text += numba_source(benchmark.kernel.py_func, loops, benchmark.dtype)
    folder = built(lambda made: made.joinpath("kernel.py").write_text(text) and None, text, version)
    found = importlib.util.spec_from_file_location(f"numba_{folder.name}", folder / "kernel.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # where numba looks for the names of what it kept
    found.loader.exec_module(module)
    return getattr(module, benchmark.name)


PEERS = {
    p.name: p
    for p in (
        Peer("polyml", "polyml, default settings", _polyml),
        Peer("numpy", "the NumPy form of the kernel", _numpy),
        Peer("numba", "numba, parallel=True and fastmath=True, prange by hand; or its serial form if faster", _numba),
        Peer("pythran", "Pythran -O3 -march=native -ffast-math, OpenMP by hand; or its serial form if faster", pythran),
        Peer("gcc", "gcc -O3 -march=native -ffast-math, which is serial", gcc, fixed_size=True),
        Peer("polly", "clang -O3 -march=native -ffast-math with Polly, parallel or serial", polly, fixed_size=True),
        Peer("pluto", "Pluto's tiles and threads by gcc -O3 -march=native -ffast-math", pluto, fixed_size=True),
    )
}
