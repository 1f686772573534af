"""What commands are given, as values: the words of the command line, before anything is looked up or read as a number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallSpec:
    """A call spec holds what the command line says of a kernel's call.

    kernel: the kernel's place, FILE.py:FUNC.
    define: sizes, each NAME=INTEGER.
    args: types and values of arguments, each NAME=TYPE[N,M] or NAME=VALUE.
    preset: the name of a size set in the kernel's file; None: the first one there.
    """

    kernel: str
    define: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    preset: str | None = None


@dataclass(frozen=True)
class BuildSpec:
    """A build spec says what `polyml build` makes of a kernel, as `ahead_of_time.library_build.LibraryRequest` has it.

    signature: the types of the kernel's parameters.
    folder: where the files are written.
    cpu, threads, overlap: the processor, what runs threads, and what overlapping arguments do.
    define: sizes that tiles are chosen for, each NAME=INTEGER.
    name: of the function and its files; "": the kernel's.
    object_only: whether no shared library is linked.
    """

    signature: str
    folder: str
    cpu: str = "native"
    threads: str = "pool"
    overlap: str = "error"
    define: tuple[str, ...] = ()
    name: str = ""
    object_only: bool = False


@dataclass(frozen=True)
class BenchSpec:
    """A bench spec says how `polyml bench` runs the kernels of PolyBench.

    preset: the size set of the kernels, "MINI" to "EXTRALARGE".
    threads: how many threads run a kernel; 0: one for each core.
    repeat: how many runs are timed, of which the median counts.
    dtype: NumPy's name of the element type; None: the kernel's own. Kernels on integers keep theirs.
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

    threads: how many threads run the kernel; 0: one for each core; None: as the settings say.
    repeat: how many calls follow the first one, of which the fastest counts.
    seed: the seed of the random arguments.
    load: the file of a schedule to run with; None: the compiler looks for one.
    target: "opencl" or "cuda", what it runs on; None: what the kernel's file says.
    """

    threads: int | None
    repeat: int
    seed: int
    load: str | None
    target: str | None = None


@dataclass(frozen=True)
class ScheduleFiles:
    """Schedule files are those that `polyml schedule` writes and reads.

    save: the file that the schedule is written to; None: it is printed alone.
    load: the file that it is taken from; None: the compiler looks for one.
    as_json: whether it is printed as JSON.
    """

    save: str | None
    load: str | None
    as_json: bool = False


@dataclass(frozen=True)
class ExploreSpec:
    """An explore spec says what page `polyml explore` makes.

    html: the file that it is written to; None: it is served.
    start: "auto" for the schedule that the compiler finds, or "source" for the source's order.
    load: the file of a schedule to begin with; None: there is none.
    size: sizes that the picture is drawn for, each NAME=INTEGER.
    tile: sizes of tiles that a saved page knows; (): the usual ones.
    port: on which the page is served; 0: any that is free.
    browser: whether the page is opened in a browser.
    """

    html: str | None
    start: str
    load: str | None
    size: tuple[str, ...]
    tile: tuple[int, ...]
    port: int
    browser: bool


@dataclass(frozen=True)
class ShowSpec:
    """A show spec says what `polyml show` prints.

    stage: the name of a stage, of `config.STAGES` or `api.target.GPU_STAGES`; None where `after` is given.
    after: the name of a pass, of `config.PASSES`; None where `stage` is given.
    file: a file with the text of a kernel, SCoP or program, in place of FILE.py:FUNC; None: there is none.
    full: whether the printed text is complete, so that it can be read back as such a file.
    arch: the architecture of a GPU, as in "sm_90", of the stages "ptx" and "sass"; None: the usual one.
    target: what the schedule of the stage "schedule" is for: "cpu", "opencl" or "cuda".
    load: a file with the schedule to show code for a GPU with; None: the one that the compiler finds.
    """

    stage: str | None
    after: str | None
    file: str | None
    full: bool
    arch: str | None = None
    target: str = "cpu"
    load: str | None = None


@dataclass(frozen=True)
class ReportSpec:
    """A report spec says what `polyml report` reports on: the target, the machine, and settings for processors and GPUs.

    target: "cpu", "cuda", "opencl" or "systolic".
    machine: a name of `polyml machine --list`, or a file; None: the usual machine of the target.
    block: sizes of a GPU's thread blocks, such as "32,8"; None: the best of several that are tried.
    cache: levels of caches in place of the machine's, in the notation of `machines.cache_spec`.
    tile: sizes of tiles; the source's loops in such tiles are reported on too, as in "32,32,64"; None: they are not.
    threads: how many threads run polyml's schedule; "0": as many as the machine has.
    no_simulation: whether caches are not simulated, so that the report has no misses.
    measure: whether the variants are run, for times beside the predicted ones.
    addresses: where arrays begin, each ARRAY=BYTES.
    coherent: whether a line that one thread writes leaves the caches of the other threads.
    """

    target: str
    machine: str | None
    block: str | None
    cache: str | None
    tile: str | None
    threads: str
    no_simulation: bool
    measure: bool
    addresses: tuple[str, ...]
    coherent: bool


@dataclass(frozen=True)
class ArraySpec:
    """An array spec names a systolic array, and says which mappings of a kernel onto it are looked at.

    array: rows and columns, ROWSxCOLUMNS; None: those of the machine.
    dataflow: which operands stay in the units: "os" results, "ws" weights, "is" inputs; "auto": the fastest of these; "all": every
        mapping.
    links: which units are connected, "manhattan", "diagonal" or "broadcast".
    mapping: mappings in place of those that are found, each in the notation of `systolic.mapping.parse`.
    rank: the quantity by which the best mapping is chosen, such as "cycles".
    """

    array: str | None
    dataflow: str
    links: str
    mapping: tuple[str, ...]
    rank: str = "cycles"


@dataclass(frozen=True)
class ReportFiles:
    """The report files are those that `polyml report` writes besides what it prints; a file that is None is not written.

    svg: a folder for the report's pictures.
    html: a file for the report as a page.
    save: a file for the schedule of the source's loops in the tiles that the report has chosen.
    """

    svg: str | None
    html: str | None
    save: str | None


@dataclass(frozen=True)
class SimulateSpec:
    """A simulate spec says how `polyml simulate` runs a kernel on a systolic array, and what it prints.

    engine: what simulates, "compiled" or "numpy".
    trace: whether the units at work in each cycle are printed.
    listing: whether what single units do in the first fold is printed.
    units: the units of that listing, each ROW,COLUMN; (): all units.
    seed: the seed of the random arguments.
    """

    engine: str
    trace: bool
    listing: bool
    units: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class ExplainSpec:
    """An explain spec says in which form `polyml explain` prints its remarks.

    annotate: whether it prints the source with a remark beside each loop.
    form: "text", "json", "html", "sarif" or "gcc".
    diff: two files of saved JSON, of which it prints the difference instead; None: there are none.
    """

    annotate: bool = False
    form: str = "text"
    diff: tuple[str, str] | None = None
