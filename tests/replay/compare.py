"""Whether this working tree makes of every program what a commit made of it:  python -m tasks replay BASE"""

from __future__ import annotations

import argparse
import ctypes
import difflib
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / ".replay"  # captures of commits: made once
_HEAD = "== "
_ADDR_NO_RANDOMIZE = 0x0040000  # of Linux's personality(2)


def main(words: Sequence[str] | None = None) -> int:
    """1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tasks replay", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--random", type=int, default=500, help="how many random programs")
    parser.add_argument("--only", default="", help="the programs whose names contain this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--lines", type=int, default=100, help="how many lines of differences are printed")
    options = parser.parse_args(words)
    commit = _git("rev-parse", "--verify", f"{options.base}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        base = _of_commit(commit, options, Path(folder))
        now = Path(folder) / "now"
        _capture(ROOT, now, options)
        before, after = _texts(base, options.only), _texts(now, options.only)
    differing = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    lines = [line for name in differing for line in differences(name, before.get(name, ""), after.get(name, ""))]
    print("\n".join(lines[: options.lines]))
    if len(lines) > options.lines:
        print(f"... {len(lines) - options.lines} lines more")
    print(
        f"{len({*before, *after})} programs compared with {commit[:12]}: {len(differing)} differ"
        + "".join(f"\n  {name}" for name in differing)
    )
    return 1 if differing else 0


def differences(name: str, before: str, after: str) -> list[str]:
    """The lines in which a program's captures differ, below the name of the section in which they stand."""
    old, new = sections(before), sections(after)
    made = []
    for section in dict.fromkeys([*old, *new]):
        one, other = old.get(section, []), new.get(section, [])
        if one != other:
            changed = list(difflib.unified_diff(one, other, lineterm="", n=1))[2:]
            made += [f"{name}: {section}", *(f"    {line}" for line in changed)]
    return made


def sections(text: str) -> dict[str, list[str]]:
    """{name of a section: its lines} of what a capture has of one program."""
    made: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(_HEAD):
            lines = made.setdefault(line.removeprefix(_HEAD), [])
        else:
            lines.append(line)
    return made


def _of_commit(commit: str, options: argparse.Namespace, folder: Path) -> Path:
    """The folder with the commit's capture: a kept one where the programs are the same, else made, and kept if it is of all."""
    kept = KEPT / f"{commit[:12]}-{options.random}-{_digest()}"
    if kept.exists():
        return kept
    tree = folder / "tree"
    tarfile.open(fileobj=BytesIO(_git("archive", commit, "polyml", "kernels"))).extractall(tree, filter="data")
    made = folder / "base"
    _capture(tree, made, options)
    if options.only:
        return made
    KEPT.mkdir(exist_ok=True)
    part = KEPT / f"{kept.name}.{os.getpid()}.part"
    subprocess.run(["cp", "-r", str(made), str(part)], check=True)
    return part.rename(kept)


def _capture(tree: Path, folder: Path, options: argparse.Namespace) -> None:
    """What the polyml of `tree` makes of the programs of this working tree."""
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.replay.capture",
        str(folder),
        "--random",
        options.random,
        "--jobs",
        options.jobs,
        "--only",
        options.only,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(ROOT)]), "PYTHONHASHSEED": "0"}
    subprocess.run(list(map(str, words)), cwd=tree, env=environment, check=True, preexec_fn=_at_fixed_addresses)


def _at_fixed_addresses() -> None:
    """For the process that this one becomes, and its children: hashes of isl and of None are addresses, and decide orders."""
    if sys.platform == "linux":
        ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)


def _digest() -> str:
    """It changes with the programs and with what is captured of them."""
    paths = sorted(path for name in ("arrays", "fuzz", "mixed", "replay") for path in (ROOT / "tests" / name).glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def _texts(folder: Path, only: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in folder.glob("*.txt") if only in path.stem}


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main())
