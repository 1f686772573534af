"""The linker of the system, which makes a shared library of an object."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from polyml.errors import ConfigError
from polyml.machines.cpu import CpuMachine

_DRIVERS = ("cc", "gcc", "clang")
_LINKERS = ("ld", "ld.lld")
_GNU = {"x86-64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_PLAIN = ("-z", "nodelete", "--defsym=__dso_handle=0")  # what the C compiler adds, for a linker without it
_SECONDS = 120


def linker(machine: CpuMachine, threads: str) -> tuple[str, ...] | None:
    """Returns the command that links objects for a machine into a shared library, without its files; None where there is none.

    threads: as for `library_build.build`.
    """
    gnu, own = _GNU[machine.isa], _GNU.get({"AMD64": "x86-64", "x86_64": "x86-64"}.get(platform.machine(), platform.machine()), "")
    names = _DRIVERS if gnu == own else (f"{gnu}-gcc", f"{gnu}-cc")
    flags = {"openmp": ("-fopenmp",), "pool": ("-pthread", "-Wl,-z,nodelete")}.get(threads, ())
    for name in names:
        if found := shutil.which(name):
            return (found, "-shared", *flags, "-lm")
    if gnu == own and threads != "openmp":
        folders = [f for f in (f"/usr/lib/{gnu}", f"/lib/{gnu}", "/usr/lib64", "/lib64", "/usr/lib") if Path(f).is_dir()]
        for name in _LINKERS:
            if found := shutil.which(name):
                return (found, "-shared", *_PLAIN, *(f"-L{f}" for f in folders), "-lm", "-lc")
    return None


def needed(machine: CpuMachine, threads: str) -> str:
    """Returns words for the programs of which `linker` needs one."""
    gnu = _GNU[machine.isa]
    if gnu not in (f"{platform.machine()}-linux-gnu",):
        return f"{gnu}-gcc"
    return ", ".join(_DRIVERS if threads == "openmp" else (*_DRIVERS, *_LINKERS))


def linked(command: tuple[str, ...], objects: Path, made: Path) -> None:
    """Links an object into the shared library `made`. Raises ConfigError, with what the linker says, where that fails."""
    program, *options = command
    libraries = [each for each in options if each.startswith("-l")]
    others = [each for each in options if not each.startswith("-l")]
    call = [program, *others, "-o", str(made), str(objects), *libraries]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ConfigError(f"the linker {program} did not run: {problem}") from None
    if done.returncode:
        notes = [line for line in done.stderr.splitlines() if line.strip()][:5]
        raise ConfigError(f"{program} cannot link {objects}", notes=[*notes, f"it was: {' '.join(call)}"])
