"""The predicted time of a mapping's launches, by a roofline.

Predicted times are the highest of the roofs, each an amount over a rate:

    operations    of all lanes that warps have, over the peak
    L1            lines that requests touch and passes through the banks of shared memory, at one of each in a cycle
    L2            sectors that blocks request; only those that no request of the block was for before, where the L1 holds what
                  the blocks of a multiprocessor access in one iteration of their outermost loop
    memory        sectors that a launch accesses, once; once for all launches where the L2 holds what one accesses
    latency       sectors that blocks request, as many at a time as the warps that multiprocessors hold load before they wait for
                  L2 and memory (Little's law; Volkov, "Better performance at lower occupancy", GTC 2010)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from polyml.gpu.launches import Launches
from polyml.gpu.places import Touch
from polyml.gpu.register_estimate import LOADED_TOGETHER
from polyml.machines.descriptions import Figure, Gpu
from polyml.machines.roofline import Roof, Roofline


def multiprocessors(found: Launches) -> int:
    """Returns how many multiprocessors have something to do in a launch, if each launch has the mean number of blocks."""
    return max(1, min(found.machine.parts, -(-found.blocks // max(1, found.launches))))


def roofline(found: Launches, amounts: Mapping[str, int]) -> Roofline:
    """Returns the roofline of a kernel's launches: operations, traffic of each memory, and latency, with the time that each takes.

    amounts: type of operations -> how many of them the launches run.
    """
    machine = found.machine
    used = multiprocessors(found)
    work = tuple(_work(found, amounts, machine, used))
    places = (("L1", _passes(found) * machine.line_bytes, machine.read("shared", used)),
              ("L2", found.sectors * machine.sector_bytes, machine.read("L2", used)),
              ("memory", found.memory_bytes, machine.read("memory", used)))  # fmt: skip
    traffic = tuple(Roof(place, amount or 0, rate, None if rate is None or amount is None else amount / rate.value)
                    for place, amount, rate in places)  # fmt: skip
    return Roofline(sum(amounts.values()), work, (*traffic, *_latency(found, used)))


def _latency(found: Launches, used: int) -> Iterator[Roof]:
    """Yields one roof, a limit of the speed: the time that warps wait for loads.

    Nothing is yielded where latencies are unknown, where nothing is loaded, or where a multiprocessor has no room for a block.

    used: multiprocessors that work.
    """
    machine = found.machine
    loads = [(access.touch, made) for access, made in found.of_global() if not access.touch.is_write]
    size = machine.sector_bytes * sum(made.sectors for _, made in loads)
    if machine.l2_latency_s is None or machine.memory_latency_s is None or not size or not found.occupancy.blocks:
        return
    warps = min(-(-found.blocks // max(1, found.launches)) * found.threads.warps, used * found.occupancy.warps)
    together: dict[
        tuple[object, ...], list[tuple[int, int]]
    ] = {}  # requests of loads for which a warp waits once, and how many it makes
    for (touch, made), version in zip(loads, (access.version for access, _ in found.of_global() if not access.touch.is_write)):
        together.setdefault((version, touch.is_copy, touch.place.loops), []).append((made.requests, _at_once(touch, found)))
    waits = sum(sum(count for count, _ in group) / sum(at_once for _, at_once in group) for group in together.values())
    moved = found.memory_bytes or 0
    from_memory = min(1.0, moved / (found.sectors * machine.sector_bytes)) if found.sectors else 0.0
    latency = from_memory * machine.memory_latency_s.value + (1 - from_memory) * machine.l2_latency_s.value
    seconds = waits / warps * latency * min(1.0, found.sectors / found.requested)
    amount = min(size, found.sectors * machine.sector_bytes)
    source = f"{warps:,} warps hold loads in flight, latency {latency * 1e9:.0f} ns"
    yield Roof("latency", amount, Figure(amount / seconds, "estimate", source), seconds)


def _at_once(touch: Touch, found: Launches) -> int:
    """Returns how many requests of a load a warp makes before it waits for any: those of unrolled loops and of a copy, and in other
    loops those of a few iterations.
    """
    if touch.is_copy:
        return LOADED_TOGETHER
    unrolled = prod(touch.place.unrolled[dim] for dim in touch.place.unrolled if dim in touch.place.dims)
    return unrolled if unrolled > 1 or not touch.place.loops else LOADED_TOGETHER


def _work(found: Launches, amounts: Mapping[str, int], machine: Gpu, used: int) -> Iterator[Roof]:
    """Yields for each type of operations a roof, a limit of the speed: their number against the machine's peak rate for the type.

    amounts: type of operations -> how many of them the launches run.
    used: multiprocessors that work.
    """
    for kind, count in amounts.items():
        rate = _peak(machine, kind, used)
        yield Roof(kind, count, rate, None if rate is None else count / found.lanes / rate.value, found.lanes)


def _peak(machine: Gpu, kind: str, used: int) -> Figure | None:
    """Returns the peak rate of a type of operations; None where no rate is known.

    A rate that the machine lacks is estimated: as that of f32 for integers of 32 bits, and as that of f64 for other types.
    """
    number, _, unit = kind.partition(" ")
    if unit == "tensor":
        return machine.tensor_peak(number, used)
    known = machine.peak(kind, used)
    if known is not None:
        return known
    near = machine.peak({"i32": "f32", "u32": "f32"}.get(kind, "f64"), used)  # of integers nothing is known
    return near and near.times(1, "estimate")


def _passes(found: Launches) -> int:
    """Returns how many passes through the L1, which is the shared memory too, all requests take.

    A request for global memory takes one pass for each cache line that it touches, a request for shared memory one for each
    wavefront.
    """
    return sum(made.lines for _, made in found.of_global()) + found.wavefronts
