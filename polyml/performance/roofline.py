"""The roofline of a kernel, for all cache levels: operations over their peak, and bytes over each bandwidth.

Source: Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures", CACM
2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyml.machines.descriptions import Cpu, Described
from polyml.machines.roofline import Roof, Roofline
from polyml.model.counting.operation_counts import instances, of_value
from polyml.performance.cache_misses import Misses
from polyml.performance.variants import Form

IN_LANES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4}  # bytes of the numbers that vectors are counted for


def roofline(form: Form, misses: Misses, sizes: Mapping[str, int], machine: Cpu, threads: int) -> Roofline:
    """Returns the roofline of a kernel in one order of its instances, on `threads` threads of a machine.

    misses: the simulated ones of the kernel in this order, which tell how many bytes move between cache levels.
    """
    work = tuple(_work(form, sizes, machine, threads))
    traffic = tuple(_traffic(misses, machine, threads))
    return Roofline(sum(roof.amount for roof in work), work, traffic)


def _work(form: Form, sizes: Mapping[str, int], machine: Cpu, threads: int) -> Iterator[Roof]:
    """Yields a roof (a limit of the speed) for each type of number: the operations of that type against the machine's peak rate for
    it.
    """
    total: dict[str, int] = {}
    slots: dict[str, float] = {}  # of operations in lanes that could run in the same instructions
    for name, statement in form.scop.statements.items():
        runs = instances(statement, sizes)
        for kind, count in of_value(statement.value).items():
            widest = machine.machine.lanes(IN_LANES[kind]) if kind in IN_LANES else 1
            lanes = max((n for own, n in form.lanes.items() if own == name or own.startswith(f"{name}_from_")), default=1)
            total[kind] = total.get(kind, 0) + runs * count
            slots[kind] = slots.get(kind, 0.0) + runs * count * widest / min(widest, lanes)
    for kind, count in total.items():
        rate = machine.peak(kind, threads)
        if rate is None:  # of integers nothing is known: they are taken to be as fast as floats of their size
            rate = machine.peak({"i32": "f32", "u32": "f32"}.get(kind, "f64"), threads)
            rate = rate and rate.times(1, "estimate")
        seconds = None if rate is None else slots[kind] / rate.value
        yield Roof(kind, count, rate, seconds, count / slots[kind] if count else 1.0)


def _traffic(misses: Misses, machine: Described, threads: int) -> Iterator[Roof]:
    """Yields a roof (a limit of the speed) for each cache level behind the first and for memory, by its bandwidth.

    Its amount is the bytes of all lines that are fetched from there or written back to it.
    """
    line = misses.levels[0].line_bytes
    places = [f"L{level.level}" for level in misses.levels[1:]] + ["memory"]
    for number, place in enumerate(places):
        total = misses.total(number)
        fetched, written = total.misses * line, total.written * line
        read, update = machine.read(place, threads), machine.update(place, threads)
        seconds = None
        if read is not None:
            back = 2 * written / update.value if update is not None else 2 * written / read.value
            seconds = max(fetched - written, 0) / read.value + back
        yield Roof(place, fetched + written, read, seconds)
