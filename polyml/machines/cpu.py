"""The processor for which code is made: data with units, detected on the host or taken from a preset."""

from __future__ import annotations

import math
import os
import platform
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polyml.errors import ConfigError

_CPU_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_CPUINFO = Path("/proc/cpuinfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class CacheLevel:
    """A CacheLevel describes the data or unified caches of one level.

    level: 1 for the nearest one.
    size_bytes, line_bytes: the size of one cache, and that of a line.
    ways: its associativity; 0: fully associative.
    shared_by: how many logical CPUs use it together; 0: all.
    replacement: "lru", the least recently used line is evicted, or "plru", an approximation of that by a tree of bits.
    writes: "back", a written line goes on to the next level when it is evicted, or "through", each write goes on at once; either
        way a write fetches its line.
    contents: "inclusive", what it evicts is evicted from the nearer levels too; "exclusive", it holds what the next nearer level
        evicted and nothing else; or "independent" of the nearer levels.
    """

    level: int
    size_bytes: int
    ways: int
    line_bytes: int
    shared_by: int
    replacement: str = "lru"
    writes: str = "back"
    contents: str = "independent"

    @property
    def lines(self) -> int:
        """Returns how many lines the cache has."""
        return self.size_bytes // self.line_bytes

    @property
    def sets(self) -> int:
        """Returns how many sets the cache has; 1 where it is fully associative."""
        return self.lines // self.ways if self.ways else 1

    def sharing(self, threads: int) -> int:
        """Returns how many of `threads` threads use one cache of the level together, where each runs on a CPU of its own.

        The CPUs are taken in order, so that those that share a cache are used together.

        >>> shared = CacheLevel(3, 16 << 20, 16, 64, shared_by=8)
        >>> shared.sharing(2), shared.sharing(64)
        (2, 8)
        """
        return min(self.shared_by or threads, threads)


@dataclass(frozen=True)
class LlvmTarget:
    """An LlvmTarget is how a processor is named to LLVM.

    triple: the target triple.
    cpu_name: LLVM's name of the processor.
    features: what it can do, as in "+avx2,-sse4a".
    """

    triple: str
    cpu_name: str
    features: str


@dataclass(frozen=True)
class CpuMachine:
    """A CpuMachine describes a processor with its caches, as code generation needs it.

    name: its maker's name of it.
    isa: "x86-64" or "aarch64".
    vector_bytes: the width of one vector register, 16, 32 or 64.
    vector_registers: how many vector registers there are.
    fma: whether it has fused multiply-add.
    cores: how many logical CPUs this process may use.
    caches: data and unified caches, from the nearest outwards.
    preset_target: how it is named to LLVM; None: LLVM is asked about the host, which imports llvmlite.
    """

    name: str
    isa: str
    vector_bytes: int
    vector_registers: int
    fma: bool
    cores: int
    caches: tuple[CacheLevel, ...]
    preset_target: LlvmTarget | None = None

    @property
    def target(self) -> LlvmTarget:
        """Returns how the processor is named to LLVM; for the host, LLVM is asked."""
        return self.preset_target or _host_target()

    @property
    def triple(self) -> str:
        """Returns LLVM's target triple of the processor."""
        return self.target.triple

    @property
    def cpu_name(self) -> str:
        """Returns LLVM's name of the processor."""
        return self.target.cpu_name

    @property
    def features(self) -> str:
        """Returns the processor's features, as LLVM names them: "+avx2,-sse4a"."""
        return self.target.features

    @property
    def converts_halves(self) -> bool:
        """Returns whether the processor has instructions that convert between float16 and float32."""
        return self.isa == "aarch64" or "+f16c" in self.features.split(",")

    @property
    def computes_halves(self) -> bool:
        """Returns whether it has instructions that compute with float16 numbers, rather than only convert them (AVX512-FP16, or
        Arm's FP16).

        >>> from polyml.machines.catalogue import processor
        >>> [processor(name).computes_halves for name in ("sapphire-rapids", "zen4")]
        [True, False]
        """
        return not {"+avx512fp16", "+fullfp16"}.isdisjoint(self.features.split(","))

    @property
    def line_bytes(self) -> int:
        """Returns the bytes of a line of the nearest cache."""
        return self.caches[0].line_bytes

    def cache(self, level: int) -> CacheLevel:
        """Returns the cache of a level, or the outermost one where the machine has fewer levels.

        >>> from polyml.machines.catalogue import processor
        >>> processor("avx2").cache(1).size_bytes, processor("avx2").cache(4).level
        (32768, 3)
        """
        return next((c for c in self.caches if c.level == level), self.caches[-1])

    def lanes(self, element_bytes: int) -> int:
        """Returns how many elements of `element_bytes` one vector holds.

        >>> from polyml.machines.catalogue import processor
        >>> processor("avx2").lanes(8)
        4
        """
        return max(1, self.vector_bytes // element_bytes)


_TYPICAL_CACHES = (
    CacheLevel(1, 32 * 1024, 8, 64, 1),
    CacheLevel(2, 1024 * 1024, 8, 64, 1),
    CacheLevel(3, 16 * 1024 * 1024, 16, 64, 8),
)


@cache
def host() -> CpuMachine:
    """Returns this machine as the operating system describes it, with typical values where it does not say."""
    isa = _isa(platform.machine())
    flags = cpu_flags()
    vector_bytes, registers = _vectors(isa, flags)
    return CpuMachine(
        name=_model_name() or platform.processor() or isa,
        isa=isa,
        vector_bytes=vector_bytes,
        vector_registers=registers,
        fma=isa == "aarch64" or "fma" in flags,
        cores=usable_cores(),
        caches=_caches(_CPU_FOLDER) or _TYPICAL_CACHES,
    )


def usable_cores() -> int:
    """Returns how many logical CPUs this process may use: those of its affinity mask, cut to the quota of its control group."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota_cores(_CGROUP)
    return max(1, min(allowed, math.ceil(quota))) if quota else allowed


def _isa(machine: str) -> str:
    if machine.lower() in ("x86_64", "amd64"):
        return "x86-64"
    if machine.lower() in ("aarch64", "arm64"):
        return "aarch64"
    raise ConfigError(f"polyml makes code for x86-64 and aarch64; this machine is {machine!r}")


def _vectors(isa: str, flags: frozenset[str]) -> tuple[int, int]:
    """Returns the bytes of a vector register, and how many registers there are."""
    if isa == "aarch64":
        return 16, 32
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= flags:
        return 64, 32
    return (32, 16) if "avx2" in flags else (16, 16)


def cpu_flags() -> frozenset[str]:
    """Returns the host's CPU features by Linux's names, from LLVM where there is no /proc/cpuinfo."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", _read(_CPUINFO), re.MULTILINE)
    if found:
        return frozenset(found[1].split())
    import llvmlite.binding as llvm

    return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)


def _model_name() -> str:
    found = re.search(r"^model name\s*:(.*)$", _read(_CPUINFO), re.MULTILINE)
    return found[1].strip() if found else ""


def _caches(folder: Path) -> tuple[CacheLevel, ...]:
    """Returns the data and unified caches that sysfs lists under a folder, nearest first; () where it lists none."""
    found = []
    for entry in sorted(folder.glob("index*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", _read(entry / "size"))
        if _read(entry / "type") not in ("Data", "Unified") or not size:
            continue
        unit = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[size[2]]
        found.append(
            CacheLevel(
                level=_number(entry / "level", 1),
                size_bytes=int(size[1]) * unit,
                ways=_number(entry / "ways_of_associativity", 8),
                line_bytes=_number(entry / "coherency_line_size", 64),
                shared_by=_count(_read(entry / "shared_cpu_list")),
            )
        )
    return tuple(sorted(found, key=lambda c: c.level))


def _quota_cores(folder: Path) -> float | None:
    """Returns how many CPUs the control group (version 1 or 2) of a folder may use on average; None without a limit."""
    limit, _, period = _read(folder / "cpu.max").partition(" ")
    if not limit:
        limit, period = _read(folder / "cpu/cpu.cfs_quota_us"), _read(folder / "cpu/cpu.cfs_period_us")
    if not limit.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(limit) / int(period)


def _count(cpu_list: str) -> int:
    """Returns how many CPUs a list such as "0-3,8" names.

    >>> _count("0-3,8")
    5
    """
    total = 0
    for part in filter(None, cpu_list.split(",")):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total or 1


def _number(path: Path, default: int) -> int:
    text = _read(path)
    return int(text) if text.isdigit() else default


def _read(path: Path) -> str:
    """Returns the stripped text of a file of the operating system; "" where it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@cache
def _host_target() -> LlvmTarget:
    import llvmlite.binding as llvm

    return LlvmTarget(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
