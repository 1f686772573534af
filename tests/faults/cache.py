"""The disk cache under damage, forgery, full disks and crowds.

Who owns the folder may seal what he likes: he could change polyml's own files as well. Of what he re-seals it is asked that nothing in
it runs as Python, that it is of the kernel and the call, and that what does not hold together is compiled again. What he states well
(another shape of a result, another machine code) is taken.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import math
import os
import random
import resource
import shutil
import signal
import socket
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np

import polyml
from polyml.config import scope
from polyml.errors import PolymlError, PolymlPerformanceWarning
from polyml.measure import host
from polyml.runtime.loading import embedded_ir
from polyml.runtime.loading import thread_pool as pools
from polyml.runtime.storage import disk_cache as module
from polyml.runtime.storage.checksum import seal, unseal
from polyml.runtime.storage.disk_cache import Cache
from polyml.schedule.tree.text import parse_tree, print_tree
from tests.faults.campaign import HANG_SECONDS, Fault, Tally

TEXT = """
import numpy as np

def scaled(A, x):
    for i in range(A.shape[0]):
        A[i] *= x

def summed(A, x):
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i] * x
    return s

def longer(A, x):
    B = np.zeros(A.shape[0] + 2)
    for i in range(A.shape[0]):
        B[i + 1] = A[i] + x
    return B

def both(A, x):
    B = np.zeros((A.shape[0], 3))
    s = x
    for i in range(A.shape[0]):
        B[i, 1] = A[i]
        s += A[i]
    return B, s, A

def smoothed(A, x):
    B = np.zeros(A.shape[0])
    for i in range(1, A.shape[0] - 1):
        B[i] = (A[i - 1] + A[i + 1]) * x
    return B

def product(A, x):
    B = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                B[i, j] += A[i] * A[j] * x
    return B

def turned(A, x):
    z = 0j
    for i in range(A.shape[0]):
        z += A[i] * 1j
    return z * x

def greatest(A, x):
    best = A[0]
    for i in range(1, A.shape[0]):
        best = max(best, A[i] * x)
    return best
"""
NAMES = ("scaled", "summed", "longer", "both", "smoothed", "product", "turned", "greatest")
SECRET = "polyml_faults_ran_it"  # what foreign code would set in `builtins`


@dataclass(frozen=True)
class World:
    """A cache in which every kind of entry is. kernels: the entry of each function. schedules: of each such entry, a function that
    has it. right: what is in each entry.
    """

    cache: Cache
    functions: dict[str, FunctionType]
    kernels: dict[str, str]
    schedules: dict[str, str]
    right: dict[str, bytes]

    @property
    def kinds(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self.right):
            found.setdefault(name.partition("-")[0], []).append(name)
        return found

    def path(self, name: str) -> Path:
        return Path(self.cache._path(name))

    def restore(self) -> None:
        """Every entry as it was, in folders as they were."""
        shutil.rmtree(self.cache.folder, ignore_errors=True)
        for name, content in self.right.items():
            self.cache.put(name, content)


def world(folder: Path) -> World:
    functions = vars(_module(folder / "kernels_of_faults.py", TEXT))
    functions = {name: functions[name] for name in NAMES}
    cache = module._cache_at(str(folder / "cache"), 512_000_000)
    kernels, schedules = {}, {}
    with scope(cache_dir=cache.folder):
        for name, function in functions.items():
            before = set(_names(cache))
            assert _problem(function, cache) == "", name
            new = sorted(set(_names(cache)) - before)
            kernels[name] = next(each for each in new if each.startswith("kernel-"))
            schedules |= {each: name for each in new if each.startswith("schedule-")}
        embedded_ir.loaded("threads", pools.host_text())
        cache.put(host._key(), _rates())
    right = {name: unseal(name, Path(cache._path(name)).read_bytes()) for name in _names(cache)}
    return World(cache, functions, kernels, schedules, right)


def _names(cache: Cache) -> list[str]:
    return [os.path.basename(file.path).removesuffix(".bin") for file in cache._files()]


def _rates() -> bytes:
    figure = {"value": 1e9, "origin": "measured", "source": ""}
    rate = {"one": figure, "all": figure}
    levels = [{"place": "L1", "read_bytes_per_s": rate, "update_bytes_per_s": rate}]
    peaks = [{"number": "f64", "flop_per_s": rate}]
    return json.dumps({"quiet": True, "frequency_hz": rate, "peaks": peaks, "bandwidths": levels}).encode()


def _module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(made)
    finally:
        sys.dont_write_bytecode = before
    return made


# What comes of a call


def _problem(function: FunctionType, cache: Cache, expected: FunctionType | None = None) -> str:
    """What is wrong with a first call of a kernel that finds this cache; "" where it gives what Python gives."""
    kernel = polyml.kernel(function, cache_dir=cache.folder)
    given, same = (np.arange(1.0, 7.0) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolymlPerformanceWarning)
        result = kernel(given, 2.0)
    right = (expected or function)(same, 2.0)
    results, rights = (value if isinstance(value, tuple) else (value,) for value in (result, right))
    if not np.array_equal(given, same) or len(results) != len(rights):
        return "another result than Python's"
    for one, other in zip(results, rights):
        if np.shape(one) != np.shape(other) or type(one) is not type(other) or not np.array_equal(one, other):
            return f"{one!r:.80} instead of {other!r:.80}"
    return ""


def _used(place: World, name: str) -> str:
    """The same of an entry of any kind: what depends on it is right."""
    kind = name.partition("-")[0]
    if kind == "kernel":
        return _problem(next(place.functions[n] for n, entry in place.kernels.items() if entry == name), place.cache)
    if kind == "schedule":  # a search finds it again
        function = place.schedules[name]
        place.cache.remove(place.kernels[function])
        return _problem(place.functions[function], place.cache)
    with scope(cache_dir=place.cache.folder):
        if kind == "code":
            embedded_ir.loaded("threads", pools.host_text(), "polyml_parallel")
        else:
            known = host.known()
            if not all(0 < peak.flop_per_s.one.value < math.inf for peak in known.peaks):
                return f"rates that none measured: {known}"
    return ""


def _trial(tally: Tally, what: str, right: str, use: Callable[[], str]) -> None:
    """One use, and how it ended. right: what to call an end as it should be."""
    import builtins

    start = time.monotonic()
    try:
        problem = use()
    except PolymlError as error:
        problem, right = ("it is called a defect" if "defect of polyml" in str(error) else ""), "refused"
    except (Exception, Hang) as error:  # what no user should ever see
        problem = f"{type(error).__name__}: {error}"
    if hasattr(builtins, SECRET):
        delattr(builtins, SECRET)
        problem = "foreign code ran"
    if time.monotonic() - start > HANG_SECONDS:
        problem = problem or f"took over {HANG_SECONDS} s"
    if problem:
        tally.fail(f"{what}: {problem}")
    else:
        tally.add(right)


class Hang(BaseException):
    """No Exception, which the code that hangs may take for an answer."""


@contextmanager
def _alarm() -> Iterator[None]:
    """What waits for ever is interrupted: a hang is a failed trial, not the end of the campaign."""

    def interrupted(number, frame):
        raise Hang(f"over {HANG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# The faults


def damage(count: int, seed: int, folder: Path) -> Tally:
    """A bit, or the end, of an entry of each kind in turn."""
    draw, tally, place = random.Random(seed), Tally(), world(folder)
    kinds = sorted(place.kinds.items())
    for number in range(count):
        kind, names = kinds[number % len(kinds)]
        name = draw.choice(names)
        sealed = bytearray(seal(name, place.right[name]))
        at = draw.randrange(len(sealed))
        if draw.random() < 0.5:
            sealed[at] ^= 1 << draw.randrange(8)
            what = f"a bit of byte {at} of {name}"
        else:
            del sealed[at:]
            what = f"{name} cut at {at}"
        place.path(name).write_bytes(sealed)

        def use() -> str:
            if number % 10 and place.cache.get(name) is not None:  # what reads it, and now and then what that is for
                return "the entry is taken"
            return _used(place, name) if number % 10 == 0 else ""

        _trial(tally, what, "a miss", use)
        place.cache.put(name, place.right[name])
    return tally


def other_names(count: int, seed: int, folder: Path) -> Tally:
    """Every entry of a kernel, and some of other kinds, in the places of all other kernels."""
    tally, place = Tally(), world(folder)
    others = [names[0] for kind, names in place.kinds.items() if kind != "kernel"]
    pairs = [(a, b) for a in (*place.kernels.values(), *others) for b in place.kernels.values() if a != b]
    random.Random(seed).shuffle(pairs)
    for source, target in pairs[:count]:
        for how in ("copied", "sealed anew"):
            content = place.right[source]
            place.path(target).write_bytes(seal(source if how == "copied" else target, content))

            def use() -> str:
                if how == "copied" and target not in {name for name in _damaged(place.cache)}:
                    return "verify finds nothing"
                place.path(target).write_bytes(seal(source if how == "copied" else target, content))
                return _used(place, target)

            _trial(tally, f"{source} {how} as {target}", "compiled again", use)
            place.cache.put(target, place.right[target])
    return tally


def _damaged(cache: Cache) -> list[str]:
    return [os.path.basename(path).removesuffix(".bin") for path in cache.verify().damaged]


CODE = tuple(text % SECRET for text in (
    "__import__('builtins').__dict__.__setitem__('%s', 1)", "0 or setattr(__import__('builtins'), '%s', 1)",
    "x\n    __import__('builtins').__dict__.__setitem__('%s', 1)\n    x", "x=setattr(__import__('builtins'), '%s', 1)",
))  # fmt: skip
HOSTILE = (
    *CODE, None, "", "x", "0]", "A.__class__", "N\n    import os", "9" * 5000, "(" * 5000,
    "\0", "\ud800", "{ [i] : ", -1, -(2**63), 2**31, 2**63, 2**64, 10**400, 1e308, 0.5, [], {}, [[]], [None], {"a": 1}, [-1], [2**70],
    "f64[" + ":, " * 300 + ":]", "int=" + "9" * 4000, [["x"] * 3], {"name": "A", "array": "A", "dim": "0]; import os; x[0"},
)  # fmt: skip


def headers(count: int, seed: int, folder: Path) -> Tally:
    """Entries whose data say something else somewhere, with a checksum that is right: kernels, schedules, rates."""
    draw, tally, place = random.Random(seed), Tally(), world(folder)
    wanted = [name for kind in ("kernel", "kernel", "kernel", "schedule", "rates") for name in place.kinds[kind]]
    for _ in range(count):
        name = draw.choice(wanted)
        content, is_kernel = place.right[name], name.startswith("kernel-")
        data = _head(content) if is_kernel else json.loads(content)
        if name.startswith("schedule-") and draw.random() < 0.8:
            tree, what = _changed(parse_tree(data["tree"]), draw)
            changed = {**data, "tree": print_tree(tree)}
        else:
            changed, what = _changed(data, draw)
        hostile = _with_head(content, changed) if is_kernel else json.dumps(changed).encode()
        place.path(name).write_bytes(seal(name, hostile))
        _trial(tally, f"{name}: {what}", "as Python", lambda name=name: _used(place, name))
        place.cache.put(name, place.right[name])
    return tally


def code(count: int, seed: int, folder: Path) -> Tally:
    """Python's code in the place of each text of each kernel's data, those first of which code is made."""
    tally, place = Tally(), world(folder)
    cases = []
    for name in place.kernels.values():
        head = _head(place.right[name])
        texts = [at for at in _places(head) if isinstance(_at(head, at), str)]
        cases += [(at[0] != "result_arrays", name, at, text) for at in texts for text in CODE]
    random.Random(seed).shuffle(cases)
    for _, name, at, text in sorted(cases, key=lambda case: case[0])[:count]:
        head = _head(place.right[name])
        _at(head, at[:-1])[at[-1]] = text
        place.path(name).write_bytes(seal(name, _with_head(place.right[name], head)))
        _trial(tally, f"{name}: {'/'.join(map(str, at))} = {text}", "as Python", lambda name=name: _used(place, name))
        place.cache.put(name, place.right[name])
    return tally


def _head(content: bytes) -> dict:
    return json.loads(content[4 : 4 + int.from_bytes(content[:4], "little")])


def _with_head(content: bytes, head: object) -> bytes:
    text = json.dumps(head).encode()
    return len(text).to_bytes(4, "little") + text + content[4 + int.from_bytes(content[:4], "little") :]


def _at(data: object, place: tuple) -> object:
    for step in place:
        data = data[step]
    return data


def _changed(data: object, draw: random.Random) -> tuple[object, str]:
    """The JSON with one value changed, or a key gone, and where."""
    everywhere = _places(data)
    deciding = [place for place in everywhere if place[0] in ("parameters", "results", "result_arrays")]  # what calls are made of
    place = draw.choice(deciding if deciding and draw.random() < 0.5 else everywhere)
    what = f"{'/'.join(map(str, place))} "
    node = _at(data, place[:-1])
    if isinstance(node, dict) and draw.random() < 0.2:
        del node[place[-1]]
        return data, what + "gone"
    value = draw.choice(HOSTILE)
    if value == [] and isinstance(node[place[-1]], list):
        value = None  # a shorter list is a statement that one may make
    node[place[-1]] = value
    return data, what + f"= {value!r:.60}"


def _places(data: object, path: tuple = ()) -> list[tuple]:
    found = []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += [(*path, key), *_places(value, (*path, key))]
    return found


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    (path / "with" / "more").mkdir(parents=True)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(path.parent)  # its path may have 107 characters
        try:
            listening.bind(path.name[-90:])
            os.rename(path.name[-90:], path.name)
        finally:
            os.chdir(here)


def _link(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.unlink(missing_ok=True)
    os.mkfifo(target)
    path.symlink_to(target)


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(200_000_000_000)


def _unreadable(path: Path) -> None:
    path.write_bytes(b"secret")
    path.chmod(0)


IN_PLACE = (_fifo, _folder, _socket, _link, _zeros, _loop, _sparse, _unreadable)


def places(count: int, seed: int, folder: Path) -> Tally:
    """What is no entry in the place of one, of each kind."""
    tally, place = Tally(), world(folder)
    cases = [(put, names[-1]) for put in IN_PLACE for names in place.kinds.values()]
    random.Random(seed).shuffle(cases)
    for number in range(count):
        put, name = cases[number % len(cases)]
        path = place.path(name)
        for then in ("used", "verified", "cleared", "evicted"):
            path.unlink(missing_ok=True)
            put(path)

            def use() -> str:
                with _alarm():
                    if then == "used":
                        return _used(place, name)
                    if then == "verified":
                        return "" if name in _damaged(place.cache) else "verify finds nothing"
                    place.cache.clear() if then == "cleared" else Cache(place.cache.folder, 1).evict()
                    return "it is still there" if os.path.lexists(path) else ""

            _trial(tally, f"{put.__name__.strip('_')} as {name}, {then}", then, use)
            shutil.rmtree(path, ignore_errors=True)
            if then in ("cleared", "evicted"):
                place.restore()
            else:
                place.cache.put(name, place.right[name])
            kept = place.cache.get(name)
            if kept != place.right[name]:
                tally.fail(f"{put.__name__} as {name}, {then}: nothing is kept there any more")
    return tally


def owners(count: int, seed: int, folder: Path) -> Tally:
    """Folders and entries that other users own or may write. Without root only modes are changed."""
    tally, place = Tally(), world(folder)
    changes: list[Callable[[Path], None]] = [
        lambda p, bits=bits: p.chmod(stat.S_IMODE(p.stat().st_mode) | bits) for bits in (0o2, 0o20, 0o77)
    ]
    if os.geteuid() == 0:
        changes += [lambda p: os.chown(p, 12345, -1), lambda p: os.chown(p, 12345, 12345)]
    name = place.kernels["longer"]
    path = place.path(name)
    levels = (path, path.parent, path.parent.parent, path.parent.parent.parent)
    cases = [(change, level) for change in changes for level in levels]
    random.Random(seed).shuffle(cases)
    for number in range(count):
        change, level = cases[number % len(cases)]
        what = f"change {changes.index(change)} of {level.name}"
        place.restore()
        change(level)

        def use() -> str:
            module._warn_once.cache_clear()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if place.cache.get(name) is not None:
                    return "the entry is taken"
            if level is not path and len(caught) != 1:  # an entry alone is removed
                return "nobody is told"
            return _problem(place.functions["longer"], place.cache)

        _trial(tally, what, "not used", use)
    place.restore()
    return tally


ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.ENOENT, errno.ENOLCK, errno.ENOSYS, errno.ESTALE)
CALLS = ("mkdir", "open", "replace", "utime", "scandir", "stat", "unlink", "write")


def disks(count: int, seed: int, folder: Path) -> Tally:
    """Errors of the file system at each of its calls, once or for good; and a real limit of the size of files."""
    draw, tally, place = random.Random(seed), Tally(), world(folder)
    for number in range(count):
        call, code, after = CALLS[number % len(CALLS)], draw.choice(ERRORS), draw.choice((0, 1, 2))
        lasts = draw.random() < 0.5
        place.restore()
        for name in place.kernels.values():
            place.cache.remove(name)
        function = place.functions[draw.choice(NAMES)]
        with _failing(call, code, after, lasts):
            _trial(
                tally, f"{os.strerror(code)} at {call} {after} lasts={lasts}", "as Python", lambda: _problem(function, place.cache)
            )
        parts = [each.path for each in place.cache._files(".tmp")]
        if parts and call != "unlink":
            tally.fail(f"{os.strerror(code)} at {call}: {parts} is left")
        for name in _damaged(place.cache):
            tally.fail(f"{os.strerror(code)} at {call}: {name} is damaged")
        if _problem(function, place.cache) or not _kept(function, place.cache):
            tally.fail(f"{os.strerror(code)} at {call}: nothing is kept afterwards")
    return tally


def _kept(function: FunctionType, cache: Cache) -> bool:
    kernel = polyml.kernel(function, cache_dir=cache.folder)
    kernel(np.arange(1.0, 7.0), 2.0)
    return kernel.from_cache


@contextmanager
def _failing(call: str, code: int, after: int, lasts: bool) -> Iterator[None]:
    """The call of `os` fails, after so many that do not, once or from then on. "write": files may have one byte."""
    if call == "write":
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return
    right, seen = getattr(os, call), [0]

    def failing(*arguments, **named):
        if "/cache" not in str(arguments[0]):
            return right(*arguments, **named)
        seen[0] += 1
        if seen[0] == after + 1 or lasts and seen[0] > after:
            raise OSError(code, os.strerror(code), str(arguments[0]))
        return right(*arguments, **named)

    setattr(os, call, failing)
    try:
        yield
    finally:
        setattr(os, call, right)


def crowd(count: int, seed: int, folder: Path) -> Tally:
    """So many processes on one cache with room for a few entries, while others clear, verify and evict it."""
    tally, place = Tally(), world(folder)
    small = module._cache_at(place.cache.folder, 60_000)
    place = replace(place, cache=small)
    children = [os.fork() or _work(place, seed + number) for number in range(count)]
    end = time.monotonic() + 10 * HANG_SECONDS
    for child in children:
        status = _ended(child, end)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            tally.fail(f"process {children.index(child)} hangs")
        elif status:
            tally.fail(f"process {children.index(child)} ended with {status}")
        else:
            tally.add("as Python")
    if place.cache.verify().damaged:
        tally.fail("damaged entries are left")
    return tally


def _ended(child: int, end: float) -> int | None:
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    return None


def _work(place: World, seed: int) -> int:
    """Of one process: never returns."""
    draw, status = random.Random(seed), 1
    try:
        for turn in range(6):
            if _problem(place.functions[draw.choice(NAMES)], place.cache):
                break
            act = draw.choice(("clear", "verify", "evict", "put", "put"))
            if act == "put":
                for name, content in draw.sample(sorted(place.right.items()), 4):
                    place.cache.put(name, content)
                    found = place.cache.get(name)
                    if found not in (None, content):
                        os._exit(3)
            elif act == "verify" and place.cache.verify().damaged:
                os._exit(4)
            else:
                getattr(place.cache, act)()
        else:
            status = 0
    except BaseException as error:  # for the parent's eyes
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def stale(count: int, seed: int, folder: Path) -> Tally:
    """A file changes between its import and the first call; another process has run the new text meanwhile."""
    import linecache

    draw, tally = random.Random(seed), Tally()
    cache = Cache(str(folder / "cache"), 512_000_000)
    for number in range(count):
        a, b = draw.sample(range(2, 9), 2)
        inlined = draw.random() < 0.5
        path = folder / f"stale{number}.py"
        text = "def helper(y):\n    return y * {0}.0\n\ndef f(A, x):\n    for i in range(A.shape[0]):\n        A[i] = A[i] * {1}.0 + helper(x)\n"
        old = text.format(a, 1) if inlined else text.format(1, a)
        new = text.format(b, 1) if inlined else text.format(1, b)
        imported = _module(path, old).f
        changed = _module(path, new).f
        linecache.cache.pop(str(path), None)

        def use() -> str:
            problem = _problem(changed, cache)
            return problem or _problem(imported, cache)

        _trial(tally, f"{old!r} -> {new!r}", "as Python", use)
    return tally


FAULTS = (
    Fault("cache: bits and ends of files", 2000, 60, damage),
    Fault("cache: entries under other names", 80, 8, other_names),
    Fault("cache: hostile data, sealed", 1000, 25, headers),
    Fault("cache: code in texts, sealed", 660, 16, code),
    Fault("cache: what is no file", 32, 3, places),
    Fault("cache: owners and modes", 20, 6, owners),
    Fault("cache: disks that fail", 200, 8, disks),
    Fault("cache: a crowd of processes", 48, 3, crowd),
    Fault("cache: a file that changed", 50, 4, stale),
)
