"""Trials in forks of one process that has imported everything: a few milliseconds each instead of the start of an interpreter.

with Forks(folder) as forks:
    forks.command(["report", "k.py:f", "--tile", "0"])     # as `polyml report k.py:f --tile 0` in that folder
    forks.code("k.report(A, tile=(0,))", prepared)         # Python; an error of polyml's own is status 2
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.campaign import HANG_SECONDS
from tests.faults.children import End, environment

MEMORY_BYTES = 4 << 30  # of addresses, that a trial may come to use
REFUSED = 2


class Forks:
    """A process that makes trials on request, one at a time. folder: in which they run; their cache is beside it."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Forks:
        cache = self._folder.with_name(f"{self._folder.name}-cache")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forks"], cwd=self._folder, env=environment(cache),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def command(self, words: Sequence[str], variables: Mapping[str, str] | None = None) -> End:
        """How `polyml` ends with these words. variables: of the environment, besides."""
        return self._made({"words": list(words), "variables": dict(variables or {})})

    def code(self, text: str, prepared: str = "") -> End:
        """How Python code ends. prepared: code that runs before, in which nothing is tried."""
        return self._made({"code": text, "prepared": prepared, "variables": {}})

    def _made(self, trial: Mapping[str, object]) -> End:
        self._process.stdin.write(json.dumps(trial).encode() + b"\n")
        self._process.stdin.flush()
        return End(**json.loads(self._process.stdout.readline()))


def _serve() -> None:
    """Read trials, a line each, and write how they ended."""
    import islpy  # noqa: F401  what trials need is imported once
    import numpy  # noqa: F401

    import polyml  # noqa: F401
    from polyml.cli.commands import bench, cache, doctor, machine, report, run, schedule, show, simulate  # noqa: F401
    from polyml.pipeline import compile as pipeline  # noqa: F401
    from polyml.systolic.report import comparison  # noqa: F401

    answers = os.fdopen(os.dup(1), "wb")
    for line in sys.stdin.buffer:
        answers.write(json.dumps(_forked(json.loads(line))).encode() + b"\n")
        answers.flush()


def _forked(trial: Mapping[str, object]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        child = os.fork()
        if child == 0:
            _become(trial, out.fileno(), error.fileno())
        status = _ended(child)
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read(1 << 20).decode(errors="replace"))
        return {"status": status, "out": texts[0], "error": texts[1]}


def _ended(child: int) -> int | None:
    """The status of a process group's first process; None where it was ended since it took too long."""
    until, pause = time.monotonic() + HANG_SECONDS, 0.001
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(1.5 * pause, 0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become(trial: Mapping[str, object], out: int, error: int) -> None:
    """In the fork: be the trial, and end."""
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out, 1)
        os.dup2(error, 2)
        os.environ.update(trial["variables"])
        status = _command(trial["words"]) if "words" in trial else _code(trial["code"], trial["prepared"])
    except BaseException:
        _print_traceback()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _command(words: Sequence[str]) -> int:
    from polyml.cli import main

    try:
        main(list(words), prog_name="polyml")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        _print_traceback()
        return 1
    return 0


def _code(text: str, prepared: str) -> int:
    from polyml.errors import CompileError, PolymlError

    names: dict[str, object] = {}
    exec(compile(prepared, "<prepared>", "exec"), names)
    try:
        exec(compile(text, "<trial>", "exec"), names)
    except CompileError:
        _print_traceback()
        return 1
    except PolymlError as problem:
        print(problem, file=sys.stderr)
        return REFUSED
    except BaseException:
        _print_traceback()
        return 1
    return 0


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


if __name__ == "__main__":
    _serve()
