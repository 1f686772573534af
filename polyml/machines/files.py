"""Descriptions of machines as TOML files, the format of the presets.

    kind = "cpu"                            or "gpu", "systolic"; the presets show all keys
    name = "AMD EPYC 9654"
    isa = "x86-64"
    llvm_cpu = "znver4"
    vector = "64 B"
    cores = 96                              with one thread on each
    origin = "manual"                       of all figures that do not say it: measured, manual or estimate
    source = "AMD, publication 57647"
    frequency = { one = "3.7 GHz", all = "3.55 GHz" }

    [peak]                                  a text: of one core; FLOP/cycle needs the frequency
    f64 = "16 FLOP/cycle"
    f32 = { one = "118 GFLOP/s", all = "10 TFLOP/s", origin = "measured", source = "..." }

    [[cache]]                               nearest first
    size = "32 KiB"
    ways = 8
    line = "64 B"
    shared_by = 1                           cores
    read = "64 B/cycle"
    update = "..."                          bytes read and written back, together

    [memory]
    read = { all = "460.8 GB/s" }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from polyml.caches import hierarchy
from polyml.errors import ConfigError
from polyml.hardware import ORIGINS, Bandwidth, Cpu, Described, Figure, Gpu, Peak, Rate, Systolic
from polyml.machine import CacheLevel, CpuMachine, Target
from polyml.machines import tables
from polyml.machines.tables import Table

_GENERAL = ("kind", "name", "origin", "source", "frequency", "peak", "memory")
_CPU = ("isa", "llvm_cpu", "features", "vector", "vector_registers", "fma", "cores", "cache")
_CACHE = ("level", "size", "ways", "line", "shared_by", "replacement", "writes", "contents", "read", "update")
_SYSTOLIC = ("array", "buffer", "accumulators", "host")
NUMBERS = ("f64", "f32", "f16", "bf16", "tf32", "f8", "i64", "i32", "i16", "i8")
_TRIPLES = {"x86-64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
_VECTORS = {"x86-64": (16, 32, 64), "aarch64": (16,)}
_REGISTERS = {16: 16, 32: 16, 64: 32}  # of x86-64, by their bytes


def read(file: Path) -> Described:
    """The machine that a file describes. Raises ConfigError, with the line, for whatever is not as it should be."""
    table = tables.read(file)
    kind = table.choice("kind", tuple(_READERS))
    return _READERS[kind](table)


def _cpu(table: Table) -> Cpu:
    table.check_keys((*_GENERAL, *_CPU))
    isa, vector_bytes = table.choice("isa", tuple(_TRIPLES)), table.size("vector")
    if vector_bytes not in _VECTORS[isa]:
        accepted = " or ".join(f'"{size} B"' for size in _VECTORS[isa])
        raise table.error("vector", f"vectors of {vector_bytes} bytes are none of {isa}'s", f"accepted: {accepted}")
    cores = table.count("cores")
    figures = _Figures(table, cores)
    levels, cache_rates = _caches(table, figures)
    registers = table.count("vector_registers", 32 if isa == "aarch64" else _REGISTERS[vector_bytes])
    target = Target(_TRIPLES[isa], table.text("llvm_cpu"), table.text("features", ""))
    name = table.text("name")
    machine = CpuMachine(name, isa, vector_bytes, registers, table.flag("fma", True), cores, levels, target)
    return Cpu(
        name=name, frequency_hz=figures.frequency, peaks=figures.peaks("peak"),
        bandwidths=(*cache_rates, *figures.memory()), machine=machine,
    )  # fmt: skip


def _caches(table: Table, figures: _Figures) -> tuple[tuple[CacheLevel, ...], tuple[Bandwidth, ...]]:
    items = table.tables("cache")
    if not items:
        raise table.error("cache", "there is no cache", "expected [[cache]] for each, nearest first")
    levels, rates = [], []
    for number, item in enumerate(items, 1):
        level = _cache(item, number)
        if levels and level.level <= levels[-1].level:
            raise item.error("level", f"cache {level.level} comes behind cache {levels[-1].level}", "nearest first")
        try:
            hierarchy.checked([*levels, level])
        except ConfigError as problem:
            raise item.error(None, problem.message, *problem.notes) from None
        levels.append(level)
        rates.append(figures.bandwidth(item, f"L{level.level}", spread=True, private=level.shared_by == 1))
    return tuple(levels), tuple(rates)


def _cache(table: Table, number: int) -> CacheLevel:
    table.check_keys(_CACHE)
    return CacheLevel(
        level=table.count("level", number),
        size_bytes=table.size("size"),
        ways=table.count("ways"),
        line_bytes=table.size("line", 64),
        shared_by=table.count("shared_by", 1),
        replacement=table.choice("replacement", ("lru", "plru"), "lru"),
        writes=table.choice("writes", ("back", "through"), "back"),
        contents=table.choice("contents", ("independent", "inclusive", "exclusive"), "independent"),
    )


_GPU_COUNTS = (
    "multiprocessors", "threads_per_warp", "threads_per_block", "warps_per_multiprocessor", "blocks_per_multiprocessor",
    "warp_unit", "registers_per_multiprocessor", "registers_per_thread", "register_unit", "shared_banks",
)  # fmt: skip


def _gpu(table: Table) -> Gpu:
    sizes = [f.name for f in fields(Gpu) if "bytes" in f.name]
    keys = {name.replace("_bytes", ""): name for name in sizes if name != "memory_bytes"}
    table.check_keys((*_GENERAL, "compute_capability", *_GPU_COUNTS, *keys, "tensor", "shared", "l2_cache"))
    figures = _Figures(table, table.count("multiprocessors"))
    places = [figures.bandwidth(table.table(key), place, spread=key == "shared", private=True, known=("read", "update"))
              for key, place in (("shared", "shared"), ("l2_cache", "L2")) if table.has(key)]  # fmt: skip
    memory = table.table("memory")
    return Gpu(
        name=table.text("name"), frequency_hz=figures.frequency, peaks=figures.peaks("peak"),
        tensor_peaks=figures.peaks("tensor"), bandwidths=(*places, *figures.memory("size")),
        compute_capability=table.text("compute_capability"), memory_bytes=memory.size("size"),
        **{key: table.count(key) for key in _GPU_COUNTS},
        **{name: table.size(key) for key, name in keys.items()},
    )  # fmt: skip


def _systolic(table: Table) -> Systolic:
    table.check_keys((*(key for key in _GENERAL if key != "peak"), *_SYSTOLIC))  # the peak is the units' and the frequency's
    if not table.has("frequency"):
        raise table.error(None, "`frequency` is missing", 'expected a text such as "700 MHz"')
    array, buffer, accumulators = (table.table(key) for key in ("array", "buffer", "accumulators"))
    array.check_keys(("rows", "columns", "number", "operand", "weight_tiles"))
    accumulators.check_keys(("size", "word"))
    figures = _Figures(table, 1)
    places = [figures.bandwidth(buffer, "buffer", known=("size", "read", "update")), *figures.memory()]
    if table.has("host"):
        places.append(figures.bandwidth(table.table("host"), "host", known=("read", "update")))
    rows, columns, number = array.count("rows"), array.count("columns"), array.choice("number", NUMBERS)
    rate = figures.frequency.all
    each = Figure(2 * rows * columns * rate.value, rate.origin, f"a multiply-add per unit and cycle; {rate.source}")
    return Systolic(
        name=table.text("name"), frequency_hz=figures.frequency, peaks=(Peak(number, Rate(all=each)),),
        bandwidths=tuple(places), rows=rows, columns=columns, number=number, operand_bytes=array.size("operand"),
        buffer_bytes=buffer.size("size"), accumulator_bytes=accumulators.size("size"),
        accumulator_word_bytes=accumulators.size("word"), weight_tiles=array.count("weight_tiles", 1),
    )  # fmt: skip


_READERS = {"cpu": _cpu, "gpu": _gpu, "systolic": _systolic}


class _Figures:
    """Rates of a file's keys. parts: cores or the like, of which a text tells one's rate."""

    def __init__(self, table: Table, parts: int):
        self._table, self._parts = table, parts
        self._origin = table.choice("origin", ORIGINS, "manual")
        self._source = table.text("source", "")
        self.frequency = Rate()
        if table.has("frequency"):
            found = self._rate(table, "frequency", "frequency")
            self.frequency = Rate(found.one or found.all, found.all or found.one)

    def peaks(self, key: str) -> tuple[Peak, ...]:
        """Of a table with a rate for each type of number."""
        if not self._table.has(key):
            return ()
        table = self._table.table(key)
        table.check_keys(NUMBERS)
        return tuple(Peak(n, self._spread(self._rate(table, n, "operations"), True)) for n in NUMBERS if table.has(n))

    def memory(self, *others: str) -> tuple[Bandwidth, ...]:
        """others: keys that stand there for something else."""
        if not self._table.has("memory"):
            return ()
        return (self.bandwidth(self._table.table("memory"), "memory", known=("read", "update", *others)),)

    def bandwidth(
        self, table: Table, place: str, *, spread: bool = False, private: bool = False, known: Sequence[str] = ()
    ) -> Bandwidth:
        """spread: all parts reach so many times one's, unless told; private: without getting in each other's way."""
        if known:
            table.check_keys(known)
        rates = [self._rate(table, key, "bandwidth") if table.has(key) else Rate() for key in ("read", "update")]
        return Bandwidth(place, *(self._spread(rate, private) if spread else rate for rate in rates))

    def _spread(self, rate: Rate, private: bool) -> Rate:
        if rate.all or not rate.one:
            return rate
        clock = self.frequency
        slower = clock.all.value / clock.one.value if clock.one else 1.0
        return Rate(rate.one, rate.one.times(self._parts * slower, None if private else "estimate"))

    def _rate(self, table: Table, key: str, kind: str) -> Rate:
        """A text is one part's; a table may tell both, and where they come from."""
        if not isinstance(table.data[key], dict):
            return Rate(one=self._figure(table, key, kind, self.frequency.one, self._origin, self._source))
        inside = table.table(key)
        inside.check_keys(("one", "all", "origin", "source"))
        if not inside.has("one") and not inside.has("all"):
            raise inside.error(None, f"`{key}` has neither `one` nor `all`", "what one core reaches, and all together")
        origin, source = inside.choice("origin", ORIGINS, self._origin), inside.text("source", self._source)
        clocks = {"one": self.frequency.one, "all": self.frequency.all}
        found = Rate(**{which: self._figure(inside, which, kind, clock, origin, source)
                        for which, clock in clocks.items() if inside.has(which)})  # fmt: skip
        if found.one and found.all and kind != "frequency" and found.all.value < found.one.value:
            raise inside.error("all", f"`{key}` of all together is less than of one", "expected at least as much")
        return found

    def _figure(self, table: Table, key: str, kind: str, clock: Figure | None, origin: str, source: str) -> Figure:
        found = table.quantity(key, kind)
        if not found.per_cycle:
            return Figure(found.value, origin, source)
        if clock is None:
            raise table.error(key, f"`{key}` is per cycle, and there is no frequency", 'expected frequency = "3.2 GHz" above')
        weakest = max(origin, clock.origin, key=ORIGINS.index)
        text = f"{table.data[key]} at {clock.value / 1e9:.4g} GHz"
        return Figure(found.value * clock.value, weakest, f"{text}; {source}" if source else text)
