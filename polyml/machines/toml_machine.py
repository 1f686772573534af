"""Descriptions of machines as TOML files, the format of the presets.

kind = "cpu"                            or "gpu", "systolic"; the presets show all keys
name = "AMD EPYC 9654"
isa = "x86-64"
llvm_cpu = "znver4"
vector = "64 B"
cores = 96                              with one thread on each
origin = "manual"                       of all figures that do not say it: measured, manual or estimate (if left out)
source = "AMD, publication 57647"
frequency = { one = "3.7 GHz", all = "3.55 GHz" }

[peak]                                  a text: of one core; FLOP/cycle needs the frequency
f64 = "16 FLOP/cycle"
f32 = { one = "118 GFLOP/s", all = "10 TFLOP/s", origin = "measured", source = "..." }

[[cache]]                               nearest first
size = "32 KiB"
ways = 8                                or "full"
line = "64 B"
shared_by = 1                           cores
read = "64 B/cycle"
update = "..."                          bytes read and written back, together

[memory]
read = { all = "460.8 GB/s" }
"""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from typing import Any

from polyml.errors import ConfigError
from polyml.machines import cache_spec, toml_tables
from polyml.machines.cpu import CacheLevel, CpuMachine, LlvmTarget
from polyml.machines.descriptions import Bandwidth, Cpu, Described, Figure, Gpu, Peak, Rate, Systolic
from polyml.machines.toml_rates import NUMBERS, Figures
from polyml.machines.toml_tables import TomlTable

_GENERAL = ("kind", "name", "origin", "source", "frequency", "peak", "memory")
_CPU = ("isa", "llvm_cpu", "features", "vector", "vector_registers", "fma", "cores", "cache")
_CACHE = ("level", "size", "ways", "line", "shared_by", "replacement", "writes", "contents", "read", "update")
_SYSTOLIC = ("array", "buffer", "accumulators", "host", "energy")
_TRIPLES = {"x86-64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
_VECTORS = {"x86-64": (16, 32, 64), "aarch64": (16,)}
_REGISTERS = {16: 16, 32: 16, 64: 32}  # vector registers of x86-64, by their bytes


def read(file: str | PathLike) -> Described:
    """Returns the machine that a TOML file describes. Raises ConfigError, with the line, for whatever is not as it should be."""
    table = toml_tables.read(file)
    kind = table.choice("kind", tuple(_READERS))
    return _READERS[kind](table)


def _cpu(table: TomlTable) -> Cpu:
    """Returns the processor that a file's table describes. Raises ConfigError for a table that is not as it should be."""
    table.check_keys((*_GENERAL, *_CPU))
    isa, vector_bytes = table.choice("isa", tuple(_TRIPLES)), table.size("vector")
    if vector_bytes not in _VECTORS[isa]:
        accepted = " or ".join(f'"{size} B"' for size in _VECTORS[isa])
        raise table.error("vector", f"vectors of {vector_bytes} bytes are none of {isa}'s", f"accepted: {accepted}")
    cores = table.count("cores")
    figures = Figures(table, cores)
    levels, cache_rates = _caches(table, figures)
    registers = table.count("vector_registers", 32 if isa == "aarch64" else _REGISTERS[vector_bytes])
    target = LlvmTarget(_TRIPLES[isa], table.text("llvm_cpu"), table.text("features", ""))
    name = table.text("name")
    machine = CpuMachine(name, isa, vector_bytes, registers, table.flag("fma", True), cores, levels, target)
    known = tuple(each for each in (*cache_rates, *figures.memory()) if each.is_known)
    return Cpu(name=name, frequency_hz=figures.frequency, peaks=figures.peaks("peak"), bandwidths=known, machine=machine)


def _caches(table: TomlTable, figures: Figures) -> tuple[tuple[CacheLevel, ...], tuple[Bandwidth, ...]]:
    """Returns the caches of a processor, nearest first, and the bandwidth of each, from the processor's table."""
    items = table.tables("cache")
    if not items:
        raise table.error("cache", "there is no cache", "expected [[cache]] for each, nearest first")
    levels: list[CacheLevel] = []
    rates = []
    for number, item in enumerate(items, 1):
        level = _cache(item, number)
        if levels and level.level <= levels[-1].level:
            raise item.error("level", f"cache {level.level} comes behind cache {levels[-1].level}", "nearest first")
        try:
            levels = [*cache_spec.described([*levels, level])]
        except ConfigError as problem:
            raise item.error(None, problem.message, *problem.notes) from None
        rates.append(figures.bandwidth(item, f"L{level.level}", spread=True, private=level.shared_by == 1))
    return tuple(levels), tuple(rates)


def _cache(table: TomlTable, number: int) -> CacheLevel:
    table.check_keys(_CACHE)
    return CacheLevel(
        level=table.count("level", number),
        size_bytes=table.size("size"),
        ways=0 if table.data.get("ways") == cache_spec.FULL else table.count("ways"),
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


def _gpu(table: TomlTable) -> Gpu:
    """Returns the GPU that a file's table describes. Raises ConfigError for a table that is not as it should be."""
    sizes = [f.name for f in fields(Gpu) if "bytes" in f.name]
    keys = {name.replace("_bytes", ""): name for name in sizes if name != "memory_bytes"}
    table.check_keys((*_GENERAL, "compute_capability", *_GPU_COUNTS, *keys, "tensor", "shared", "l2_cache"))
    figures = Figures(table, table.count("multiprocessors"))
    places = [figures.bandwidth(table.table(key), place, spread=key == "shared", private=True, known=("read", "update", *others))
              for key, place, *others in (("shared", "shared"), ("l2_cache", "L2", "latency")) if table.has(key)]  # fmt: skip
    memory = table.table("memory")
    counts: dict[str, Any] = {key: table.count(key) for key in _GPU_COUNTS}  # Any: values of Gpu's fields, by their names
    counts |= {name: table.size(key) for key, name in keys.items()}
    made = Gpu(
        name=table.text("name"), frequency_hz=figures.frequency, peaks=figures.peaks("peak"),
        tensor_peaks=figures.peaks("tensor"), bandwidths=(*places, *figures.memory("size", "latency")),
        compute_capability=table.text("compute_capability"), memory_bytes=memory.size("size"),
        l2_latency_s=figures.latency(table.table("l2_cache")) if table.has("l2_cache") else None,
        memory_latency_s=figures.latency(memory), **counts,
    )  # fmt: skip
    if made.shared_bytes_per_block > made.shared_bytes_per_multiprocessor:
        raise table.error("shared_per_block", "a block gets more shared memory than a multiprocessor has")
    if made.threads_per_block > made.threads_per_multiprocessor:
        most = made.threads_per_multiprocessor
        raise table.error("threads_per_block", f"a block has more threads than a multiprocessor: {most}")
    if made.line_bytes % made.sector_bytes:
        raise table.error("sector", f"lines of {made.line_bytes} bytes are no multiple of sectors")
    return made


def _systolic(table: TomlTable) -> Systolic:
    """Returns the systolic array that a file's table describes. Raises ConfigError for a table that is not as it should be."""
    table.check_keys((*(key for key in _GENERAL if key != "peak"), *_SYSTOLIC))  # the peak is the units' and the frequency's
    if not table.has("frequency"):
        raise table.error(None, "`frequency` is missing", 'expected a text such as "700 MHz"')
    array, buffer, accumulators = (table.table(key) for key in ("array", "buffer", "accumulators"))
    array.check_keys(("rows", "columns", "number", "operand", "weight_tiles", "cycles"))
    accumulators.check_keys(("size", "word"))
    figures = Figures(table, 1)
    places = [figures.bandwidth(buffer, "buffer", known=("size", "read", "update")), *figures.memory()]
    if table.has("host"):
        places.append(figures.bandwidth(table.table("host"), "host", known=("read", "update")))
    rows, columns, number = array.count("rows"), array.count("columns"), array.choice("number", NUMBERS)
    bits = int(number.lstrip("tbfi"))
    if 8 * array.size("operand") != bits:
        raise array.error("operand", f"an operand of {array.size('operand')} bytes is no {number}", f'expected "{bits // 8} B"')
    rate = figures.frequency.all
    if rate is None:
        raise table.error("frequency", "`frequency` says nothing of all units", 'expected a text such as "700 MHz"')
    each = Figure(2 * rows * columns * rate.value, rate.origin, f"a multiply-add per unit and cycle; {rate.source}")
    row_bytes, accumulator_bytes = columns * accumulators.size("word"), accumulators.size("size")
    if accumulator_bytes % row_bytes:
        raise accumulators.error("size", f"accumulators are no multiple of {columns} words, {row_bytes} bytes")
    return Systolic(
        name=table.text("name"), frequency_hz=figures.frequency, peaks=(Peak(number, Rate(all=each)),),
        bandwidths=tuple(places), rows=rows, columns=columns, number=number, operand_bytes=array.size("operand"),
        buffer_bytes=buffer.size("size"), accumulator_bytes=accumulator_bytes,
        accumulator_word_bytes=accumulators.size("word"), weight_tiles=array.count("weight_tiles", 1),
        paces=_paces(array), energies=figures.energies(),
    )  # fmt: skip


def _paces(array: TomlTable) -> tuple[tuple[str, int], ...]:
    """Returns the cycles of multiply-adds by the types of two operands, such as ("i8*i16", 2); () where the table has none."""
    if not array.has("cycles"):
        return ()
    table = array.table("cycles")
    pairs = [f"{a}*{b}" for a in NUMBERS for b in NUMBERS if (len(a), a) <= (len(b), b)]
    for key in table.data:
        if key not in pairs:
            expected = 'expected two types, the shorter one first, as in "i8*i16" = 2'
            raise table.error(key, f"`{key}` are no operands of a multiply-add", expected)
    return tuple((key, table.count(key)) for key in table.data)


_READERS = {"cpu": _cpu, "gpu": _gpu, "systolic": _systolic}
