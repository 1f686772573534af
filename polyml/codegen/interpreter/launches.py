"""Runs a program for GPUs on NumPy arrays, thread by thread in any order: the check of launches that needs no device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

import numpy as np

from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.interpreter import call
from polyml.codegen.interpreter.order import ORDERS, Env, walk
from polyml.codegen.interpreter.run import effects
from polyml.codegen.ir.program import Program


def run(program: GpuProgram, arguments: Mapping[str, object], *, order: str = "source", seed: int = 0) -> object:
    """Runs a kernel's program for GPUs on the arguments, whose arrays it changes in place, and returns what the kernel returns.

    arguments: by the names of the kernel's parameters.
    order: of the threads of a launch: "source", "reversed", or "shuffled" by `seed`. A thread runs all of its loops before the next
        one begins.

    Raises what `interpreter.run.run` does.
    """
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    scop, random = program.scop, Random(seed)
    sizes, arrays = call.begin(scop, arguments)
    visit = effects(scop, arrays, arguments, sizes)

    def launch(name: str, point: tuple[int, ...]) -> None:
        found = program.launches[name]
        values = {**sizes, **dict(zip(found.host, point))}
        starts = list(threads(found, values))
        for start in starts[::-1] if order == "reversed" else random.sample(starts, len(starts)) if order == "shuffled" else starts:
            here = {**values, **start}
            for version in found.versions:
                if version.condition.evaluate(here):
                    walk(Program(scop, version.body), here, visit)

    with np.errstate(all="ignore"):
        walk(Program(scop, program.order), sizes, launch)
    return call.result(scop, arrays, arguments)


def threads(launch: Launch, values: Env) -> Iterator[dict[str, int]]:
    """Yields, for each thread of a launch in the order of their numbers, { name: value } with two integers along each axis:
    the first iteration that the thread runs, under the name `start` of the axis, and the first one that its block runs, under the
    name that `launch.blocks` has for it, or else `start` with "_block" behind it.

    values: the values of parameters and of the host's loop variables.
    """
    along: list[list[dict[str, int]]] = []
    names = {axis.start: axis.block for axis in launch.blocks}
    for axis in launch.axes:
        first, blocks = axis.first.evaluate(values), axis.blocks.evaluate(values)
        extent = axis.threads * axis.items
        starts = [
            (block * extent, thread * axis.thread_step) for block in range(first, first + blocks) for thread in range(axis.threads)
        ]
        along.append(
            [{axis.start: block + thread, names.get(axis.start, axis.start + "_block"): block} for block, thread in starts]
        )
    for each in product(*along):
        yield {name: value for axis in each for name, value in axis.items()}
