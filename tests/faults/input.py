"""Bad input: what is typed, what files hold, what is passed to a kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.faults.campaign import Fault, Tally
from tests.faults.children import End
from tests.faults.forks import REFUSED, Forks
from tests.faults.hostile import BITS, NUMBERS, in_bytes, mutated

KERNELS = '''
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def smooth(A, B, n, x):
    for i in range(1, n - 1):
        B[i] = x * (A[i - 1] + A[i] + A[i + 1])
'''
SIZED = '''
SIZES = {"SMALL": {"N": 8, "M": 6}, "BIG": {"N": 12, "M": 9}}


def scale(x, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x


def inputs(size, rng):
    return {"x": 2.0, "A": rng.random((size["N"], size["M"]))}


def terms(size):
    return 3


def magnitude(x, A):
    return {"A": abs(x * A)}
'''
_TYPES = ["--arg", "A=f64[N,M]", "--arg", "B=f64[M,N]", "--arg", "C=f64[N,N]", "-D", "N=8", "-D", "M=6"]
_INTEGERS = [word.replace("f64", "i32") for word in _TYPES]
_PRODUCT, _SMOOTH = "kernels_here.py:product", "kernels_here.py:smooth"
COMMANDS = (
    ["run", _PRODUCT, *_TYPES, "--seed", "3", "--repeat", "1", "--threads", "1"],
    ["run", _SMOOTH, "--arg", "A=f32[:]", "--arg", "B=f32[2*n+1]", "--arg", "n=9", "--arg", "x=1.5", "-D", "n=9"],
    ["run", "sized.py:scale", "-D", "N=5", "--preset", "SMALL", "--json"],
    ["run", _PRODUCT, *_TYPES, "--load", "s.txt"],
    ["show", _PRODUCT, "--stage", "schedule", *_TYPES, "--fp", "strict"],
    ["show", "sized.py:scale", "--stage", "kernel", "-D", "N=5", "--preset", "BIG", "--schedule", "source", "--fusion", "max", "--json"],
    ["explain", _PRODUCT, *_TYPES],
    ["schedule", _PRODUCT, *_TYPES, "--save", "saved.txt", "--from", "source"],
    ["schedule", _PRODUCT, "--load", "s.txt"],
    ["report", _PRODUCT, *_TYPES, "--no-simulation", "--cache", "1K:2:64,4K:4:64:plru:shared=2", "--tile", "4,4,2", "--threads", "2"],
    ["report", _PRODUCT, *_TYPES, "--cache", "512:full:32", "--machine", "zen4", "--threads", "1", "--save", "tiles.txt"],
    ["report", _PRODUCT, *_TYPES, "--target", "cuda", "--block", "4,2", "--machine", "h100", "--svg", "pictures"],
    ["report", _PRODUCT, *_TYPES, "--target", "systolic", "--array", "4x4", "--mapping", "t = i + 2*j + k, x = i, y = j", "--rank", "ports"],
    ["report", _PRODUCT, *_TYPES, "--target", "systolic", "--machine", "gemmini", "--dataflow", "ws", "--html", "page.html"],
    ["simulate", _PRODUCT, *_INTEGERS, "--array", "4x4", "--mapping", "t = i + j + k, x = i, y = j", "--seed", "2", "--unit", "0,3"],
    ["simulate", _PRODUCT, *_INTEGERS, "--array", "3", "--links", "broadcast", "--engine", "numpy", "--trace", "--json"],
    ["machine", "array.toml"], ["machine", "zen4", "--json"], ["machine", "h100"],
    ["bench", "gemm", "--preset", "MINI", "--threads", "1", "--repeat", "1", "--dtype", "float64", "--check-only"],
    ["cache", "info", "--json"], ["cache", "verify"], ["cache", "clear"],
)  # fmt: skip
_PATHS = (
    "/dev/zero", "/dev/full", "/dev/null", "/dev/stdin", "/proc/self/mem", "/proc/self/environ", "fifo", "folder", "loop", "none.py", "a/b/c", "",
    "x" * 300, "d/" * 3000, "kernels_here.py", "kernels_here.py:", ":", ":product", "kernels_here.py:product:x", "s.txt", "array.toml", "~", "\udcff",
    "binary.py", "/root/x", "/proc/x", "fifo:f", "/dev/zero:f", "folder:f", "fifo.toml", "no/such/../x.txt",
)  # fmt: skip


def files(folder: Path) -> None:
    """What trials read: kernels, a schedule, machines, and what is no file."""
    (folder / "kernels_here.py").write_text(KERNELS)
    (folder / "sized.py").write_text(SIZED)
    (folder / "binary.py").write_bytes(bytes(range(256)))
    (folder / "folder").mkdir()
    for name in ("fifo", "fifo.toml"):
        os.mkfifo(folder / name)
    (folder / "loop").symlink_to("loop")
    presets = Path(__file__).parents[2] / "polyml" / "machines" / "presets"
    (folder / "array.toml").write_text((presets / "gemmini.toml").read_text())


def _commands(count: int, seed: int, folder: Path) -> Tally:
    tally = Tally()
    with _prepared(folder) as forks:
        for number in range(count):
            rng = Random(f"command {seed} {number}")
            words = _hostile_words(rng)
            _note(tally, forks.command(words), f"seed {seed}, trial {number}: polyml {' '.join(map(_short, words))}")
    return tally


def _short(text: str) -> str:
    """For the table; the trial's number repeats all of it."""
    return repr(text if len(text) < 60 else f"{text[:25]}...{text[-15:]} ({len(text)})")


def _hostile_words(rng: Random) -> list[str]:
    """A command with one or two of its words mutated, dropped or doubled. No trial measures or runs all of the benchmarks."""
    words = list(rng.choice(COMMANDS))
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(1, len(words)) if len(words) > 1 else 0
        word, option = words[place], words[place].startswith("-")
        do = rng.random()
        if do < 0.08:
            del words[place]
        elif do < 0.14:
            words.insert(place, word)
        elif do < 0.24:
            words[place] = rng.choice(_PATHS)
        elif do < 0.34 and not option:
            words[place] = rng.choice(NUMBERS)
        elif do < 0.38:
            words.insert(place, rng.choice((*BITS, "--threads", "--tile", "--array", "--machine", "-D", "--arg", "--traceback", "-h")))
        else:
            words[place] = mutated(word, rng, tuple(rng.choice(COMMANDS)))
        if not words:
            break
    return ["gemm" if word == "all" else word for word in words if "\0" not in word and "measure" not in word]  # none has a NUL


def _note(tally: Tally, end: End, what: str) -> None:
    problem = end.problem or _wrong(end)
    if problem:
        tally.fail(f"{problem}: {what}")
    else:
        tally.add({0: "accepted", 1: "failed with an error", REFUSED: "refused"}[end.status])


def _wrong(end: End) -> str:
    """Why an end is not one that is documented; "" if it is."""
    lines = end.error.splitlines()
    if end.status not in (0, 1, REFUSED):
        return f"status {end.status}: {end.error[-200:]}"
    if end.status and not any("error: " in line or line.startswith("Error: ") for line in lines) and "Usage" not in end.error:
        return f"status {end.status} without an error: {end.error[-200:]!r}"
    longest = max(map(len, lines), default=0)
    return f"a line of {longest} characters: {max(lines, key=len)[:200]!r}" if end.status and longest > 2000 else ""


class _prepared:
    """Forks in a folder with the files of trials."""

    def __init__(self, folder: Path):
        self._forks = Forks(folder)
        self._folder = folder

    def __enter__(self) -> Forks:
        files(self._folder)
        forks = self._forks.__enter__()
        for words in (["schedule", _PRODUCT, *_TYPES, "--save", "s.txt"], *COMMANDS[4:7]):
            end = forks.command(words)
            assert end.status == 0, end
        return forks

    def __exit__(self, *exception: object) -> None:
        self._forks.__exit__(*exception)


FAULTS = (
    Fault("bad words of commands", 4000, 60, _commands),
)
