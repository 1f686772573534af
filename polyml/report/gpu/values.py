"""The values of a report on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polyml.gpu.launches import Launches
from polyml.machines.descriptions import Gpu
from polyml.machines.roofline import Roof, Roofline


@dataclass(frozen=True)
class GpuVariant:
    """A variant is the kernel with one order of its loops, mapped to a GPU.

    name: "source" for the source's order, "polyml" for the one of the code that runs, "given" if that is a user's.
    launches: the launches of each of its kernels, in order.
    is_source: whether the launches are those of the source's order.
    """

    name: str
    launches: tuple[Launches, ...]
    is_source: bool = False

    @property
    def seconds(self) -> float | None:
        """Returns the predicted time of all launches, without the overhead of starting them; None where some time is not known."""
        times = [each.roofline.seconds for each in self.launches]
        known = [seconds for seconds in times if seconds is not None]
        return None if len(known) < len(times) else sum(known)

    @property
    def roofline(self) -> Roofline:
        """Returns the roofline of all launches together."""
        each = [launches.roofline for launches in self.launches]
        return Roofline(sum(found.operations for found in each), _summed(f.work for f in each), _summed(f.traffic for f in each))


def _summed(each: Iterator[Sequence[Roof]]) -> tuple[Roof, ...]:
    """Returns one roof for each memory and each type of operations: the sum over all launches.

    each: the roofs of each launch
    """
    found: dict[str, Roof] = {}
    for roof in (roof for roofs in each for roof in roofs):
        if roof.place in found:
            other = found[roof.place]
            seconds = None if roof.seconds is None or other.seconds is None else roof.seconds + other.seconds
            roof = Roof(roof.place, roof.amount + other.amount, roof.rate, seconds, min(roof.lanes, other.lanes))
        found[roof.place] = roof
    return tuple(found.values())


@dataclass(frozen=True)
class GpuReportValues:
    """The values of a report on one call of a kernel on a GPU.

    where: the kernel's file and line.
    sizes: values of its parameters.
    block: the threads of a block that the user chose; () where polyml chooses.
    target: the language of the code, "cuda" or "opencl".
    operations: how many operations the kernel has, by type of number.
    forms: the kernel in the source's order and in polyml's.
    seconds: how long the report took.
    """

    kernel: str
    where: str
    sizes: Mapping[str, int]
    machine: Gpu
    block: tuple[int, ...]
    target: str
    operations: Mapping[str, int]
    forms: tuple[GpuVariant, ...]
    seconds: float = field(compare=False)
