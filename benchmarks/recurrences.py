"""Loops whose iterations depend on earlier or later ones at a distance: polyml's times beside those of numba and C compilers.

    python -m benchmarks.recurrences [--distances 1,2,8] [--types f64,f32] [--clang "COMMAND"]

Each row is one loop: A[i] = A[i - d]*0.5 + 1 for each distance d, A[i] = A[i + 1] + B[i] as a loop and as arrays, and
x = a*x + B[i]. Times are the least of rounds in which all forms run one after the other, on one thread, in caches.
"""

from __future__ import annotations

import argparse
import ctypes
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import polyml

LENGTH = 60_000
ROUNDS, SECONDS = 25, 0.002  # the rounds, and how long each form runs in each
TYPES = {"f64": (np.float64, "double", ""), "f32": (np.float32, "float", "f")}


@dataclass(frozen=True)
class Loop:
    """A loop in each of its languages.

    array: how NumPy's users write it, as Python; "" where they cannot.
    """

    name: str
    python: str
    c: str
    array: str = ""


def loops(distances: Sequence[int], suffix: str, dtype: str) -> list[Loop]:
    """Returns the loops that are timed. suffix, dtype: of a number of the type in C, and of the type in NumPy."""
    one, half = f"np.{dtype}(1)", f"np.{dtype}(0.5)"
    found = [
        Loop(
            f"A[i] = A[i - {d}]*0.5 + 1",
            f"for i in range({d}, A.shape[0]):\n        A[i] = A[i - {d}]*{half} + {one}",
            f"for (long i = {d}; i < n; ++i) A[i] = A[i - {d}]*0.5{suffix} + 1.0{suffix};",
        )
        for d in distances
    ]
    forward = "for i in range(A.shape[0] - 1):\n        A[i] = A[i + 1] + B[i]"
    found.append(
        Loop(
            "A[i] = A[i + 1] + B[i]", forward, "for (long i = 0; i < n - 1; ++i) A[i] = A[i + 1] + B[i];", "A[:-1] = A[1:] + B[:-1]"
        )
    )
    factor = f"np.{dtype}(0.9)"
    found.append(
        Loop(
            "A[i] = 0.9*A[i - 1] + B[i]",
            f"for i in range(1, A.shape[0]):\n        A[i] = {factor}*A[i - 1] + B[i]",
            f"for (long i = 1; i < n; ++i) A[i] = 0.9{suffix}*A[i - 1] + B[i];",
        )
    )
    return found


def python_function(text: str, folder: Path, name: str) -> Callable:
    """Returns a function of A and B with this body, of a file, as compilers that read sources need one."""
    path = folder / f"{name}.py"
    path.write_text(f"import numpy as np\n\n\ndef loop(A, B):\n    {text}\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["loop"]


def c_function(command: Sequence[str], text: str, kind: str, folder: Path, name: str) -> Callable:
    """Returns a loop in C, compiled by a command, as a function of two arrays."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(f"void loop({kind} *restrict A, const {kind} *restrict B, long n) {{ {text} }}\n")
    subprocess.run([*command, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library)).loop
    loaded.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
    return loaded


def on_line(array: np.ndarray) -> np.ndarray:
    """Returns a copy that begins a cache line, so that no form is given a better place than another."""
    room = np.empty(array.nbytes + 64, np.uint8)
    first = -room.ctypes.data % 64
    copy = room[first : first + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def forms(loop: Loop, dtype: type, kind: str, compilers: dict[str, list[str]], folder: Path) -> dict[str, Callable[[], object]]:
    """Returns {who: a call of the loop}, whose results have been compared with polyml's under fp="strict"."""
    import numba

    rng = np.random.default_rng(1)
    start, other = (on_line(rng.random(LENGTH).astype(dtype)) for _ in range(2))
    plain = python_function(loop.python, folder, f"py_{abs(hash(loop.name))}_{kind}")
    calls: dict[str, Callable] = {"polyml": polyml.kernel(plain, fallback="error", cache=False, threads=1)}
    calls["numba"] = numba.njit(error_model="numpy")(plain)
    calls["numba fastmath"] = numba.njit(error_model="numpy", fastmath=True)(plain)
    if loop.array:
        arrays = python_function(loop.array, folder, f"np_{abs(hash(loop.name))}_{kind}")
        calls["polyml arrays"] = polyml.kernel(arrays, fallback="error", cache=False, threads=1)
        calls["NumPy"] = arrays
    wanted = start.copy()
    polyml.kernel(plain, fallback="error", cache=False, threads=1, fp="strict")(wanted, other)
    for name, command in compilers.items():
        made = c_function(command, loop.c, kind, folder, f"c_{abs(hash(loop.name))}_{kind}_{name}")
        calls[name] = lambda A, B, made=made: made(A.ctypes.data, B.ctypes.data, A.shape[0])
    found = {}
    for name, call in calls.items():
        mine = on_line(start)
        call(mine, other)
        np.testing.assert_allclose(mine, wanted, rtol=1e-12 if dtype is np.float64 else 1e-4, err_msg=f"{name}: {loop.name}")
        if name in compilers:  # without what it takes to get an address
            made, a, b = call.__defaults__[0], mine.ctypes.data, other.ctypes.data
            found[name] = lambda made=made, a=a, b=b, kept=mine: made(a, b, LENGTH)
        else:
            found[name] = lambda call=call, mine=mine: call(mine, other)
    return found


def times(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Returns {who: the median time of a call in seconds}, over rounds in which all run in turn."""
    repeats = {}
    for name, call in calls.items():
        begin = perf_counter()
        for _ in range(20):
            call()
        repeats[name] = max(3, int(SECONDS / ((perf_counter() - begin) / 20)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = perf_counter()
            for _ in range(repeats[name]):
                call()
            found[name].append((perf_counter() - begin) / repeats[name])
    return {name: min(each) for name, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--distances", default=",".join(map(str, (*range(1, 17), 20, 24, 31, 32, 33, 40, 48, 63, 64))))
    parser.add_argument("--types", default="f64,f32")
    parser.add_argument("--clang", default="", help="the command of a second C compiler")
    given = parser.parse_args()
    distances = [int(d) for d in given.distances.split(",") if d]
    compilers = {"gcc": ["gcc"]} | ({"clang": shlex.split(given.clang)} if given.clang else {})
    with tempfile.TemporaryDirectory() as made:
        for short in given.types.split(","):
            dtype, kind, suffix = TYPES[short]
            for loop in loops(distances, suffix, np.dtype(dtype).name):
                found = times(forms(loop, dtype, kind, compilers, Path(made)))
                mine = found.pop("polyml")
                peers = "  ".join(f"{name} {time / mine:5.2f}" for name, time in found.items())
                print(
                    f"{short}  {loop.name:28}  {mine * 1e6:7.2f} us, {mine * 1e9 / LENGTH:5.3f} ns each;  others / polyml: {peers}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
