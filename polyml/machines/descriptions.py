"""What machines reach: their rates and where these come from, and GPUs and systolic arrays as data. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from polyml.drawing.tables import html_table
from polyml.errors import ConfigError
from polyml.machines.cpu import CpuMachine
from polyml.machines.machine_table import facts
from polyml.machines.units import shown

VERSION = 1  # the form of `data`
ORIGINS = ("measured", "manual", "estimate")
# links of a systolic array's units: to four neighbours, to eight, or to four and along rows and columns; in a row to two
LINKS = ("manhattan", "diagonal", "broadcast")
LONGEST = 2**31  # side of a systolic array
DATAFLOWS = ("os", "ws", "is")  # results, weights or inputs stay in the units of a systolic array


@dataclass(frozen=True)
class Figure:
    """A Figure is a number with its origin.

    value: in the unit that the name of the field it is in ends with.
    origin: "measured" on the machine, "manual", as its maker or a paper says, or "estimate".
    source: which manual, how it was measured, or what it is estimated from.
    """

    value: float
    origin: str
    source: str = ""

    def times(self, factor: float, origin: str | None = None) -> Figure:
        """Returns the figure times a factor, from the same source. origin: another origin of the result.

        >>> Figure(2.0, "manual").times(3).value
        6.0
        """
        return Figure(self.value * factor, origin or self.origin, self.source)


@dataclass(frozen=True)
class Rate:
    """A Rate is how much a part of a machine, a core or a multiprocessor, does per second, and how much all do together.

    one: what one part reaches while the others rest; None: not known.
    all: what all parts reach together; None: not known.
    """

    one: Figure | None = None
    all: Figure | None = None

    def of(self, used: int, parts: int) -> Figure | None:
        """Returns the rate of `used` of `parts` parts; None where it is not known.

        For more than one part, but not all, it is an estimate: so many times the rate of one, but no more than that of all.

        >>> Rate(Figure(20e9, "measured"), Figure(30e9, "measured")).of(2, 8)
        Figure(value=30000000000.0, origin='estimate', source='no more than 2 times one part, nor than all')
        """
        if self.one is None:
            return self.all and Figure(self.all.value, self.all.origin if used >= parts else "estimate", self.all.source)
        if used <= 1:
            return self.one
        if self.all is None:
            return Figure(self.one.value * used, "estimate", f"{used} times one part")
        if used >= parts:
            return self.all
        value = min(self.one.value * used, self.all.value)
        return Figure(value, "estimate", f"no more than {used} times one part, nor than all")

    @property
    def both(self) -> tuple[Figure, Figure]:
        """Returns the rates of one part and of all parts, both of which are known after a measurement.

        Raises ValueError where one of them is not known.
        """
        if self.one is None or self.all is None:
            raise ValueError("the rate is not known of one part and of all")
        return self.one, self.all


@dataclass(frozen=True)
class Peak:
    """A Peak is the most operations per second on numbers of a type. A multiply-add counts as two.

    number: the type, such as "f64".
    """

    number: str
    flop_per_s: Rate


@dataclass(frozen=True)
class Bandwidth:
    """A Bandwidth is the bytes per second between a level of memory and what is nearer to the registers.

    place: the level, "L1", "L2", ..., "shared" or "memory".
    read_bytes_per_s: of lines that are only read.
    update_bytes_per_s: of lines that are read, changed and written back; each of their bytes counts twice.
    """

    place: str
    read_bytes_per_s: Rate = Rate()
    update_bytes_per_s: Rate = Rate()

    @property
    def is_known(self) -> bool:
        """Returns whether one of the two rates is known."""
        return self != Bandwidth(self.place)


@dataclass(frozen=True, kw_only=True)
class Described:
    """A Described is a machine of any kind with what a roofline needs to know of it.

    frequency_hz: cycles per second.
    peaks: operations per second, by type of number.
    bandwidths: those of its levels, nearest first, the memory's last.
    """

    name: str
    frequency_hz: Rate = Rate()
    peaks: tuple[Peak, ...] = ()
    bandwidths: tuple[Bandwidth, ...] = ()

    @property
    def parts(self) -> int:
        """Returns how many parts `Rate.all` is of: a processor's cores or a GPU's multiprocessors; 1 for other machines."""
        return 1

    @property
    def has_rates(self) -> bool:
        """Returns whether it has both some peaks and some bandwidths."""
        return bool(self.peaks and self.bandwidths)

    def peak(self, number: str, used: int = 0) -> Figure | None:
        """Returns the operations per second of `used` parts, 0: all, on a type such as "f64"; None where they are not known."""
        found = next((p for p in self.peaks if p.number == number), None)
        return None if found is None else found.flop_per_s.of(used or self.parts, self.parts)

    def read(self, place: str, used: int = 0) -> Figure | None:
        """Returns the bytes per second that `used` parts, 0: all, read from a level such as "L2" or "memory"; None: not known."""
        found = self.bandwidth(place)
        return None if found is None else found.read_bytes_per_s.of(used or self.parts, self.parts)

    def update(self, place: str, used: int = 0) -> Figure | None:
        """Returns the bytes per second of lines that `used` parts, 0: all, read from a level and write back; None: not known.

        Each byte of such a line counts twice.
        """
        found = self.bandwidth(place)
        return None if found is None else found.update_bytes_per_s.of(used or self.parts, self.parts)

    def bandwidth(self, place: str) -> Bandwidth | None:
        """Returns the bandwidth of a level such as "L2" or "memory"; None where the machine has no such level."""
        return next((b for b in self.bandwidths if b.place == place), None)

    def data(self) -> dict[str, object]:
        """Returns the whole description as plain data, for JSON."""
        return {"version": VERSION, "kind": type(self).__name__.lower(), **asdict(self)}

    def rates(self) -> Iterator[tuple[str, Rate, str]]:
        """Yields each rate that is known with its name, such as "f64" or "L1 read", and the kind of its unit, a key of `units.UNITS`."""
        found = [("frequency", self.frequency_hz, "frequency")]
        found += [(peak.number, peak.flop_per_s, "operations") for peak in self.peaks]
        for place in self.bandwidths:
            found += [(f"{place.place} read", place.read_bytes_per_s, "bandwidth")]
            found += [(f"{place.place} update", place.update_bytes_per_s, "bandwidth")]
        yield from (each for each in found if each[1] != Rate())

    def _repr_html_(self) -> str:
        """Returns what it has and its rates as tables, which notebooks show."""
        rows = []
        for what, rate, kind in self.rates():
            one, together = ("" if each is None else shown(each.value, kind) for each in (rate.one, rate.all))
            known = rate.one or rate.all
            rows.append((what, one, together, "" if known is None else ": ".join(filter(None, (known.origin, known.source)))))
        heads = ("rate", "one part", f"all {self.parts:,}", "source")
        return html_table(self.name, ("what", "value"), facts(self)) + html_table("", heads, rows)


@dataclass(frozen=True)
class Runs:
    """A Runs says how far apart the runs are with which a rate was measured. The rate itself is that of the best run.

    what: the rate, such as "f64", "L1 read" or "frequency".
    threads: how many threads ran; their rates are added, but those of the frequency are of one.
    kind: a key of `units.UNITS`: "operations", "bandwidth" or "frequency".
    count: how many runs there were.
    least, median, greatest: of the runs' rates, per second.
    """

    what: str
    threads: int
    kind: str
    count: int
    least: float
    median: float
    greatest: float


@dataclass(frozen=True, kw_only=True)
class Cpu(Described):
    """A Cpu describes a processor: what code generation knows of it, and its rates.

    It has bandwidths of the places "L1", "L2", ..., one for each cache level, and "memory".

    runs: those of the last measurement; () where the rates were not measured here.
    """

    machine: CpuMachine
    runs: tuple[Runs, ...] = ()

    @property
    def parts(self) -> int:
        return self.machine.cores


@dataclass(frozen=True, kw_only=True)
class Gpu(Described):
    """A Gpu describes a GPU: what decides how many blocks a multiprocessor holds, how requests become sectors, and the rates.

    It has bandwidths of the places "shared" (shared memory), "L2" and "memory". Sizes are in bytes.

    tensor_peaks: peaks of the units that multiply matrices, without sparsity.
    register_unit: a warp gets registers in multiples of so many.
    warp_unit: a block's warps count in multiples of so many, one for each scheduler.
    shared_unit_bytes: a block gets shared memory in multiples of so many bytes.
    shared_reserved_bytes: what the system takes of each block's shared memory.
    l2_latency_s, memory_latency_s: seconds until what a warp loads is there.
    """

    compute_capability: str
    multiprocessors: int
    threads_per_warp: int
    threads_per_block: int
    warps_per_multiprocessor: int
    blocks_per_multiprocessor: int
    warp_unit: int
    registers_per_multiprocessor: int
    registers_per_thread: int
    register_unit: int
    shared_bytes_per_multiprocessor: int
    shared_bytes_per_block: int
    shared_reserved_bytes: int
    shared_unit_bytes: int
    shared_banks: int
    bank_bytes: int
    l1_bytes: int
    l2_bytes: int
    line_bytes: int
    sector_bytes: int
    memory_bytes: int
    tensor_peaks: tuple[Peak, ...] = ()
    l2_latency_s: Figure | None = None
    memory_latency_s: Figure | None = None

    @property
    def parts(self) -> int:
        return self.multiprocessors

    @property
    def threads_per_multiprocessor(self) -> int:
        """Returns how many threads a multiprocessor holds at most."""
        return self.warps_per_multiprocessor * self.threads_per_warp

    def rates(self) -> Iterator[tuple[str, Rate, str]]:
        yield from super().rates()
        yield from ((f"{peak.number}, matrix units", peak.flop_per_s, "operations") for peak in self.tensor_peaks)

    def tensor_peak(self, number: str, used: int = 0) -> Figure | None:
        """Returns the operations per second of the units that multiply matrices, of `used` multiprocessors; None: not known.

        number: the type of the operands, such as "f16".
        used: 0 for all.
        """
        found = next((p for p in self.tensor_peaks if p.number == number), None)
        return None if found is None else found.flop_per_s.of(used or self.parts, self.parts)


OPERATIONS = ("multiply_add", "multiply", "add")  # operations that have an energy


def check_kind(machine: Described | None, needs: type[Described], noun: str) -> None:
    """Raises ConfigError where the machine is not None and is of another kind.

    needs: the class that it should be of.
    noun: what the error's message calls a machine of this class.
    """
    if machine is not None and not isinstance(machine, needs):
        notes = [f"expected a {noun} of `polyml machine --list`, or its file"]
        raise ConfigError(f"{machine.name} is no {noun}", notes=notes)


@dataclass(frozen=True)
class Energies:
    """An Energies holds how much energy operations and accesses take; None: not known.

    multiply_add, multiply, add: in J per operation.
    buffer, accumulators, memory: in J per byte that is read or written.
    """

    multiply_add: Figure | None = None
    multiply: Figure | None = None
    add: Figure | None = None
    buffer: Figure | None = None
    accumulators: Figure | None = None
    memory: Figure | None = None

    def known(self) -> list[tuple[str, Figure]]:
        """Returns the energies that are known, each with its name."""
        return [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) is not None]

    @staticmethod
    def kind(name: str) -> str:
        """Returns the key in `units.UNITS` for the unit of the energy with this name: "energy" or "energy of bytes"."""
        return "energy" if name in OPERATIONS else "energy of bytes"


@dataclass(frozen=True, kw_only=True)
class Systolic(Described):
    """A Systolic describes a systolic array of rows x columns units, between two memories on the chip.

    Each unit does one multiply-add per cycle. It has bandwidths of the places "buffer" (of what flows in), "memory" (of the
    operands that stay in the array) and "host".

    number: the type of the operands, of operand_bytes each.
    buffer_bytes: the size of the memory of what flows in.
    accumulator_bytes: the size of the memory of what comes out, in words of accumulator_word_bytes.
    weight_tiles: how many tiles of rows x columns operands wait next to the array.
    paces: pairs (types of two operands such as "i8*i16", cycles that a multiply-add of them takes); 1 cycle for other types.
    energies: what operations and accesses take.
    """

    rows: int
    columns: int
    number: str
    operand_bytes: int
    buffer_bytes: int
    accumulator_bytes: int
    accumulator_word_bytes: int
    weight_tiles: int
    paces: tuple[tuple[str, int], ...] = ()
    energies: Energies = Energies()

    def pace(self, numbers: Sequence[str]) -> int:
        """Returns the cycles of a multiply-add on operands of these two types; 1 for types that the machine says nothing of."""
        return dict(self.paces).get("*".join(sorted(numbers, key=lambda n: (len(n), n))), 1)

    @property
    def tile_bytes(self) -> int:
        """Returns the bytes of the operands that stay in the array at a time."""
        return self.rows * self.columns * self.operand_bytes

    @property
    def tile_load_cycles(self) -> float | None:
        """Returns the cycles in which the memory delivers the operands that stay in the array; None: not known.

        They are 1349 on TPU v1 (Jouppi et al., ISCA 2017).
        """
        memory, clock = self.read("memory"), self.frequency_hz.all
        return self.tile_bytes / memory.value * clock.value if memory and clock else None
