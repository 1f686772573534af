"""What commands are given, as values: the words of the command line, before anything is looked up or read as a number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallSpec:
    """A call spec describes a call of a kernel.

    kernel: the kernel's place, FILE.py:FUNC.
    define: sizes, each NAME=INTEGER.
    args: types and values of arguments, each NAME=TYPE[N,M] or NAME=VALUE.
    preset: the name of sizes in the kernel's file; None: the first one there.
    """

    kernel: str
    define: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    preset: str | None = None


@dataclass(frozen=True)
class BenchSpec:
    """A bench spec says how `polyml bench` runs the kernels of PolyBench.

    preset: their size, "MINI" to "EXTRALARGE".
    threads: how many threads run them; 0: one for each core.
    repeat: how many runs are timed, of which the median counts.
    dtype: NumPy's name of the element type, in place of the kernel's own; kernels on integers keep theirs.
    check_only: whether results are compared with the reference without timing.
    seed: the seed of the random arguments.
    """

    preset: str = "LARGE"
    threads: int = 0
    repeat: int = 5
    dtype: str | None = None
    check_only: bool = False
    seed: int = 0


@dataclass(frozen=True)
class RunSpec:
    """A run spec says how `polyml run` calls a kernel.

    threads: how many threads run it; 0: one for each core; None: as the settings say.
    repeat: how many calls follow the first one, of which the fastest counts.
    seed: the seed of the random arguments.
    load: the file of a schedule to run with; None: the compiler's own.
    """

    threads: int | None
    repeat: int
    seed: int
    load: str | None


@dataclass(frozen=True)
class ShowSpec:
    """A show spec says what `polyml show` prints.

    stage: the name of a stage, of `config.STAGES`; None where `after` is given.
    after: the name of a pass, of `config.PASSES`; None where `stage` is given.
    file: a file with the text of a kernel, SCoP or program in place of a kernel; None: there is a kernel.
    full: whether the text has all that `file` takes.
    """

    stage: str | None
    after: str | None
    file: str | None
    full: bool


@dataclass(frozen=True)
class ReportSpec:
    """A report spec says what `polyml report` looks at: the target, the machine, and what is special to processors and GPUs.

    target: "cpu", "cuda" or "systolic".
    machine: a name of `polyml machine --list`, or a file; None: the usual one of the target.
    block: sizes of a GPU's blocks.
    cache: levels of caches in place of the machine's, as `machines.cache_spec` reads them.
    tile: sizes of tiles of the source's loops.
    threads: how many threads run polyml's schedule; "0": as many as the machine has.
    no_simulation: whether misses are left out.
    addresses: where arrays begin, each ARRAY=BYTES.
    coherent: whether lines that one thread writes leave the caches of others.
    """

    target: str
    machine: str | None
    block: str | None
    cache: str | None
    tile: str | None
    threads: str
    no_simulation: bool
    addresses: tuple[str, ...]
    coherent: bool


@dataclass(frozen=True)
class ArraySpec:
    """An array spec names a systolic array, and the mappings of a kernel onto it that are looked at.

    array: rows and columns, ROWSxCOLUMNS; None: those of the machine.
    dataflow: which operands stay in the units, "os", "ws" or "is"; "auto": the fastest; "all": every mapping.
    links: which units are connected, "manhattan", "diagonal" or "broadcast".
    mapping: mappings in place of those that are found, each as `systolic.mapping.parse` reads it.
    rank: the quantity by which the best mapping is chosen, such as "cycles".
    """

    array: str | None
    dataflow: str
    links: str
    mapping: tuple[str, ...]
    rank: str = "cycles"


@dataclass(frozen=True)
class ReportFiles:
    """Report files are what `polyml report` writes besides what it prints; None: not written.

    svg: a folder for the pictures.
    html: a page.
    save: the schedule with the tiles that were chosen.
    """

    svg: str | None
    html: str | None
    save: str | None


@dataclass(frozen=True)
class SimulateSpec:
    """A simulate spec says how `polyml simulate` runs a kernel on a systolic array, and what it prints of it.

    engine: what simulates, "compiled" or "numpy".
    trace: whether the units at work in each cycle are printed.
    listing: whether it is printed what single units do in the first fold.
    units: the units of the listing, each ROW,COLUMN; none: all.
    seed: the seed of the random arguments.
    """

    engine: str
    trace: bool
    listing: bool
    units: tuple[str, ...]
    seed: int
