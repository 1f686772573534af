"""What a peer is, and where the code that it makes is kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from polyml.kernels import Benchmark
from polyml.machines import cpu

Call = Callable[..., object]


class PeerUnavailable(Exception):
    """This is raised where the peer is not on this machine, or has no form of this kernel; the text says which."""


@dataclass(frozen=True)
class Peer:
    """A Peer is another library or compiler that computes a kernel.

    variants: {label: a call that changes the arguments as the kernel does, or returns the outputs}; of several, the fastest
    correct one
        is the peer's time.
    fixed_size: whether it is compiled for the arguments' sizes, so that it must not be called with others.
    """

    name: str
    what: str
    variants: Callable[[Benchmark, Mapping[str, object], int], dict[str, Call]]
    fixed_size: bool = False


def built(make: Callable[[Path], None], *content: str) -> Path:
    """Returns the folder that `make` fills, kept in the user's cache under a digest of the content and of this processor.

    A folder appears whole or not at all. content: all that the result depends on: sources, commands, versions.
    """
    digest = hashlib.sha256("\0".join((*content, repr(cpu.host()))).encode()).hexdigest()[:32]
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "polyml-benchmarks")
    folder = root / digest
    if folder.exists():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as unfinished:
        made = Path(unfinished, digest)
        made.mkdir()
        make(made)
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():  # else another process was first
                raise
            shutil.rmtree(made)
    return folder
