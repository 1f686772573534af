"""Processes in which faults happen, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.campaign import HANG_SECONDS

ROOT = Path(__file__).parents[2]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: processes would ignore it as well
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class End:
    """How a process ended. status: its exit status, the negative number of a signal, None where it was ended since it hung."""

    status: int | None
    out: str
    error: str

    @property
    def problem(self) -> str:
        """What no fault may come to, in a few words: a hang, a signal, a foreign traceback, a defect; "" where it is none of these."""
        if self.status is None:
            return f"hangs over {HANG_SECONDS} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}: {_last(self.error)}"
        for sign in ("defect of polyml", "Traceback (most recent call last)"):
            if sign in self.out + self.error:
                return f"{sign}: {_last(self.error)}"
        return ""


def environment(cache: Path | str, **more: str) -> dict[str, str]:
    """This process's variables without polyml's, with a cache folder and `more`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("POLYML_")}
    return {**own, "PYTHONPATH": f"{ROOT}:.", "POLYML_CACHE_DIR": str(cache), "POLYML_ON_DEFECT": "raise", **more}


def run(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *,
    folder: Path | None = None,
    seconds: float = HANG_SECONDS,
    interrupts: Sequence[float] = (),
) -> End:
    """Python with these arguments, in a process group of its own that is ended after `seconds`. interrupts: seconds from its start,
    or from the one before, to a SIGINT.
    """
    command = [sys.executable, *arguments]
    child = subprocess.Popen(
        command, env=dict(variables), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    for wait in interrupts:
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
    try:
        out, error = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, error = child.communicate()
        return End(None, out.decode(errors="replace"), error.decode(errors="replace"))
    return End(child.returncode, out.decode(errors="replace"), error.decode(errors="replace"))


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "nothing on its error stream"
