"""What all kernels of a process do: which are compiled, which run as plain Python, why, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class KernelStatus:
    """A kernel status says how the calls of one kernel have run so far. It prints as text.

    name, where: the kernel's name, and its file and line.
    form: "compiled", "in parts", "plain Python" or "not called".
    signatures: the argument types for which code was made.
    reasons: (number, first line) of each reason why calls ran as plain Python; see `polyml.reasons`.
    parts: (first line, last line) of each part that ran as compiled code, where the function as a whole is not compiled.
    calls, seconds: how many calls ran as plain Python, wholly or in parts, and how long they took.

    >>> print(KernelStatus("f", "f.py:3", "plain Python", (), (("PML-F001", "a while loop"),), (), 2, 0.5))
    f (f.py:3): plain Python, 2 calls, 0.5 s
      PML-F001: a while loop
    """

    name: str
    where: str
    form: str
    signatures: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...]
    parts: tuple[tuple[int, int], ...]
    calls: int
    seconds: float

    def __str__(self) -> str:
        cost = f", {self.calls:,} calls, {self.seconds:.3g} s" if self.calls else ""
        lines = [f"{self.name} ({self.where}): {self.form}{cost}"]
        lines += [f"  compiled for {each}" for each in self.signatures]
        lines += [f"  compiled: lines {first} to {last}" for first, last in self.parts]
        return "\n".join([*lines, *(f"  {code}: {text}" for code, text in self.reasons)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True)
class ProcessStatus:
    """A process status holds the status of each kernel that exists, in the order of files and lines.

    It prints as text, with the kernels first that took longest as plain Python.

    >>> ProcessStatus(())
    there are no kernels
    """

    kernels: tuple[KernelStatus, ...]

    def __iter__(self):
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __str__(self) -> str:
        ordered = sorted(self.kernels, key=lambda k: -k.seconds)
        return "\n".join(map(str, ordered)) or "there are no kernels"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def of(kernels: Iterable[KernelStatus]) -> ProcessStatus:
    """Returns the process status that has the status of these kernels, in the order of their files and lines."""
    return ProcessStatus(tuple(sorted(kernels, key=lambda k: k.where)))
