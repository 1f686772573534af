"""Which mistakes in kernels nobody notices: each kernel with each mutation runs in the emulator at a few sizes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import polyml
from polyml.errors import PolymlError
from polyml.runtime.storage.disk_cache import Cache
from tests.cuda.emulator.driver import Emulator, emulated
from tests.cuda.emulator.faults import FaultsFound
from tests.cuda.emulator.launches import Run, runtime
from tests.cuda.emulator.mutations import Mutation, with_switches

Arguments = tuple[object, ...]
KINDS = ("barrier", "wait", "bound", "swizzle")


@dataclass(frozen=True)
class Subject:
    """A Subject is a kernel whose mutations are tried.

    runs: arguments of calls, which together reach all that it does, for bounds at sizes where each decides something.
    kinds: which mutations are tried.
    settings: of polyml, for the kernel.
    """

    name: str
    function: Callable[..., object]
    runs: tuple[Arguments, ...]
    kinds: tuple[str, ...] = KINDS
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Tried:
    """What became of a mutation. noticed: how it was noticed first, "" for one that nobody noticed."""

    subject: str
    mutation: Mutation
    noticed: str


class _Switchable(Emulator):
    """An emulator that compiles texts with switches, and remembers the mutations of the last one."""

    mutations: tuple[Mutation, ...] = ()

    def compile(self, text: str, cache: Cache | None = None):
        switched, self.mutations = with_switches(text)
        return super().compile(switched)


def tried(subject: Subject, kinds: Sequence[str] = KINDS) -> Iterator[Tried]:
    """Yields what became of each mutation of some kinds. Raises ValueError where the kernel without a mutation is wrong."""
    device = _Switchable(Run(most_seconds=2))
    kernel = polyml.kernel(subject.function, target="cuda", fallback="error", **subject.settings)
    plain = []
    with emulated(device):
        for arguments in subject.runs:
            given, wanted = copy.deepcopy(arguments), copy.deepcopy(arguments)
            kernel(*given)
            subject.function(*wanted)
            if not all(np.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True) for one, other in zip(given, wanted)):
                raise ValueError(f"{subject.name} is wrong without a mutation")
            plain.append(given)
    mutations = device.mutations
    for mutation in mutations:
        if mutation.kind in kinds and not mutation.only_slower:
            runtime().emu_mutate(mutation.number, mutation.shift)
            try:
                yield Tried(subject.name, mutation, _noticed(kernel, device, subject.runs, plain))
            finally:
                runtime().emu_mutate(-1, 0)


def _noticed(kernel: object, device: Emulator, runs: Sequence[Arguments], plain: Sequence[Arguments]) -> str:
    """Returns how a mutation, which is switched on, is noticed first; "" where it is not."""
    for arguments, wanted in zip(runs, plain):
        given = copy.deepcopy(arguments)
        try:
            with emulated(device):
                kernel(*given)
        except FaultsFound as found:
            return found.faults[0].kind
        except PolymlError as problem:
            return str(problem)
        if not all(np.array_equal(one, other, equal_nan=True) for one, other in zip(given, wanted)):
            return "wrong result"
    return ""


def report(subjects: Sequence[Subject], why: Callable[[Mutation], str]) -> int:
    """Prints the mutations that nobody notices, and returns 1 where one has no reason for that.

    why: returns the reason why a mutation changes nothing, "" where there is none
    """
    without_reason, total, start = 0, 0, time.monotonic()
    for subject in subjects:
        for each in tried(subject, subject.kinds):
            total += 1
            if not each.noticed:
                reason = why(each.mutation)
                without_reason += not reason
                print(f"{subject.name}: survives: {each.mutation}: {reason or 'nobody knows why'}", flush=True)
    print(
        f"{total} mutations of {len(subjects)} kernels in {time.monotonic() - start:.0f} s: {without_reason} survive without a reason"
    )
    return 1 if without_reason else 0
