"""What a kernel runs on instead of the processor."""

from __future__ import annotations

import os
from dataclasses import dataclass

from polyml.errors import ConfigError
from polyml.machines.descriptions import DATAFLOWS, LINKS, LONGEST, Systolic
from polyml.reading.input_limits import plain, shown

LANGUAGES = ("opencl", "cuda")
LIBRARIES = ("cuda-python", "pycuda")  # which call CUDA's driver
GPU_STAGES = (*LANGUAGES, "ptx", "sass")  # texts for GPUs that the methods `inspect_*` return


@dataclass(frozen=True)
class Target:
    """A target is a systolic array, on which calls of a kernel are simulated unit by unit.

    array: rows and columns, or the length of an array of one dimension; (): those of the machine.
    dataflow: which operands stay in the units: "os" results, "ws" weights, "is" inputs, or "auto", the fastest of these.
    links: which units are connected, "manhattan", "diagonal" or "broadcast".
    machine: the description that the array is taken from; None: there is none.

    >>> Target.systolic(rows=16, cols=8).array
    (16, 8)
    """

    array: tuple[int, ...]
    dataflow: str
    links: str
    machine: Systolic | None

    @staticmethod
    def systolic(
        rows: int | None = None,
        cols: int | None = None,
        dataflow: str = "auto",
        links: str = "manhattan",
        machine: Systolic | str | os.PathLike | None = None,
    ) -> Target:
        """Returns a systolic array as the target of a kernel.

        rows, cols: the size of the array, that of the machine if both are left out; rows alone: an array of one dimension.
        dataflow: "os", "ws" or "is": results, weights or inputs stay in their units; "auto": the fastest of these.
        links: which units are connected, "manhattan", "diagonal" or "broadcast".
        machine: a name of `polyml machine --list`, a TOML file, or what `polyml.measure.lookup.find` gives.
        Raises ConfigError for any other value.

        >>> Target.systolic(rows=16, cols=8).array, Target.systolic(machine="gemmini").array
        ((16, 8), (16, 16))
        """
        rows, cols, dataflow, links, machine = map(plain, (rows, cols, dataflow, links, machine))  # type: ignore[assignment]
        found = _machine(machine)
        if found is not None and rows is None and cols is None:
            rows, cols = found.rows, found.columns
        if rows is None:
            expected = "expected Target.systolic(rows=16, cols=16), or a machine such as tpu-v1"
            raise ConfigError("a systolic array has rows and columns", notes=[expected])
        array = (rows,) if cols is None else (rows, cols)
        if any(type(length) is not int or not 1 <= length <= LONGEST for length in array):
            expected = f"expected positive numbers, as in rows=16, cols=16, at most {LONGEST:,}"
            raise ConfigError(f"there is no array of {' x '.join(map(shown, array))}", notes=[expected])
        for name, value, known in (("dataflow", dataflow, ("auto", *DATAFLOWS)), ("links", links, LINKS)):
            if not isinstance(value, str) or value not in known:
                expected = f"expected {name}= one of {', '.join(known)}"
                raise ConfigError(f"Target.systolic has no {name} {shown(value)}", notes=[expected])
        return Target(array, dataflow, links, found)

    @staticmethod
    def opencl(device: str = "") -> GpuTarget:
        """Returns a GPU, or another device that OpenCL reaches, as the target of a kernel.

        It needs `pip install polyml[opencl]` and the device's driver (ICD), which are looked for at the first call.

        device: a part of the name of the device or of its platform; "": the first device, GPUs before others.

        >>> print(Target.opencl("pocl"))
        opencl on pocl
        """
        return GpuTarget("opencl", device)

    @staticmethod
    def cuda(device: str = "", library: str = "") -> GpuTarget:
        """Returns a GPU of NVIDIA's as the target of a kernel.

        It needs NVIDIA's driver, `pip install polyml[cuda-python]` or `polyml[cuda]`, and nvcc where the first has no compiler. All are
        looked for at the first call.

        device: a part of the name of the device; "": the first device.
        library: what calls the driver, "cuda-python" (NVIDIA's cuda.bindings) or "pycuda"; "": the first of them that is installed.

        >>> print(Target.cuda("H100"))
        cuda on H100
        """
        return GpuTarget("cuda", device, library)

    def _repr_html_(self) -> str:
        """Returns a table of what the target is, which notebooks show."""
        from polyml.drawing.tables import html_table

        machine = self.machine.name if self.machine else "none"
        rows = [
            ("units", " x ".join(map(str, self.array))),
            ("dataflow", self.dataflow),
            ("links", self.links),
            ("machine", machine),
        ]
        return html_table("a systolic array as target", ["what", "value"], rows)

    def __str__(self) -> str:
        """Returns the array in words, with its links and its dataflow.

        >>> print(Target.systolic(16, 16, dataflow="ws"))
        a systolic array of 16 x 16 units, manhattan links, dataflow ws
        """
        machine = f" of {self.machine.name}" if self.machine else ""
        shape = " x ".join(map(str, self.array))
        return f"a systolic array of {shape} units{machine}, {self.links} links, dataflow {self.dataflow}"

    @property
    def asked(self) -> dict[str, object]:
        """Returns the target as keyword arguments for `Kernel.report` and `Kernel.simulate`: {"machine": ..., "array": ...,
        "dataflow": ..., "links": ...}.

        >>> Target.systolic(4, 4, dataflow="ws").asked["dataflow"]
        'ws'
        """
        return {"machine": self.machine, "array": self.array, "dataflow": self.dataflow, "links": self.links}


def _machine(machine: Systolic | str | os.PathLike | None) -> Systolic | None:
    """Returns the systolic array that a name, a file or a description stands for; None for None.

    Raises ConfigError for a machine that is no systolic array.
    """
    found: object = machine
    if isinstance(machine, (str, os.PathLike)):
        from polyml.measure import lookup

        found = lookup.find(machine)
    if found is None or isinstance(found, Systolic):
        return found
    called = getattr(found, "name", None) or shown(found)
    notes = ["expected a systolic array of `polyml machine --list`, or its file"]
    raise ConfigError(f"{called} is no systolic array", notes=notes)


@dataclass(frozen=True)
class GpuTarget:
    """A GPU target is a device that runs OpenCL or CUDA, such as a GPU.

    language: "opencl" or "cuda".
    device: a part of the name of the device or of its platform; "": the first device, GPUs before others.
    library: what calls CUDA's driver, one of LIBRARIES; "": the first of them that is installed.
    """

    language: str
    device: str = ""
    library: str = ""

    def __post_init__(self) -> None:
        for name in ("language", "device", "library"):
            value = plain(getattr(self, name))
            if not isinstance(value, str):
                raise ConfigError(f"a target's {name} is a text, not {shown(value)}", notes=['as in Target.opencl("pocl")'])
            object.__setattr__(self, name, value)
        if self.language not in LANGUAGES:
            raise ConfigError(
                f"there is no target {self.language!r}",
                notes=[f"expected {', '.join(LANGUAGES)} or polyml.Target.systolic(rows=16, cols=16)"],
            )
        if self.library and (self.language != "cuda" or self.library not in LIBRARIES):
            raise ConfigError(
                f"target {self.language} is not called through {shown(self.library)}",
                notes=[f"cuda is, through {' or '.join(LIBRARIES)}"],
            )

    def _repr_html_(self) -> str:
        """Returns a table of what the target is, which notebooks show."""
        from polyml.drawing.tables import html_table

        rows = [
            ("language", self.language),
            ("device", self.device or "the first one"),
            ("library", self.library or "the first one installed"),
        ]
        return html_table("a GPU as target", ["what", "value"], rows)

    def __str__(self) -> str:
        """Returns the language, and the part of the device's name where one is given.

        >>> print(GpuTarget("opencl"), GpuTarget("opencl", "pocl"), sep="; ")
        opencl; opencl on pocl
        """
        return f"{self.language} on {self.device}" if self.device else self.language


AnyTarget = Target | GpuTarget


def as_target(target: object) -> AnyTarget | None:
    """Returns the target for the argument of `polyml.kernel(target=...)`; None for None, which is the processor.

    target: a target, or the name of a GPU language. Raises ConfigError for anything else.
    """
    if isinstance(target, str):
        return GpuTarget(target)
    if target is None or isinstance(target, (Target, GpuTarget)):
        return target
    notes = ['expected polyml.Target.systolic(rows=16, cols=16), "opencl" or "cuda"']
    raise ConfigError(f"target= does not take a {type(target).__name__}", notes=notes)
