"""What a report is made for: a CPU's caches, a GPU's threads, or a systolic array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from polyml.errors import ConfigError
from polyml.machines.descriptions import Cpu, Described, Gpu, Systolic, check_kind
from polyml.measure import lookup
from polyml.performance.variants import Call


@dataclass(frozen=True)
class Target:
    """machine: that is taken if none is given, "" for none, of the kind `needs`, in words `noun`. takes: what may be asked of the report."""

    machine: str
    needs: type[Described]
    noun: str
    takes: tuple[str, ...]
    make: Callable[..., object]


def _of_cpu(
    call: Call, arguments: Mapping[str, object], where: str, machine: Cpu, *, caches, tile, threads, simulate, coherent, addresses
):
    from polyml.report.report import report

    return report(call, arguments, where, machine, caches, tile, threads, simulate, coherent, dict(addresses))


def _of_gpu(call: Call, arguments: Mapping[str, object], where: str, machine: Gpu, *, block):
    from polyml.report.gpu.report import report

    return report(call, arguments, where, machine, block)


def _of_array(
    call: Call, arguments: Mapping[str, object], where: str, machine: Systolic | None, *, array, dataflow, links, mapping, rank
):
    from polyml.systolic.report.report import report

    return report(call, arguments, where, machine, array, dataflow, links, mapping, rank)


TARGETS = {
    "cpu": Target("host", Cpu, "CPU", ("caches", "tile", "threads", "simulate", "coherent", "addresses"), _of_cpu),
    "cuda": Target("h100", Gpu, "GPU", ("block",), _of_gpu),
    "systolic": Target("", Systolic, "systolic array", ("array", "dataflow", "links", "mapping", "rank"), _of_array),
}
DEFAULTS = {
    "caches": (), "tile": (), "threads": 0, "simulate": True, "coherent": False, "addresses": (), "block": (),
    "array": (), "dataflow": "auto", "links": "manhattan", "mapping": (), "rank": "cycles",
}  # fmt: skip
OPTIONS = {"caches": "--cache", "simulate": "--no-simulation", "addresses": "--address"}  # where it is not called as the argument


def report(
    call: Call, arguments: Mapping[str, object], where: str, target: str, machine: Described | None, asked: Mapping[str, object]
):
    """asked: what only some targets take, by the names of DEFAULTS. Raises ConfigError for what does not fit together."""
    check(target, machine, asked)
    made = TARGETS[target]
    found = machine or (lookup.find(made.machine, measure=made.machine == "host") if made.machine else None)
    return made.make(call, arguments, where, found, **{name: asked[name] for name in made.takes})


def check(target: str, machine: Described | None, asked: Mapping[str, object]) -> None:
    """Raise ConfigError for a target that there is not, for a machine of another kind, and for what the target does not take."""
    if target not in TARGETS:
        raise ConfigError(f"there is no target {target!r}", notes=[f"expected {' or '.join(TARGETS)}"])
    made = TARGETS[target]
    check_kind(machine, made.needs, made.noun)
    unused = [name for name, value in asked.items() if value != DEFAULTS[name] and name not in made.takes]
    if unused:
        raise ConfigError(f"{OPTIONS.get(unused[0], f'--{unused[0]}')} is not for --target {target}")
