"""`polyml machine`: a description as tables, each figure with its origin."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from polyml.cli.inputs import output
from polyml.cli.inputs.progress import working
from polyml.errors import ConfigError
from polyml.machines import catalogue
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import ORIGINS, Bandwidth, Cpu, Described, Figure, Gpu, Peak, Rate, Runs, Systolic
from polyml.machines.units import shown
from polyml.measure import lookup

_USAGE = 2  # the exit status
_HINT = "peaks and bandwidths are not known yet: `polyml machine --measure` measures them, in about a second"

_POLICY = "\ncaches as the operating system describes them; it does not tell how they replace lines: LRU is assumed"


def names() -> int:
    """Prints the names of the machines that are known, and what is known of each. Returns the exit status."""
    for name in ("host", *catalogue.names()):
        found = lookup.find(name)
        known = found.name if name == "host" or found.has_rates else "vectors and typical caches alone"
        click.echo(f"{name:16} {known}")
    return 0


def describe(name: str, measure: bool, as_json: bool) -> int:
    """Prints the description of a machine, each figure with its origin. Returns the exit status.

    name: "host", a name that `names` prints, or a TOML file.
    measure: whether the host's peaks and bandwidths are measured first.
    """
    try:
        found = _measured(name) if measure else lookup.find(name)
    except ConfigError as problem:
        click.echo(output.line(problem), err=True)
        return _USAGE
    if as_json:
        output.as_json(found.data())
    else:
        _print(found, name)
    return 0


def _measured(name: str) -> Cpu:
    if name != "host":
        raise ConfigError(f"{name} cannot be measured from here", notes=["--measure is for the host"])
    from polyml.measure import host

    with working("measuring the host, which takes 1 to 3 seconds", is_timing=True):
        return host.measured(again=True)


def _print(found: Described, name: str) -> None:
    output.pairs([(key, text, True) for key, text in _facts(found)])
    sources = [("frequency", found.frequency_hz)]
    for heading, peaks in (("operations", found.peaks), ("tensor", getattr(found, "tensor_peaks", ()))):
        if peaks:
            click.echo()
            _peaks(heading, peaks, found)
            sources += [(peak.number, peak.flop_per_s) for peak in peaks]
    click.echo()
    _levels(found)
    if isinstance(found, Cpu) and found.runs:
        click.echo()
        _spreads(found.runs)
    for place in found.bandwidths:
        sources += [(f"{place.place} {what}", rate) for what, rate in _directions(place)]
    if not found.has_rates and name == "host":
        output.prose(f"\n{_HINT}")
    _sources(sources)
    if name == "host":
        output.prose(_POLICY)


def _facts(found: Described) -> Iterator[tuple[str, str]]:
    yield "machine", found.name
    if isinstance(found, Cpu):
        yield from _of_cpu(found)
    elif isinstance(found, Gpu):
        yield from _of_gpu(found)
    elif isinstance(found, Systolic):
        yield from _of_array(found)
    if found.frequency_hz.one:
        yield "frequency", _both(found.frequency_hz, "frequency", found) + f", {_origin(found.frequency_hz)}"


def _of_cpu(found: Cpu) -> Iterator[tuple[str, str]]:
    made = found.machine
    fused = "fused multiply-add" if made.fma else "no fused multiply-add"
    yield "cpu", f"{made.isa}, {made.cpu_name} to LLVM"
    yield "cores", str(made.cores)
    yield "vectors", f"{made.vector_bytes * 8} bits, {made.vector_registers} registers, {fused}"


def _of_gpu(found: Gpu) -> Iterator[tuple[str, str]]:
    blocks = f"{found.blocks_per_multiprocessor} blocks of at most {found.threads_per_block} threads"
    registers = f"{found.registers_per_multiprocessor}, at most {found.registers_per_thread} of a thread"
    yield "compute capability", found.compute_capability
    warps = f"{found.warps_per_multiprocessor} warps of {found.threads_per_warp} threads"
    yield "multiprocessors", f"{found.multiprocessors}, each {warps} in {blocks}"
    yield "registers", f"{registers}; a warp gets multiples of {found.register_unit}, a block those of {found.warp_unit} warps"
    shared = f"{_size(found.shared_bytes_per_multiprocessor)}, at most {_size(found.shared_bytes_per_block)} of a block"
    units = f"multiples of {_size(found.shared_unit_bytes)}, {_size(found.shared_reserved_bytes)} of each block taken"
    yield "shared memory", f"{shared}, {units}; {found.shared_banks} banks of {_size(found.bank_bytes)}"
    yield "lines", f"{_size(found.line_bytes)}, sectors of {_size(found.sector_bytes)}"
    known = (("L2", found.l2_latency_s), ("memory", found.memory_latency_s))
    if latencies := [f"{shown(figure.value, 'time')} from {place} ({figure.origin})" for place, figure in known if figure]:
        yield "latency", ", ".join(latencies)


def _of_array(found: Systolic) -> Iterator[tuple[str, str]]:
    words = found.accumulator_bytes // found.accumulator_word_bytes // found.columns
    load = f", {found.tile_load_cycles:.0f} cycles to load one" if found.tile_load_cycles else ""
    yield "array", f"{found.rows} x {found.columns} multiply-adds of {found.number} in a cycle"
    yield "tiles", f"{_size(found.tile_bytes)}, {found.weight_tiles} wait{load}"
    word = _size(found.accumulator_word_bytes)
    yield "accumulators", f"{_size(found.accumulator_bytes)}: {words} rows of {found.columns} x {word}"
    if found.paces:
        yield "cycles", ", ".join(f"{number} of {pair}" for pair, number in found.paces)
    if known := found.energies.known():
        sources = "; ".join(dict.fromkeys(f"{figure.origin}: {figure.source}" for _, figure in known))
        figures = (f"{name.replace('_', '-')} {shown(figure.value, found.energies.kind(name))}" for name, figure in known)
        yield "energy", f"{', '.join(figures)} ({sources})"


def _peaks(heading: str, peaks: Sequence[Peak], found: Described) -> None:
    kinds = {p.number: "integers" if p.number.startswith("i") else "operations" for p in peaks}
    rows = [(p.number, *_figures(p.flop_per_s, kinds[p.number]), _origin(p.flop_per_s)) for p in peaks]
    _table((heading, *_parts(found), "origin"), rows, right=(1, 2))


def _levels(found: Described) -> None:
    """Prints a table with a row for each level of the memory hierarchy: its size, a cache's geometry, and its bandwidths."""
    caches = {f"L{c.level}": c for c in found.machine.caches} if isinstance(found, Cpu) else {}
    sizes = _sizes(found)
    rates = {b.place: b for b in found.bandwidths}
    one, together = _parts(found)
    rows = []
    for place in dict.fromkeys((*caches, *sizes, *rates)):
        bandwidth = rates.get(place, Bandwidth(place))
        read, update = bandwidth.read_bytes_per_s, bandwidth.update_bytes_per_s
        figures = (*_figures(read, "bandwidth"), *_figures(update, "bandwidth"))
        rows.append((place, sizes.get(place, ""), *_geometry(caches.get(place)), *figures, _origin(read, update)))
    headings = (
        "level", "size", "ways", "line", "shared by", "policy", f"read, {one}", f"read, {together}", f"update, {one}",
        f"update, {together}", "origin"
    )  # fmt: skip
    _table(headings, rows, right=(1, 2, 3, 4, 6, 7, 8, 9))


def _spreads(runs: Sequence[Runs]) -> None:
    """Prints a table of how far apart the runs of each measured rate are; the spread is in parts of the median."""
    rows = [
        (each.what, str(each.threads), str(each.count), *(shown(rate, each.kind) for rate in (each.least, each.median, each.greatest)),
         f"{(each.greatest - each.least) / each.median:.0%}")
        for each in runs
    ]  # fmt: skip
    output.table(("measured", "threads", "runs", "least", "median", "greatest", "spread"), rows, right=range(1, 7))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> None:
    """Prints a table without the columns that are empty in every row.

    right: the numbers of the columns that are flush right.
    """
    kept = [n for n in range(len(headings)) if any(row[n] for row in rows)]
    flush = [kept.index(n) for n in right if n in kept]
    output.table([headings[n] for n in kept], [[row[n] for n in kept] for row in rows], right=flush)


def _geometry(cache: CacheLevel | None) -> tuple[str, ...]:
    if cache is None:
        return "", "", "", ""
    words = [cache.replacement, *(w for w in (cache.writes, cache.contents) if w not in ("back", "independent"))]
    return str(cache.ways), _size(cache.line_bytes), str(cache.shared_by), ", ".join(words)


def _sizes(found: Described) -> dict[str, str]:
    if isinstance(found, Cpu):
        return {f"L{c.level}": _size(c.size_bytes) for c in found.machine.caches}
    if isinstance(found, Gpu):
        near = {"shared": found.shared_bytes_per_multiprocessor, "L1": found.l1_bytes}
        return {place: _size(size) for place, size in {**near, "L2": found.l2_bytes, "memory": found.memory_bytes}.items()}
    return {"buffer": _size(found.buffer_bytes)} if isinstance(found, Systolic) else {}


def _parts(found: Described) -> tuple[str, str]:
    one = {Cpu: "one core", Gpu: "one multiprocessor"}.get(type(found), "one")
    return one, "all" if found.parts == 1 else f"all {found.parts}"


def _both(rate: Rate, kind: str, found: Described) -> str:
    one, together = _figures(rate, kind)
    return one if one == together or found.parts == 1 else f"{one} of one, {together} of all at once"


def _figures(rate: Rate, kind: str) -> tuple[str, str]:
    return _figure(rate.one, kind), _figure(rate.all, kind)


def _figure(figure: Figure | None, kind: str) -> str:
    return "" if figure is None else shown(figure.value, kind)


def _origin(*rates: Rate) -> str:
    """Returns the origins of the rates' figures, such as "measured", with commas between them; "" where there are no figures."""
    found = {f.origin for rate in rates for f in (rate.one, rate.all) if f}
    return ", ".join(sorted(found, key=ORIGINS.index))


def _directions(place: Bandwidth) -> tuple[tuple[str, Rate], ...]:
    return ("read", place.read_bytes_per_s), ("update", place.update_bytes_per_s)


def _sources(rates: Sequence[tuple[str, Rate]]) -> None:
    """Prints the sources of figures, a line for each source with the names of the figures that come from it.

    rates: (name, rate) pairs.
    """
    lines: dict[str, list[str]] = {}
    for name, rate in rates:
        for figure in (rate.one, rate.all):
            if isinstance(figure, Figure) and figure.source and name not in lines.setdefault(figure.source, []):
                lines[figure.source].append(name)
    if lines:
        click.echo("\nsources")
    for source, named in lines.items():
        output.prose(textwrap.indent(f"{', '.join(named)}: {source}", "  "))


def _size(size: int) -> str:
    return shown(size, "size")
