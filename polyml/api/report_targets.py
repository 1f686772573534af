"""The targets of reports: the caches of a CPU, the threads of a GPU, or a systolic array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from polyml.api.calls.report_settings import ReportSettings
from polyml.errors import ConfigError
from polyml.machines.descriptions import Cpu, Described, Gpu, Systolic, check_kind
from polyml.measure import lookup
from polyml.performance.variants import KernelCall

if TYPE_CHECKING:
    from polyml.report.gpu.report import GpuReport
    from polyml.report.report import Report
    from polyml.systolic.report.report import SystolicReport

    AnyReport: TypeAlias = Report | GpuReport | SystolicReport


@dataclass(frozen=True)
class ReportTarget:
    """A report target is a kind of machine for which reports can be made.

    machine: the name of the machine that is used if the caller gives none; "": there is no such default.
    needs: the class of the descriptions of such machines.
    noun: what such a machine is, in words.
    takes: the names of the `ReportSettings` that this target uses.
    make: makes the report; its arguments are the call, its arguments by name, the kernel's place as text, the machine, and the
        settings.
    """

    machine: str
    needs: type[Described]
    noun: str
    takes: tuple[str, ...]
    make: Callable[..., AnyReport]


def _of_cpu(call: KernelCall, arguments: Mapping[str, object], where: str, machine: Cpu, asked: ReportSettings) -> Report:
    from polyml.report.report import CacheSetup, report

    setup = CacheSetup(
        asked.caches or machine.machine.caches,
        asked.threads or machine.parts,
        asked.simulate,
        asked.coherent,
        dict(asked.addresses),
    )
    return report(call, arguments, where, machine, setup, asked.tile)


def _of_gpu(
    dialect: str, call: KernelCall, arguments: Mapping[str, object], where: str, machine: Gpu, asked: ReportSettings
) -> GpuReport:
    from polyml.report.gpu.report import report

    return report(call, arguments, where, machine, asked.block, dialect)


def _of_array(
    call: KernelCall, arguments: Mapping[str, object], where: str, machine: Systolic | None, asked: ReportSettings
) -> SystolicReport:
    from polyml.systolic.report.report import report
    from polyml.systolic.report.request import MappingRequest

    request = MappingRequest(machine, asked.array, asked.dataflow, asked.links, asked.mapping, asked.rank)
    return report(call, arguments, where, request)


TARGETS = {
    "cpu": ReportTarget("host", Cpu, "CPU", ("caches", "tile", "threads", "simulate", "measure", "coherent", "addresses"), _of_cpu),
    "cuda": ReportTarget("h100", Gpu, "GPU", ("block",), partial(_of_gpu, "cuda")),
    "opencl": ReportTarget("h100", Gpu, "GPU", ("block",), partial(_of_gpu, "opencl")),
    "systolic": ReportTarget("", Systolic, "systolic array", ("array", "dataflow", "links", "mapping", "rank"), _of_array),
}
# options that are not named as their settings
OPTIONS = {"caches": "--cache", "simulate": "--no-simulation", "addresses": "--address"}


def report(
    call: KernelCall, arguments: Mapping[str, object], where: str, target: str, machine: Described | None, asked: ReportSettings
) -> AnyReport:
    """Returns the report of a call on a target.

    arguments: the arguments of the call, by name.
    where: the kernel's name, file and line, for the report's first line.
    target: "cpu", "cuda", "opencl" or "systolic".
    machine: the description of the machine; None: the usual one of the target.
    asked: the settings of the report.
    Raises ConfigError for settings, targets and machines that do not fit together.
    """
    check(target, machine, asked)
    made = TARGETS[target]
    found = machine or (lookup.find(made.machine, measure=made.machine == "host") if made.machine else None)
    return made.make(call, arguments, where, found, asked)


def check(target: str, machine: Described | None, asked: ReportSettings) -> None:
    """Raises ConfigError for a target that does not exist, a machine of another kind, or a setting that the target does not
    take.
    """
    if target not in TARGETS:
        raise ConfigError(f"there is no target {target!r}", notes=[f"expected {' or '.join(TARGETS)}"])
    made = TARGETS[target]
    check_kind(machine, made.needs, made.noun)
    unused = [name for name in asked.given() if name not in made.takes]
    if unused:
        raise ConfigError(f"{OPTIONS.get(unused[0], f'--{unused[0]}')} is not for --target {target}")
