"""What a call of a kernel does to a machine: `report`, and `simulate` and `compare` on systolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from polyml import config
from polyml.api.calls import report_arguments as checked
from polyml.api.calls.call_arguments import exact_types, originals, types_of
from polyml.api.calls.report_settings import ReportSettings
from polyml.api.compiling.compile_lock import alone
from polyml.api.function import KernelFunction
from polyml.errors import SizesNeeded
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Described
from polyml.runtime.calling.arguments import CallArgument, shapes
from polyml.runtime.storage.size_classes import sizes_of

if TYPE_CHECKING:
    from polyml.performance.variants import KernelCall
    from polyml.report.gpu.report import GpuReport
    from polyml.report.report import Report
    from polyml.systolic.mapping.dataflows import Plan
    from polyml.systolic.report.comparison import SimulationReport
    from polyml.systolic.report.report import SystolicReport
    from polyml.systolic.report.request import MappingRequest
    from polyml.systolic.simulate import ArraySimulation


class Reported(KernelFunction):
    """A function of this class can be reported on and simulated."""

    def report(
        self, *args, target: str = "", machine=None, caches=(), tile=(), threads: int = 0, simulate: bool = True, coherent: bool = False,
        addresses: Mapping[str, int] = MappingProxyType({}), block=(), array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(), rank: str = "cycles",
    ) -> Report | GpuReport | SystolicReport:  # fmt: skip
        """Returns where the data of a call come from, what bounds the kernel, and why: in the source's order, in tiles of it, in
        polyml's.

        target: "cpu", "cuda" or "systolic"; "": the kernel's own.
        machine: as polyml.measure.lookup.find gives it; None: the host, measured if it has not been, or an H100.
        caches: CacheLevels in place of the machine's, nearest first.
        tile: sizes of tiles of the source's loops, outermost first.
        threads: how many threads run polyml's schedule; 0: as many as the machine has.
        simulate: whether caches are simulated; if not, nothing is said of misses.
        coherent: whether lines that one of the threads writes leave the caches of others.
        addresses: the bytes at which arrays begin, by name, as in {"B": 8192}; the others follow one another.
        block: for "cuda", sizes of the blocks along x, y and z; (): the best of some.
        array: for "systolic", rows and columns; (): the machine's.
        dataflow: for "systolic", "os", "ws" or "is": mappings in which results, weights or inputs stay.
        links: which units are connected, "manhattan", "diagonal" or "broadcast".
        mapping: a text such as "t = i + j + k, x = i, y = j" in place of the mappings that are found, or one for each nest, as in
            ["S1: t = ...", ...].
        rank: by what the best mapping is chosen, "cycles", "utilisation", "ports", "registers", "traffic" or "energy".
        Raises ConfigError for what does not fit together.

        >>> import numpy as np, polyml
        >>> from polyml.measure.lookup import find
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> found = double.report(np.ones(64), machine=find("avx2"), threads=1)
        >>> dict(found.operations), found.forms[0].misses.total(0).misses
        ({'f64': 64}, 8)
        """
        kind = checked.text("target", target) or ("cpu" if self.target is None else "systolic")
        caches, tile, block = _levels(caches), checked.sizes("tile", tile), checked.sizes("block", block)
        threads, rank = checked.number("threads", threads, 0, checked.MOST_THREADS), checked.text("rank", rank)
        simulate, coherent = checked.flag("simulate", simulate), checked.flag("coherent", coherent)
        pairs = checked.addresses("addresses", addresses)
        on_array = self._array_settings(_ArraySettings.checked(machine, array, dataflow, links, mapping), kind)
        asked = ReportSettings(
            caches=caches, tile=tile, threads=threads, simulate=simulate, coherent=coherent, addresses=pairs, block=block,
            array=on_array.array, dataflow=on_array.dataflow, links=on_array.links, mapping=on_array.mapping, rank=rank,
        )  # fmt: skip
        found = self._machine(machine, kind)

        def made() -> Report | GpuReport | SystolicReport:
            from polyml.api.report_targets import report

            given = self._arguments(self._bound(args, {}))
            named, call = {a.name: a.value for a in given}, self._call(given)
            try:
                return report(call, named, self._where, kind, found, asked)
            except SizesNeeded:
                return report(replace(call, types=exact_types(given)), named, self._where, kind, found, asked)

        return self._compiling(made, lasting=True)

    def simulate(
        self, *args, machine=None, array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(),
        engine: str = "compiled", plans: Sequence[Plan] = (),
    ) -> ArraySimulation:  # fmt: skip
        """Returns a call on a systolic array whose units are simulated cycle by cycle: its result, and what each nest took.

        The arguments are changed as by a call. Parameters are those of `report`; what is left out is the kernel's target's.

        engine: what simulates, "compiled" or "numpy".
        plans: the mappings, one for each nest in the order of `report(...).nests`, in place of the fastest.
        Raises IllegalSchedule where there is no mapping.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def product(C, A, B):
        ...     for i in range(C.shape[0]):
        ...         for j in range(C.shape[1]):
        ...             for k in range(A.shape[1]):
        ...                 C[i, j] += A[i, k] * B[k, j]
        >>> A, C = np.ones((2, 2)), np.zeros((2, 2))
        >>> run, = product.simulate(C, A, A, array=(2, 2)).runs
        >>> C[0].tolist(), run.cycles
        ([2.0, 2.0], 4)
        """
        asked = self._array_settings(_ArraySettings.checked(machine, array, dataflow, links, mapping))
        plans = checked.sequence("plans", plans, "those of a report's nests", _plan())
        return self._simulated(self._arguments(self._bound(args, {})), asked, checked.text("engine", engine), plans)

    def compare(
        self, *args, machine=None, array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(),
        engine: str = "compiled", trace: bool = False, listing: bool | Sequence[tuple[int, ...]] = False,
        errors: Callable[[], Mapping[str, object]] | None = None,
    ) -> SimulationReport:  # fmt: skip
        """Returns a simulation of every mapping that is asked for, each beside what the processor makes of the same arguments.

        The arguments stay as they are. Parameters are those of `simulate`; dataflow "all" is every mapping there is.

        trace: whether the text of the result has the units at work over time.
        listing: whether it has what each unit does in the first fold, or the rows and columns of the units that are listed.
        errors: gives, by argument, how far its elements, rounded, may be from exact ones, where that is known better than it is
            derived.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def product(C, A, B):
        ...     for i in range(C.shape[0]):
        ...         for j in range(C.shape[1]):
        ...             for k in range(A.shape[1]):
        ...                 C[i, j] += A[i, k] * B[k, j]
        >>> A, C = np.ones((2, 2)), np.zeros((2, 2))
        >>> product.compare(C, A, A, array=(2, 2)).ok
        True
        """
        asked = self._array_settings(_ArraySettings.checked(machine, array, dataflow, links, mapping))
        engine, trace = checked.text("engine", engine), checked.flag("trace", trace)
        if not isinstance(listing, bool):
            units = checked.sequence("listing", listing, "True, False or rows and columns, as in [(0, 3)]")
            listing = tuple(checked.sizes("listing", unit, least=0) for unit in units)

        def made() -> SimulationReport:
            from polyml.systolic.report.comparison import ComparisonSettings, compared

            given = self._arguments(self._bound(args, {}))
            processor = type(self)(self.py_func, self.settings)
            settings = ComparisonSettings(engine, processor, trace, listing, errors)
            return compared(self._call(given), given, self._where, asked.request(), settings)

        return self._compiling(made, lasting=True)

    def _target_settings(self) -> _ArraySettings:
        """Returns the settings of the kernel's target."""
        return self._array_settings(_ArraySettings())

    def _array_settings(self, given: _ArraySettings, kind: str = "systolic") -> _ArraySettings:
        """Returns the settings with those of the kernel's target in place of what the caller left out."""
        if self.target is None or kind != "systolic":
            return given
        own, default = self.target, _ArraySettings()
        return _ArraySettings(
            machine=own.machine if given.machine is None else given.machine,
            array=given.array if given.array or given.machine is not None else own.array,
            dataflow=given.dataflow if given.dataflow != default.dataflow or given.mapping else own.dataflow,
            links=given.links if given.links != default.links else own.links,
            mapping=given.mapping,
        )

    def _machine(self, machine: object, kind: str) -> Described | None:
        """Returns the machine that is asked for, or the target's where none is."""
        found = _described(machine)
        return self.target.machine if found is None and self.target is not None and kind == "systolic" else found

    def _call(self, given: tuple[CallArgument, ...]) -> KernelCall:
        """Returns what a report's variants are compiled for."""
        from polyml.performance.variants import KernelCall

        return KernelCall(
            self._parsed(), *types_of(given), sizes_of(shapes(given)), config.resolve(self.settings), alone, self._given
        )

    def _simulated(
        self, given: tuple[CallArgument, ...], asked: _ArraySettings, engine: str = "compiled", plans: tuple[Plan, ...] = ()
    ) -> ArraySimulation:
        """Returns the simulation of a call, which changes its arguments.

        asked: the systolic array and its mappings, by the names of `report`'s parameters.
        """

        def made() -> ArraySimulation:
            from polyml.systolic.report.comparison import simulated

            return simulated(self._call(given), given, self._where, asked.request(), engine, plans)

        found = self._compiling(made, lasting=True)
        return replace(found, result=originals(found.result, given))


@dataclass(frozen=True)
class _ArraySettings:
    """The array settings say which systolic array is used, and which mappings onto it, by the names of `Kernel.report`'s
    parameters.
    """

    machine: Described | None = None
    array: tuple[int, ...] = ()
    dataflow: str = "auto"
    links: str = "manhattan"
    mapping: tuple[str, ...] = ()

    def request(self) -> MappingRequest:
        """Returns the settings as the reports on systolic arrays take them. Raises ConfigError for another kind of machine."""
        from polyml.systolic.report.request import MappingRequest, systolic_machine

        return MappingRequest(systolic_machine(self.machine), self.array, self.dataflow, self.links, self.mapping)

    @staticmethod
    def checked(machine: object, array: object, dataflow: object, links: object, mapping: object) -> _ArraySettings:
        """Returns the settings that a caller gives. Raises ConfigError for those of other types."""
        described, flow = _described(machine), checked.text("dataflow", dataflow)
        shape = checked.sequence("array", array, "rows and columns, as in (16, 16)")
        return _ArraySettings(described, shape, flow, checked.text("links", links), checked.texts("mapping", mapping))


def _described(machine: object) -> Described | None:
    if machine is not None and not isinstance(machine, Described):
        raise checked.refused("machine", machine, "a machine as polyml.measure.lookup.find gives it")
    return machine


def _levels(caches: object) -> tuple[CacheLevel, ...]:
    return checked.sequence("caches", caches, "CacheLevels, nearest first", CacheLevel)


def _plan() -> type[Plan]:
    from polyml.systolic.mapping.dataflows import Plan

    return Plan
