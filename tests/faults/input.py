"""Bad input: what is typed, what files hold, what is passed to a kernel."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.faults.campaign import Fault, Tally
from tests.faults.children import End
from tests.faults.forks import REFUSED, Forks
from tests.faults.hostile import BITS, NUMBERS, in_bytes, mutated
from tests.faults.objects import CLASSES, OBJECTS

KERNELS = """
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def smooth(A, B, n, x):
    for i in range(1, n - 1):
        B[i] = x * (A[i - 1] + A[i] + A[i + 1])
"""
SIZED = """
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
"""
_TYPES = ["--arg", "A=f64[N,M]", "--arg", "B=f64[M,N]", "--arg", "C=f64[N,N]", "-D", "N=8", "-D", "M=6"]
_PRESETS = Path(__file__).parents[2] / "polyml" / "machines" / "presets"
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
    (folder / "array.toml").write_text((_PRESETS / "gemmini.toml").read_text())


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


def _schedules(count: int, seed: int, folder: Path) -> Tally:
    """Schedule files, loaded to be shown or to run."""
    tally = Tally()
    with _prepared(folder) as forks:
        forks.command(["schedule", "sized.py:scale", "--save", "other.txt"])
        text, other = ((folder / name).read_text() for name in ("s.txt", "other.txt"))
        for number in range(count):
            rng = Random(f"schedule {seed} {number}")
            (folder / "bad.txt").write_bytes(in_bytes(mutated(text, rng, (other,)), rng))
            command = rng.choice((["schedule", _PRODUCT], ["run", _PRODUCT, *_TYPES, "--repeat", "0"]))
            _note(tally, forks.command([*command, "--load", "bad.txt"]), f"seed {seed}, trial {number}: {command[0]} of bad.txt")
    return tally


def _machines(count: int, seed: int, folder: Path) -> Tally:
    """Machine files, shown or reported for."""
    tally = Tally()
    presets = [file.read_text() for file in sorted(_PRESETS.glob("*.toml"))]
    with _prepared(folder) as forks:
        for number in range(count):
            rng = Random(f"machine {seed} {number}")
            (folder / "bad.toml").write_bytes(in_bytes(mutated(rng.choice(presets), rng, tuple(presets)), rng))
            command = ["machine", "bad.toml", *rng.choice(([], ["--json"]))]
            if rng.random() < 0.2:
                target = rng.choice((["--no-simulation"], ["--target", "cuda"], ["--target", "systolic"]))
                command = ["report", _PRODUCT, *_TYPES, "--machine", "bad.toml", *target]
            _note(tally, forks.command(command), f"seed {seed}, trial {number}: {' '.join(command)}")
    return tally


def _kernels(count: int, seed: int, folder: Path) -> Tally:
    """Kernel files: mutated, and those that do something bad when they are imported or asked for inputs."""
    tally = Tally()
    with _prepared(folder) as forks:
        for number in range(count):
            rng = Random(f"kernel {seed} {number}")
            if rng.random() < 0.5:
                text = mutated(rng.choice((KERNELS, SIZED)), rng, (KERNELS, SIZED))
            else:
                places = [k for k in range(len(SIZED)) if SIZED.startswith("\n", k)]
                place = rng.choice(places)
                text = rng.choice((SIZED[: place + 1] + rng.choice(_STATEMENTS) + SIZED[place:], _instead(rng)))
            (folder / "bad.py").write_bytes(in_bytes(text, rng))
            command = rng.choice((["run", "bad.py:scale", "--repeat", "0"], ["show", "bad.py:product", "--stage", "schedule"], ["explain", "bad.py"],
                                  ["schedule", "bad.py:scale"], ["simulate", "bad.py:scale", "--array", "2"]))  # fmt: skip
            _note(tally, forks.command(command), f"seed {seed}, trial {number}: {' '.join(command)}")
    return tally


_STATEMENTS = (
    "raise SystemExit", "raise SystemExit('bye')", "raise SystemExit(3)", "import sys; sys.exit(0)", "1 / 0", "raise MemoryError", "raise RecursionError",
    "def f(): f()\nf()", "import no_such_module", "raise BaseExceptionGroup('x', [SystemExit()])", "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})",
    "del inputs", "SIZES = 7", "SIZES = []", "SIZES = {}", "SIZES = {1: {}}", "SIZES = {'A': {1: 2}}", "SIZES = {'A': {'N': 'x'}}", "SIZES = {'A': {'N': 10**30, 'M': 1}}",
    "SIZES = {'A': {'N': -1, 'M': 1}}", "SIZES = {'SMALL': {}}", "inputs = 7", "inputs = lambda size, rng: None", "inputs = lambda size, rng: {1: 2}", "inputs = lambda: {}",
    "inputs = lambda size, rng: {'x': 1.0, 'A': object()}", "inputs = lambda size, rng: {'x': 1.0, 'A': 7}", "inputs = lambda size, rng: {'x': [], 'A': rng.random((3, 3))}",
    "inputs = lambda size, rng: exit(2)", "inputs = lambda size, rng: inputs(size, rng)", "inputs = lambda size, rng: 1 / 0", "scale = 7", "scale = print", "scale = len",
    "class scale: pass", "scale = lambda x, A: None", "def scale(*args): pass", "def scale(x, A, **more): pass", "async def scale(x, A): pass", "def scale(x, A): yield x",
    "def scale(x, A): return scale(x, A)", "__name__ = 7", "__file__ = None", "terms = 7", "magnitude = 7", "terms = lambda size: 1 / 0", "scale.__code__ = inputs.__code__",
    "scale.__module__ = None", "import os; os.chdir('/')", "globals().clear()", "import polyml; scale = polyml.kernel(scale)",
    "import polyml; scale = polyml.kernel(fp='no')(scale)", "x = " + "(" * 300 + "1" + ")" * 300, "x = " + "-" * 20_000 + "1", "x = " + "1+" * 20_000 + "1",
    "def scale(x, A):\n    A[0, 0] = " + "x + " * 3000 + "x", "def scale(x, A):\n    A[0, 0] = " + "9" * 4000, "def scale(x, A):\n    A[" + "9" * 30 + ", 0] = x",
    "def scale(x, A):\n    for i in range(10**30):\n        A[i, 0] = x", "def scale(x, A):\n" + "".join("    " * k + f"for i{k} in range(1):\n" for k in range(1, 20)) + "    " * 20 + "A[0, 0] = x",
)  # fmt: skip


def _instead(rng: Random) -> str:
    """A file of one statement, or of bytes."""
    return rng.choice(
        ("", "\0", "\ufeff" + KERNELS, "# -*- coding: none -*-\n" + KERNELS, rng.choice(_STATEMENTS) + "\n" + KERNELS, KERNELS * 50)
    )


def _settings(count: int, seed: int, folder: Path) -> Tally:
    """Environment variables POLYML_*."""
    tally = Tally()
    with _prepared(folder) as forks:
        for number in range(count):
            rng = Random(f"setting {seed} {number}")
            name = rng.choice((*_VARIABLES, *_VARIABLES, mutated(rng.choice([*_VARIABLES]), rng)))
            value = rng.choice((rng.choice(NUMBERS), rng.choice(BITS), rng.choice(_PATHS), mutated(_VARIABLES.get(name, "1"), rng)))
            if (
                not name.startswith("POLYML_")
                or set(name + value) & {"\0", "="}
                or any("\ud800" <= c < "\udc80" for c in name + value)
            ):
                continue  # no environment has these
            command = rng.choice(
                (["run", _PRODUCT, *_TYPES, "--repeat", "0"], ["cache", "info"], ["doctor"], ["explain", _PRODUCT])
            )
            _note(
                tally,
                forks.command(command, {name: value}),
                f"seed {seed}, trial {number}: {name}={_short(value)} polyml {command[0]}",
            )
    return tally


_VARIABLES = {
    "POLYML_FP": "strict", "POLYML_SCHEDULE": "source", "POLYML_FUSION": "max", "POLYML_THREADS": "2", "POLYML_PARALLEL": "off", "POLYML_VECTORIZE": "0",
    "POLYML_TILE": "no", "POLYML_FALLBACK": "error", "POLYML_CACHE": "1", "POLYML_CACHE_DIR": "here", "POLYML_CACHE_SIZE_MB": "64", "POLYML_DEBUG": "deps,ast",
    "POLYML_DEBUG_DIR": "dumps",
}  # fmt: skip


def _calls(count: int, seed: int, folder: Path) -> Tally:
    """What the API's entries take besides arrays."""
    tally = Tally()
    with _prepared(folder) as forks:
        (folder / "prepared.py").write_text(_PREPARED)
        for number in range(count):
            rng = Random(f"call {seed} {number}")
            text = rng.choice(_CALLS).replace(
                "?", f"({rng.choice(rng.choice((_VALUES, _VALUES[:43])))})"
            )  # numbers and words as often as all else
            _note(tally, forks.code(text, "from prepared import *"), f"seed {seed}, trial {number}: {_short(text)}")
    return tally


_PREPARED = """
import itertools
import numpy as np
import polyml
from pathlib import Path
from polyml.machines.cpu import CacheLevel
from polyml.measure.lookup import find
from kernels_here import product, smooth

k = polyml.kernel(product, threads=1, fallback="error")  # by default the function itself would raise what it raises
given = np.ones((8, 6)), np.ones((6, 8)), np.ones((8, 8))
ints = tuple(each.astype("i4") for each in given)
class Evil:
    __eq__ = __repr__ = __str__ = __len__ = __iter__ = __index__ = __int__ = __fspath__ = __bool__ = __hash__ = lambda self, *other: 1 // 0
"""
_CALLS = (
    "k.report(*given, simulate=False, tile=?)", "k.report(*given, simulate=False, tile=(4, ?))", "k.report(*given, simulate=False, threads=?)", "k.report(*given, target=?)",
    "k.report(*given, simulate=False, caches=?)", "k.report(*given, simulate=False, caches=(CacheLevel(1, ?, 8, 64, 1),))", "k.report(*given, simulate=False, machine=?)",
    "k.report(*given, simulate=False, caches=(CacheLevel(1, 32768, ?, 64, 1),))", "k.report(*given, simulate=False, caches=(CacheLevel(1, 32768, 8, ?, 1),))",
    "k.report(*given, simulate=False, caches=(CacheLevel(?, 32768, 8, 64, ?),))", "k.report(*given, simulate=False, caches=(CacheLevel(1, 32768, 8, 64, 1, ?, ?, ?),))",
    "k.report(*given, caches=(CacheLevel(1, 4096, 8, 64, 1),), threads=2, coherent=?)", "k.report(*given, simulate=?, threads=1)", "k.report(*given, target='cuda', block=?)",
    "k.report(*given, target='cuda', block=(4, ?))", "k.report(*given, target='systolic', array=?)", "k.report(*given, target='systolic', array=(4, ?))",
    "k.report(*given, target='systolic', array=(4, 4), mapping=?)", "k.report(*given, target='systolic', array=(4, 4), rank=?)",
    "k.report(*given, target='systolic', array=(4, 4), dataflow=?)", "k.report(*given, target='systolic', array=(4, 4), links=?)",
    "k.simulate(*ints, array=?)", "k.simulate(*ints, array=(2, ?))", "k.simulate(*ints, array=(2, 2), engine=?)", "k.simulate(*ints, array=(2, 2), plans=?)",
    "k.compare(*ints, array=(2, 2), listing=?)", "k.compare(*ints, array=(2, 2), listing=((0, ?),))", "k.compare(*ints, array=(2, 2), mapping=?)", "k.compare(*ints, array=(2, 2), trace=?)",
    "polyml.Target.systolic(rows=?)", "polyml.Target.systolic(4, ?)", "polyml.Target.systolic(4, 4, dataflow=?)", "polyml.Target.systolic(4, 4, links=?)",
    "polyml.Target.systolic(machine=?)", "polyml.kernel(product, target=?)", "polyml.kernel(?)", "find(?)", "k.load_schedule(?)", "k.load_schedule('s.txt', ?)", "k.with_schedule(?)",
    "k.schedule(?)", "k.schedule('source', *given).tile(i=?)", "k.schedule('source', *given).tile(?)", "k.schedule('source', *given).fuse(?)", "k.schedule('source', *given).distribute(?)",
    "k.schedule('source', *given).interchange('i', ?)", "k.schedule('source', *given).skew('j', 'i', ?)", "k.schedule('source', *given).shift('i', ?)", "k.schedule('source', *given).shift('i', S0=?)",
    "k.schedule('source', *given).reverse(?)", "k.schedule('source', *given).split('i', ?)", "k.schedule('source', *given).unroll_jam('i', ?)", "k.schedule('source', *given).vectorize(?)",
    "k.schedule('source', *given).parallel(?)", "k.schedule('source', *given).pack('A', ?)", "k.schedule('source', *given).pack(?, 'k')", "k.schedule('source', *given).isolate(?)", "k.schedule('source', *given).plain(?)",
    "k.schedule('source', *given).save(?)", "k.lower(?)", "k.lower(*given[:2], ?)", "k(given[0], given[1], ?)", "k.inspect_schedule(?)",
    *(f"polyml.kernel(product, {name}=?)" for name in ("fp", "schedule", "fusion", "threads", "parallel", "tile", "fallback", "cache", "cache_dir", "cache_size_mb", "debug", "debug_dir", "nothing")),
    "polyml.kernel(product, cache_dir=?)(*given)", "polyml.kernel(product, debug='ast', debug_dir=?)(*given)", "polyml.config.scope(threads=?)",
)  # fmt: skip
_VALUES = (
    "0", "-1", "1", "3", "2**31", "2**31 + 1", "2**40", "2**63", "-2**63 - 1", "10**30", "10**5000", "-10**5000", "0.5", "float('nan')", "float('inf')", "1e400", "1j", "True", "False", "None", "''", "'x'", "'i'",
    "'k'", "'S0'", "'S0.i'", "'0'", "'4'", "'9' * 5000", "'(' * 100_000", "'-' * 100_000 + '1'", "'1 + ' * 50_000 + '1'", "'9*' * 50_000 + '1'", "'\\0'", "'\\ud800'", "'é'", "'²'", "'a' * 10**6", "'fifo'", "'/dev/zero'", "'folder'",
    "'loop'", "'none.txt'", "'s.txt'", "'no/such/x'", "'/dev/full'", "'x' * 300", "Path('s.txt')", "Path('/dev/zero')", "b'x'", "b's.txt'", "()", "(1,)", "(4, 4)", "(4, 4, 4)", "(4,) * 30",
    "(2**40,) * 10**4", "(0,)", "(-1,)", "(None,)", "('x',)", "('4',)", "(4.0, 4.0)", "(True, True)", "((4,),)", "[4, 4]", "{}", "{4}", "{'i': 4}", "range(3)", "range(10**12)", "itertools.count()",
    "iter(())", "np.int64(4)", "np.float64(4)", "np.uint8(3)", "np.ones(3)", "np.ones((2, 2), 'i8')", "np.array(['x'])", "object()", "Evil()", "(Evil(),)", "[Evil()] * 3", "Ellipsis", "print", "lambda: 0", "type",
    "polyml", "k", "find('zen4')", "find('h100')", "find('gemmini')", "polyml.Target.systolic(4, 4)", "k.schedule()", "k.schedule().saved", "CacheLevel(1, 4096, 8, 64, 1)",
    "(CacheLevel(1, 4096, 8, 64, 1),) * 5000", "(CacheLevel(1, 4096, 8, 64, 1), CacheLevel(2, 1024, 2, 64, 1))", "'t = i + j + k, x = i, y = j'", "'t = ' + '9' * 100 + '*i*' + '9' * 100 + ', x = j'",
    "'t = i, x = j'", "'t = ' + '(' * 999 + 'i'", "('t = i + j + k, x = i, y = j',) * 1000", "'f64[:, :]'", "'lru'", "'os'", "slice(4)",
)  # fmt: skip


def _arrays(count: int, seed: int, folder: Path) -> Tally:
    """Objects that say they are arrays, as arguments: what is accepted is what NumPy makes of them."""
    tally = Tally()
    chosen = Random(f"objects {seed}").sample(OBJECTS, min(count, len(OBJECTS)))
    with _prepared(folder) as forks:
        (folder / "lying.py").write_text(CLASSES)
        for text in chosen:
            end = forks.code(f"given, got = {text}, np.zeros(8)\nk(given, got)\nright(given, got)", "from lying import *")
            _note(tally, end, text)
    return tally


def _hostile_words(rng: Random) -> list[str]:
    """A command with one or two of its words mutated, dropped or doubled. No trial measures or runs all of the benchmarks."""
    words = list(rng.choice(COMMANDS))
    for _ in range(rng.choice((1, 1, 2))):
        places = (
            [*range(len(words))] if rng.random() < 0.1 else [k for k, word in enumerate(words) if k and not word.startswith("-")]
        )
        place = rng.choice(places or [0])
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
            words.insert(
                place, rng.choice((*BITS, "--threads", "--tile", "--array", "--machine", "-D", "--arg", "--traceback", "-h"))
            )
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
    if end.status == 1 and ("not writable" in end.out or "not used" in end.out):  # as the doctor tells it
        return ""
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
    Fault("bad words of commands", 4000, 40, _commands),
    Fault("bad schedule files", 1500, 25, _schedules),
    Fault("bad machine files", 1500, 40, _machines),
    Fault("bad kernel files", 800, 20, _kernels),
    Fault("bad settings", 700, 20, _settings),
    Fault("bad arguments of the API", 1500, 30, _calls),
    Fault("objects that are no arrays", len(OBJECTS), 30, _arrays),
)
