"""What all kernels of the process do: which are compiled, which run as plain Python, why, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class KernelStatus:
    """One kernel. form: "compiled", "in parts", "plain Python" or "not called". reasons: their numbers (see `polyml.reasons`) and
    first lines. parts: the lines that ran as compiled code around what did not. calls, seconds: as plain Python, wholly or in parts.
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


@dataclass(frozen=True)
class ProcessStatus:
    """All kernels that exist, in the order of their places in files. Prints as text, those first that took longest."""

    kernels: tuple[KernelStatus, ...]

    def __iter__(self):
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __str__(self) -> str:
        ordered = sorted(self.kernels, key=lambda k: -k.seconds)
        return "\n".join(map(str, ordered)) or "there are no kernels"

    __repr__ = __str__


def of(kernels: Iterable[KernelStatus]) -> ProcessStatus:
    """The status of these kernels."""
    return ProcessStatus(tuple(sorted(kernels, key=lambda k: k.where)))
