"""What a call of a kernel does to a machine: `report`, and `simulate` and `compare` on systolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from polyml import config
from polyml.api.calls import measured_variants
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
    """The part of `Kernel` that reports on a call for a CPU, a GPU or a systolic array, and simulates it on systolic arrays."""

    def report(
        self, *args, target: str = "", machine=None, caches=(), tile=(), threads: int = 0, simulate: bool = True, measure: bool = False, coherent: bool = False,
        addresses: Mapping[str, int] = MappingProxyType({}), block=(), array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(), rank: str = "cycles",
    ) -> Report | GpuReport | SystolicReport:  # fmt: skip
        """Returns a report that says where the data of a call come from, what bounds the kernel, and why.

        On a CPU it compares the loops in the source's order, in tiles of that order, and in polyml's schedule.

        target: "cpu", "cuda", "opencl" or "systolic"; "": that of the kernel.
        machine: as polyml.measure.lookup.find gives it; None: the host, measured if it has not been, or an H100.
        caches: CacheLevels in place of the machine's, nearest first.
        tile: sizes of tiles of the source's loops, outermost first.
        threads: how many threads run polyml's schedule; 0: as many as the machine has.
        simulate: whether caches are simulated; if not, the report has no misses.
        measure: whether the variants are run as well, on copies of the arguments, for times beside the predicted ones; those of the
            source's order and of tiles run without vectors, as they are predicted.
        coherent: whether a line that one thread writes leaves the caches of the other threads.
        addresses: the byte address at which each array begins, by name, as in {"B": 8192}; arrays without one follow one another.
        block: for "cuda" and "opencl", threads of a block along x, y and z; (): those that polyml chooses.
        array: for "systolic", rows and columns; (): those of the machine.
        dataflow: for "systolic", "os", "ws" or "is": mappings in which results, weights or inputs stay in their units; "auto": the
            best of all three.
        links: for "systolic", which units are connected, "manhattan", "diagonal" or "broadcast".
        mapping: for "systolic", a text such as "t = i + j + k, x = i, y = j" in place of the mappings that are found, or one for
            each nest, as in ["S1: t = ...", ...].
        rank: for "systolic", the quantity by which the best mapping is chosen, "cycles", "utilisation", "ports", "registers",
            "traffic" or "energy".
        Raises ConfigError for values that do not fit together.

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
        kind = checked.text("target", target) or (self.gpu.language if self.gpu else "cpu" if self.target is None else "systolic")
        caches, tile, block = _levels(caches), checked.sizes("tile", tile), checked.sizes("block", block)
        threads, rank = checked.number("threads", threads, 0, checked.MOST_THREADS), checked.text("rank", rank)
        simulate, coherent = checked.flag("simulate", simulate), checked.flag("coherent", coherent)
        measure = checked.flag("measure", measure)
        pairs = checked.addresses("addresses", addresses)
        on_array = self._array_settings(_ArraySettings.checked(machine, array, dataflow, links, mapping), kind)
        asked = ReportSettings(
            caches=caches, tile=tile, threads=threads, simulate=simulate, measure=measure, coherent=coherent, addresses=pairs, block=block,
            array=on_array.array, dataflow=on_array.dataflow, links=on_array.links, mapping=on_array.mapping, rank=rank,
        )  # fmt: skip
        found = self._machine(machine, kind)
        if measure:
            measured_variants.check_is_host(found)

        def made() -> Report | GpuReport | SystolicReport:
            from polyml.api.report_targets import report

            given = self._arguments(self._bound(args, {}))
            named, call = {a.name: a.value for a in given}, self._call(given)
            try:
                return report(call, named, self._where, kind, found, asked)
            except SizesNeeded:
                return report(replace(call, types=exact_types(given)), named, self._where, kind, found, asked)

        result = self._compiling(made, lasting=True)
        return result if not measure else self._measured(result, args, tile, threads)

    def _measured(self, report: Report | GpuReport | SystolicReport, args: tuple, tile: Sequence[int], threads: int) -> Report:
        """Returns a report of this kernel on a CPU with the times of its variants. threads: 0 for as many as the settings say."""
        from polyml.performance.variants import tiled_name, tiled_schedule
        from polyml.report.report import Report

        assert isinstance(report, Report)
        values = self._bound(args, {})
        settings = {**self.settings, "fallback": "error", **({"threads": threads} if threads else {})}
        plain = {**settings, "schedule": "source", "vectorize": False, "parallel": False, "tile": False}
        cls = type(self)
        calls: dict[str, Callable[..., object]] = {"source": cls(self.py_func, plain)}
        for name in ("polyml", "given"):
            calls[name] = cls(self.py_func, settings, self._given)
        if tile:
            call = self._call(self._arguments(values))
            schedule = self._compiling(lambda: tiled_schedule(call, tile))
            calls[tiled_name(tile)] = cls(self.py_func, {**plain, "schedule": "auto", "tile": True}, schedule.saved)
        return measured_variants.with_times(report, calls, values)

    def simulate(
        self, *args, machine=None, array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(),
        engine: str = "compiled", plans: Sequence[Plan] = (),
    ) -> ArraySimulation:  # fmt: skip
        """Simulates a call on a systolic array cycle by cycle, and returns its result and what each nest of loops took.

        The arguments are changed as by a call.

        machine, array, dataflow, links, mapping: as for `report`; those of the kernel's target where they are left out.
        engine: what simulates, "compiled" or "numpy".
        plans: the mappings, one for each nest in the order of `report(...).nests`, in place of the fastest ones.
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
        """Simulates a call with every mapping that is asked for, and returns the results beside those of the kernel compiled for
        the processor.

        The arguments are left unchanged.

        machine, array, dataflow, links, mapping: as for `report`; dataflow "all" takes every mapping that is found.
        engine: what simulates, "compiled" or "numpy".
        trace: whether the printed result shows which units are at work in each cycle.
        listing: whether the printed result lists what each unit does in the first fold; or the (row, column) of each unit to be
            listed.
        errors: returns, by argument, how far rounded elements may be from exact ones; None: a bound is derived.

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
        """Returns the systolic array, dataflow and links of the kernel's target, as the settings of a simulation for which the
        caller gives none.
        """
        return self._array_settings(_ArraySettings())

    def _array_settings(self, given: _ArraySettings, kind: str = "systolic") -> _ArraySettings:
        """Returns the caller's settings; those that the caller left out are taken from the kernel's target.

        given: the settings that the caller gave.
        kind: the target of the report; for any but "systolic", `given` is returned unchanged.
        """
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
        """Returns the machine that the caller gave, or else that of the kernel's target; None where there is neither.

        kind: the target of the report, "cpu", "cuda", "opencl" or "systolic".
        """
        found = _described(machine)
        return self.target.machine if found is None and self.target is not None and kind == "systolic" else found

    def _call(self, given: tuple[CallArgument, ...]) -> KernelCall:
        """Returns a call as a report needs it: the parsed kernel with the types, layouts and sizes of the arguments. A report
        compiles the kernel for it in several ways.
        """
        from polyml.performance.variants import KernelCall

        return KernelCall(
            self._parsed(), *types_of(given), sizes_of(shapes(given)), config.resolve(self.settings), alone, self._given
        )

    def _simulated(
        self, given: tuple[CallArgument, ...], asked: _ArraySettings, engine: str = "compiled", plans: tuple[Plan, ...] = ()
    ) -> ArraySimulation:
        """Simulates a call on a systolic array, which changes its arguments, and returns the simulation.

        asked: the systolic array and the mappings onto it.
        engine: what simulates, "compiled" or "numpy".
        plans: the mappings, one for each nest; (): the fastest ones.
        """

        def made() -> ArraySimulation:
            from polyml.systolic.report.comparison import simulated

            return simulated(self._call(given), given, self._where, asked.request(), engine, plans)

        found = self._compiling(made, lasting=True)
        return replace(found, result=originals(found.result, given))


@dataclass(frozen=True)
class _ArraySettings:
    """The array settings say which systolic array is used, and which mappings onto it; the fields are parameters of
    `Kernel.report`.
    """

    machine: Described | None = None
    array: tuple[int, ...] = ()
    dataflow: str = "auto"
    links: str = "manhattan"
    mapping: tuple[str, ...] = ()

    def request(self) -> MappingRequest:
        """Returns the settings as a MappingRequest. Raises ConfigError for a machine that is no systolic array."""
        from polyml.systolic.report.request import MappingRequest, systolic_machine

        return MappingRequest(systolic_machine(self.machine), self.array, self.dataflow, self.links, self.mapping)

    @staticmethod
    def checked(machine: object, array: object, dataflow: object, links: object, mapping: object) -> _ArraySettings:
        """Returns the settings made of what a caller gave. Raises ConfigError for values of other types."""
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
