"""A process that checks programs on request, so that a crash or an endless loop costs one program only.

`python -m tests.fuzz.worker` reads one JSON request per line and answers each with one JSON line.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence

from tests.fuzz.program import Program

TIMEOUT_S = 60.0
PROGRAMS_PER_PROCESS = 400  # then a fresh one: what LLVM and isl keep does not pile up


class Worker:
    """The parent's end: one process, started when needed, and started again after a crash."""

    def __init__(self, timeout_s: float = TIMEOUT_S):
        self.timeout_s = timeout_s * (10 if "POLYML_CHECK" in os.environ else 1)
        self.process: subprocess.Popen | None = None
        self.served = 0

    def check(self, program: Program, engines: Sequence[str]) -> dict:
        """The outcome of the program as a dict; a crash and a time-out are failures of engine "process"."""
        if self.process is None or self.served >= PROGRAMS_PER_PROCESS:
            self.close()
            self._start()
        self.served += 1
        expired = threading.Event()
        timer = threading.Timer(self.timeout_s, lambda: (expired.set(), self.process.kill()))
        timer.start()
        try:
            self.process.stdin.write(json.dumps({"program": program.to_json(), "engines": list(engines)}) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if answer:
            return json.loads(answer)
        return self._died(expired.is_set())

    def _start(self) -> None:
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip
        self.served = 0

    def _died(self, expired: bool) -> dict:
        code = self.process.wait()
        self.errors.seek(0)
        text = self.errors.read()[-3000:]
        self.process = None
        engine = text.rpartition("engine: ")[2].partition("\n")[0] if "engine: " in text else "process"
        if expired:
            return {
                "kind": "failed",
                "engine": engine,
                "reason": "timeout",
                "run": -1,
                "detail": f"no answer within {self.timeout_s:.0f} s",
                "unbounded": 0,
                "raised": 0,
                "fired": [],
                "hidden": False,
            }
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {
            "kind": "failed",
            "engine": engine,
            "reason": f"crash {name}",
            "run": -1,
            "detail": text,
            "unbounded": 0,
            "raised": 0,
            "fired": [],
            "hidden": False,
        }

    def close(self) -> None:
        if self.process is None:
            return
        self.process.stdin.close()
        self.process.wait()
        self.process = None


def serve() -> None:
    """Answer requests until the input ends. What the compiler prints goes to stderr, not between the answers."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from tests.fuzz.check import check

    for line in sys.stdin:
        request = json.loads(line)
        outcome = check(Program.from_json(request["program"]), request["engines"], note=_note)
        answers.write(json.dumps(outcome.to_dict()) + "\n")
        answers.flush()


def _note(engine: str) -> None:
    """Leaves word of what was running, should the process die."""
    print(f"engine: {engine}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    serve()
