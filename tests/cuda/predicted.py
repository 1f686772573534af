"""What the report on a GPU predicts of fourteen kernels, against what the emulator counts on their CUDA text and what ptxas says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

import polyml
from polyml import kernels
from polyml.codegen.gpu.text.dialect import DIALECTS
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.printer import source
from polyml.gpu.launch_model import modelled
from polyml.gpu.launches import Launches
from polyml.gpu.warps.requests import GlobalRequests
from polyml.schedule.gpu import team_choice
from tests.cuda.compiler import compiled, nvcc
from tests.cuda.emulator.driver import counted
from tests.gpu import kernels as small
from tests.gpu import sums, tf32
from tests.gpu.mapping import H100, program_of

DTYPES = (np.float32, np.float64)
LIMIT, SHARE = 16, 0.15  # registers that an estimate may be off, or the share of those that there are


def matrix_units(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def total(x, y):
    for i in range(x.shape[0]):
        y[0] += x[i]


def column_sums(A, total):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            total[j] += A[i, j]


def softmax(y, x):
    for i in range(x.shape[0]):
        most = x[i, 0]
        for j in range(x.shape[1]):
            most = max(most, x[i, j])
        total = x[i, 0] * 0
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - most)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total


def layernorm(y, x, scale, shift):
    n = x.shape[1]
    for i in range(x.shape[0]):
        mean = x[i, 0] * 0
        for j in range(n):
            mean += x[i, j]
        mean = mean / n
        variance = mean * 0
        for j in range(n):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        for j in range(n):
            y[i, j] = (x[i, j] - mean) / np.sqrt(variance / n) * scale[j] + shift[j]


@dataclass(frozen=True)
class Subject:
    """A kernel with the sizes of calls: whole tiles and cut ones. Where a thread has 8 iterations, it has all of them or none: the emulator
    counts as one request what threads access for the n-th time, not in the n-th iteration of each loop.
    """

    name: str
    function: object
    calls: tuple[tuple[tuple[int, ...], ...], ...]
    types: tuple[type, ...] = ()  # of the elements of the arguments, where they are always the same
    tf32: bool = False

    @property
    def kernel(self) -> polyml.Kernel:
        return polyml.kernel(self.function, cache=False, tf32=self.tf32)

    @property
    def dtypes(self) -> tuple[type, ...]:
        return DTYPES[:1] if self.types else DTYPES

    def arguments(self, call: Sequence[tuple[int, ...] | int], dtype: type) -> list[object]:
        rng, types = np.random.default_rng(0), self.types or (dtype,) * len(call)
        return [size if isinstance(size, int) else (1 + rng.random(size)).astype(kind) for size, kind in zip(call, types)]


SUBJECTS = (
    Subject(
        "gemm",
        small.gemm,
        (
            ((128, 128), (128, 32), (32, 128)),
            ((136, 152), (136, 21), (21, 152)),
            ((118, 112), (118, 20), (20, 112)),
            ((130, 129), (130, 20), (20, 129)),
        ),
    ),
    Subject("transpose", small.transpose, (((64, 96), (96, 64)), ((45, 71), (71, 45)))),
    Subject("jacobi_2d", kernels.load("jacobi_2d").kernel, ((3, (66, 66), (66, 66)), (2, (45, 71), (45, 71)))),
    Subject("column_sums", column_sums, (((40, 128), (128,)), ((33, 141), (141,)))),
    Subject("matvec", small.matvec, (((40, 128), (128,), (40,)), ((33, 71), (71,), (33,)), ((300, 9), (9,), (300,)))),
    Subject("softmax", softmax, tuple(((n, m), (n, m)) for n, m in ((20, 128), (9, 1000), (4, 2051)))),
    Subject("layernorm", layernorm, tuple(((n, m), (n, m), (m,), (m,)) for n, m in ((20, 128), (5, 1037)))),
    Subject("total", total, (((9000,), (1,)), ((100,), (1,)))),
    Subject("trisolv", kernels.load("trisolv").kernel, (((40, 40), (40,), (40,)),)),
    Subject(
        "matrix_units",
        matrix_units,
        (
            ((128, 128), (128, 64), (64, 128)),
            ((136, 136), (136, 40), (40, 136)),
            ((128, 112), (128, 68), (68, 112)),
            ((128, 130), (128, 68), (68, 130)),
            ((128, 129), (128, 69), (69, 129)),
        ),
        (np.float32, np.float16, np.float16),
    ),
    Subject(
        "tf32",
        small.gemm,
        (
            ((128, 128), (128, 32), (32, 128)),
            ((136, 136), (136, 20), (20, 136)),
            ((128, 112), (128, 36), (36, 112)),
            ((128, 130), (128, 34), (34, 130)),
            ((128, 129), (128, 35), (35, 129)),
        ),
        (np.float32, np.float32, np.float32),
        tf32=True,
    ),
    Subject("tf32_transposed", tf32.both_transposed, (((128, 128), (40, 128), (128, 40)),), (np.float32,) * 3, tf32=True),
    Subject(
        "convolution",
        sums.convolution,
        (((2, 64, 8, 8), (2, 3, 17, 10), (64, 3, 3, 3)), ((1, 72, 4, 6), (1, 5, 9, 8), (72, 5, 3, 3))),
    ),
    Subject("contraction", sums.contraction, (((4, 8, 64), (4, 8, 3, 4), (3, 4, 64)), ((3, 8, 40), (3, 8, 2, 3), (2, 3, 40)))),
)


@dataclass(frozen=True)
class Compared:
    """A number that is predicted, and what it is.

    launch: the kernel. what: of which accesses to which array.
    """

    launch: str
    what: str
    predicted: int
    found: int

    @property
    def is_right(self) -> bool:
        if self.what != "registers":
            return self.predicted == self.found
        return abs(self.predicted - self.found) <= max(LIMIT, SHARE * self.found)


def table(only: str = "") -> int:
    """Prints what is predicted and what is found, and returns how many numbers are wrong."""
    compiler, wrong = nvcc(), 0
    for subject in SUBJECTS:
        for dtype in subject.dtypes if only in subject.name else ():
            for call in subject.calls:
                arguments = subject.arguments(call, dtype)
                rows = [*requests_of(subject, arguments), *(resources_of(subject, arguments, compiler) if compiler else ())]
                sizes = ", ".join(" x ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in call)
                print(f"{subject.name} {np.dtype(dtype).name}: {sizes}", flush=True)
                for row in rows:
                    print(f"  {row.launch:14} {row.what:36} {row.predicted:>9,} {row.found:>9,}{'' if row.is_right else '  WRONG'}")
                wrong += sum(not row.is_right for row in rows)
    print(f"{wrong} numbers are wrong")
    return wrong


def resources_of(subject: Subject, arguments: Sequence[object], compiler: str) -> Iterator[Compared]:
    """Yields the registers and the shared memory of each kernel, of one call."""
    with patch.object(team_choice, "MULTIPROCESSORS", 1):
        yield from _resources_of(subject, arguments, compiler)


def _resources_of(subject: Subject, arguments: Sequence[object], compiler: str) -> Iterator[Compared]:
    mapped, program, sizes = program_of(subject.kernel, arguments)
    text = source(program, DIALECTS["cuda"], strict=False)
    made = {each.name: each for each in compiled(text.text, "sm_90", compiler)}
    for launches in modelled(program, mapped, sizes, H100):
        yield Compared(launches.name, "registers", launches.registers, made[launches.name].registers)
        found = made[launches.name].shared_bytes + text.signatures[launches.name].shared_bytes
        yield Compared(launches.name, "shared bytes", launches.shared_bytes, found)


def requests_of(subject: Subject, arguments: Sequence[object]) -> Iterator[Compared]:
    """Yields requests, sectors, wavefronts and bank conflicts of each array, of one call on a device of one multiprocessor, which has the
    usual blocks where they are not much larger than the result, and else smaller ones.
    """
    with patch.object(team_choice, "MULTIPROCESSORS", 1):
        yield from _requests_of(subject, arguments)


def _requests_of(subject: Subject, arguments: Sequence[object]) -> Iterator[Compared]:
    mapped, program, sizes = program_of(subject.kernel, arguments)
    made = counted(subject.kernel, *(np.copy(each) if isinstance(each, np.ndarray) else each for each in arguments))
    found: Counter[tuple[str, str, str]] = Counter()
    for each in made:
        access = f"{'stores' if each.is_write else 'loads'} of {each.array}"
        found[each.kernel, access, "requests"] += each.requests
        if each.is_shared:
            found[each.kernel, access, "wavefronts"] += each.wavefronts
            found[each.kernel, access, "bank conflicts"] += each.wavefronts - each.least_wavefronts
        else:
            found[each.kernel, access, "sectors"] += each.sectors
    expected: Counter[tuple[str, str, str]] = Counter()
    for launches in modelled(program, mapped, sizes, H100):
        expected.update(_predicted(launches))
    for key in sorted({*found, *expected}):
        yield Compared(key[0], f"{key[2]}, {key[1]}", expected[key], found[key])


def _predicted(launches: Launches) -> Counter[tuple[str, str, str]]:
    """Returns what the model counts, summed over the accesses to each array."""
    expected: Counter[tuple[str, str, str]] = Counter()
    for each in launches.accesses:
        touch, made = each.access.touch, each.requests
        assert made.accuracy == "exact"
        name = touch.shared or touch.parts or named(touch.array) + "_tile" * touch.is_shared
        access = f"{'stores' if touch.is_write else 'loads'} of {name}"
        expected[launches.name, access, "requests"] += made.requests
        if isinstance(made, GlobalRequests):
            expected[launches.name, access, "sectors"] += made.sectors
        else:
            expected[launches.name, access, "wavefronts"] += made.wavefronts
            expected[launches.name, access, "bank conflicts"] += made.conflicts
    return expected
