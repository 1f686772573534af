"""Runs a program for GPUs on NumPy arrays, thread by thread in any order: the check of launches that needs no device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random
from typing import TypeVar

import numpy as np

from polyml.codegen.gpu.program import Chooser, GpuProgram, Launch, RowChooser
from polyml.codegen.gpu.rows.row_teams import RowCode
from polyml.codegen.interpreter import call
from polyml.codegen.interpreter.order import ORDERS, Env, Visit, walk
from polyml.codegen.interpreter.row_teams import RowRun
from polyml.codegen.interpreter.run import effects
from polyml.codegen.interpreter.teams import TeamMemory, TeamRun, run_block
from polyml.codegen.ir.program import Program

Item = TypeVar("Item")


def run(
    program: GpuProgram,
    arguments: Mapping[str, object],
    *,
    order: str = "source",
    seed: int = 0,
    choose: Chooser | None = None,
    choose_rows: RowChooser | None = None,
) -> object:
    """Runs a kernel's program for GPUs on the arguments, whose arrays it changes in place, and returns what the kernel returns.

    arguments: by the names of the kernel's parameters.
    order: of the blocks of a launch and of the threads of a block: "source", "reversed", or "shuffled" by `seed`. A thread runs to the next
        barrier, or else to its end, before the next one begins.
    choose, choose_rows: how the host chooses among launches, as `GpuProgram.runs` takes it.

    Raises what `interpreter.run.run` does, and BarrierDivergence where some threads of a block do not reach a barrier.
    """
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    scop, random = program.scop, Random(seed)
    sizes, arrays = call.begin(scop, arguments)
    visit = effects(scop, arrays, arguments, sizes)
    updated = {each.array for launch in program.launches.values() if launch.team for each in launch.team.partial}
    copies = {name: np.empty_like(arrays[name]) for name in updated}
    redirected = {name: (copy, effects(scop, {**arrays, name: copy}, arguments, sizes)) for name, copy in copies.items()}
    memory = TeamMemory(scop, arrays, visit, redirected)

    def made(others: Mapping[str, np.ndarray]) -> Visit:
        return effects(scop, others, arguments, sizes)

    def some_order(items: list[Item]) -> list[Item]:
        return items[::-1] if order == "reversed" else random.sample(items, len(items)) if order == "shuffled" else items

    def launch(name: str, point: tuple[int, ...]) -> None:
        values = {**sizes, **dict(zip(program.launches[name].host, point))}
        for each, here in program.runs(name, values, choose, choose_rows):
            if each.team is None:
                for start in some_order(list(threads(each, here))):
                    for version in each.versions:
                        if version.condition.evaluate({**here, **start}):
                            walk(Program(scop, version.tested), {**here, **start}, visit)
                continue
            for block in some_order(blocks(each, here)):
                run_block(_block_of(each, name, memory, made), each.name, some_order(block))

    with np.errstate(all="ignore"):
        walk(Program(scop, program.order), sizes, launch)
    return call.result(scop, arrays, arguments)


def _block_of(launch: Launch, stem: str, memory: TeamMemory, made: Callable[[Mapping[str, np.ndarray]], Visit]) -> TeamRun:
    """Returns a block of a launch of teams before it runs. made: what runs instances of statements on other arrays."""
    if isinstance(launch.team, RowCode):
        return RowRun(launch.team, stem, memory, {}, effects=made)
    assert launch.team is not None
    return TeamRun(launch.team, stem, memory, {})


def blocks(launch: Launch, values: Env) -> list[list[Env]]:
    """Returns the threads of each block of a launch of teams, each as the names and values that it has, among them `values`."""
    found: dict[tuple[int, ...], list[Env]] = {}
    for start in threads(launch, values):
        key = tuple(start[f"{axis.start}_block"] for axis in launch.axes)
        found.setdefault(key, []).append({**values, **start})
    return list(found.values())


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
