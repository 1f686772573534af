"""Launches of the kernels of one CUDA text in the emulator."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tests.cuda.emulator import compiler
from tests.cuda.emulator.counts import AccessCounts
from tests.cuda.emulator.faults import KINDS, Access, Fault, merged

ORDERS = ("forward", "backward", "seeded")


class _Array(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("granule", ctypes.c_int), ("shared", ctypes.c_int)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("thunk", ctypes.c_void_p), ("arguments", ctypes.POINTER(ctypes.c_void_p)), ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3), ("order", ctypes.c_int), ("counts", ctypes.c_int), ("most_seconds", ctypes.c_int), ("seed", ctypes.c_uint64),
        ("arrays", ctypes.POINTER(_Array)), ("array_count", ctypes.c_int),
    ]  # fmt: skip


class _Fault(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int), ("array", ctypes.c_int), ("line", ctypes.c_int), ("other_line", ctypes.c_int),
        ("place", ctypes.c_void_p), ("other_place", ctypes.c_void_p), ("offset_bytes", ctypes.c_int64),
        ("thread", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("other_thread", ctypes.c_uint * 3),
        ("other_block", ctypes.c_uint * 3), ("other", ctypes.c_int), ("bytes", ctypes.c_int), ("is_write", ctypes.c_int),
        ("other_is_write", ctypes.c_int), ("times", ctypes.c_uint64),
    ]  # fmt: skip


class _Count(ctypes.Structure):
    _fields_ = [
        ("place", ctypes.c_void_p), ("array", ctypes.c_int), ("bytes", ctypes.c_int), ("is_write", ctypes.c_int),
        ("is_shared", ctypes.c_int), ("accesses", ctypes.c_uint64), ("requests", ctypes.c_uint64), ("sectors", ctypes.c_uint64),
        ("wavefronts", ctypes.c_uint64), ("least_wavefronts", ctypes.c_uint64),
    ]  # fmt: skip


@dataclass(frozen=True)
class Run:
    """How threads run and what is looked at.

    order: one of ORDERS
    counts: whether requests are counted
    most_seconds: of the processor's time that a launch may take; 0: any
    """

    order: str = "forward"
    seed: int = 1
    counts: bool = False
    most_seconds: int = 0


@cache
def runtime() -> ctypes.CDLL:
    """Returns the emulator, loaded so that libraries of kernels find its functions."""
    loaded = ctypes.CDLL(str(compiler.runtime()), mode=ctypes.RTLD_GLOBAL)
    loaded.emu_allocate.restype = ctypes.c_void_p
    loaded.emu_allocate.argtypes = [ctypes.c_size_t]
    loaded.emu_free.argtypes = [ctypes.c_void_p]
    loaded.emu_written.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    loaded.emu_launch.argtypes = [ctypes.POINTER(_Launch)]
    loaded.emu_faults.restype = ctypes.POINTER(_Fault)
    loaded.emu_counts.argtypes = [ctypes.POINTER(ctypes.POINTER(_Count))]
    return loaded


class Memory:
    """Memory of the emulated device, which is given back once nothing refers to it."""

    def __init__(self, size_bytes: int):
        self.size_bytes = size_bytes
        self._runtime = runtime()
        self.address = self._runtime.emu_allocate(max(size_bytes, 1))
        if self.address is None:
            raise MemoryError(f"the emulator has no {size_bytes:,} bytes of memory left")

    def upload(self, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies an array, which must be stored row by row, to the memory from an offset on."""
        ctypes.memmove(self.address + offset_bytes, array.ctypes.data, array.nbytes)
        self._runtime.emu_written(self.address + offset_bytes, array.nbytes)

    def download(self, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies the memory from an offset on to an array, which must be stored row by row."""
        ctypes.memmove(array.ctypes.data, self.address + offset_bytes, array.nbytes)

    def __del__(self) -> None:
        if self.address is not None:
            self._runtime.emu_free(self.address)


class Library:
    """A Library holds the kernels of one CUDA text, compiled for the emulator. Raises ValueError for a text that g++ refuses."""

    def __init__(self, text: str):
        runtime()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name, "kernels.so")
        compiler.library(text, self._path)
        self.text = text
        self._lines = text.splitlines()
        self._loaded = ctypes.CDLL(str(self._path))
        self.kernels = {each.name: each for each in compiler.kernels_of(text)}
        symbols = compiler.Symbols(self._path, text)
        self._base = self._address(next(iter(self.kernels))) - symbols.thunks[next(iter(self.kernels))] if self.kernels else 0
        self._shared = symbols.shared
        self._known_lines: dict[int, int] = {}

    def launch(
        self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[object], run: Run = Run()
    ) -> tuple[tuple[Fault, ...], tuple[AccessCounts, ...]]:
        """Runs one launch, and returns what was wrong with it and how often it accessed what.

        grid, block: how many blocks there are, and how many threads a block has, along each axis, x first
        arguments: Memory, and NumPy scalars of exactly the types of the kernel's parameters
        """
        kernel, shared = self.kernels[name], self._shared.get(name, [])
        if len(arguments) != len(kernel.parameters):
            raise TypeError(f"{name} has {len(kernel.parameters)} parameters, not {len(arguments)}")
        arrays = [
            _Array(given.address, 0, size, 0) for given, (_, size) in zip(arguments, kernel.parameters) if isinstance(given, Memory)
        ]
        names = [array for given, (array, _) in zip(arguments, kernel.parameters) if isinstance(given, Memory)]
        arrays += [_Array(self._base + each.address, each.bytes, each.element_bytes, 1) for each in shared]
        names += [each.name for each in shared]
        held = [np.array([each.address if isinstance(each, Memory) else each]) for each in arguments]
        pointers = (ctypes.c_void_p * len(held))(*(each.ctypes.data for each in held))
        launch = _Launch(
            self._address(name), pointers, tuple(grid), tuple(block), ORDERS.index(run.order), run.counts, run.most_seconds, run.seed,
            (_Array * len(arrays))(*arrays), len(arrays),
        )  # fmt: skip
        found = runtime().emu_launch(launch)
        if found < 0:
            raise ValueError(f"{name}: argument {names[-1 - found]} is no memory of the device")
        faults = self._faults(name, found, names)
        return faults, self._counts(name, names) if run.counts else ()

    def _address(self, kernel: str) -> int:
        return ctypes.cast(self._loaded[f"emu_kernel_{kernel}"], ctypes.c_void_p).value

    def _faults(self, kernel: str, count: int, names: list[str]) -> tuple[Fault, ...]:
        found = runtime().emu_faults()[:count]
        self._look_up({place for each in found for place in (each.place, each.other_place) if place})
        return merged(self._fault(kernel, each, names) for each in found)

    def _fault(self, kernel: str, found: _Fault, names: list[str]) -> Fault:
        kind, line = KINDS[found.kind], found.line or self._known_lines.get(found.place or 0, 0)
        array = names[found.array] if found.array >= 0 else ""
        if kind == "index out of bounds":
            array = _indexed(self._text(line)[: found.other_line])
        one = self._access(line, found.thread, found.block, found.is_write)
        other, place = None, self._known_lines.get(found.other_place or 0, 0)
        if kind.startswith("race"):
            other = self._access(place, found.other_thread, found.other_block, found.other_is_write)
        if kind == "threads at different barriers":
            other = self._access(found.other_line, found.other_thread, found.other_block, 0)
        return Fault(kind, kernel, array, found.offset_bytes, found.bytes, one, other, found.times)

    def _access(self, line: int, thread: Sequence[int], block: Sequence[int], is_write: int) -> Access:
        return Access(line, self._text(line).strip(), tuple(thread), tuple(block), bool(is_write))

    def _text(self, line: int) -> str:
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""

    def _counts(self, kernel: str, names: list[str]) -> tuple[AccessCounts, ...]:
        array = ctypes.POINTER(_Count)()
        found = array[: runtime().emu_counts(ctypes.byref(array))]
        self._look_up({each.place for each in found})
        return tuple(
            AccessCounts(
                kernel, self._known_lines[each.place], names[each.array], bool(each.is_write), bool(each.is_shared), each.bytes,
                each.accesses, each.requests, each.sectors, each.wavefronts, each.least_wavefronts,
            )
            for each in found
        )  # fmt: skip

    def _look_up(self, places: set[int]) -> None:
        new = sorted(places - self._known_lines.keys())
        self._known_lines |= zip(new, compiler.lines_of(self._path, [each - self._base for each in new]))


def _indexed(text: str) -> str:
    """Returns the name of the array in an expression that ends with its last subscript; "" where it is not found.

    >>> _indexed("B[i] = tile[A[j]][k + 1]")
    'tile'
    """
    while text.endswith("]"):
        depth = 0
        for k in range(len(text) - 1, -1, -1):
            depth += {"]": 1, "[": -1}.get(text[k], 0)
            if depth == 0:
                break
        text = text[:k]
    return (re.search(r"\w*$", text) or [""])[0]
