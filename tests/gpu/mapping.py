"""Kernels as programs for a GPU, and what the model says of them, for the tests."""

from collections import Counter

import numpy as np

import polyml
from polyml import config
from polyml.api.calls.call_arguments import types_of
from polyml.api.compiling.compile_lock import alone
from polyml.gpu.launch_model import modelled
from polyml.measure import lookup
from polyml.model.core.call_interface import value
from polyml.performance.variants import KernelCall, source_schedule
from polyml.pipeline import stages
from polyml.pipeline.gpu.compile import launches
from polyml.pipeline.gpu.device import Device
from polyml.pipeline.pass_runner import PassRunner
from polyml.runtime.calling.arguments import shapes
from polyml.runtime.storage.size_classes import sizes_of
from polyml.schedule.gpu.mapping import every_nest
from polyml.schedule.tree import loop_tree

H100 = lookup.find("h100")


def problem(function, *arguments):
    """The kernel in the source's order for arrays of these shapes, and the sizes of its parameters."""
    kernel = polyml.kernel(function, cache=False)
    given = kernel._arguments(kernel._bound(arguments, {}))
    types, layouts = types_of(given)
    call = KernelCall(kernel._parsed(), types, layouts, sizes_of(shapes(given)), config.resolve(kernel.settings), alone)
    found = source_schedule(call).problem
    values = {each.name: each.value for each in given}
    return found, {p.name: value(p, values) for p in found.scop.parameters}


def source_nests(found):
    return every_nest(loop_tree.read(found.scop.schedule, found.scop.statements), found.scop, found.dependences)


def program_of(kernel, arguments, **wanted):
    """(how loops are divided, the program, the values of its parameters) of a kernel in CUDA, for given arguments."""
    kernel = kernel if hasattr(kernel, "py_func") else polyml.kernel(kernel, cache=False)
    given = kernel._arguments(kernel._bound(tuple(arguments), {}))
    types, _ = types_of(given)
    runner, options = PassRunner(), config.resolve(kernel.settings)
    model = stages.modelled(kernel._parsed(), types, stages.ModelRequest(options, sizes=sizes_of(shapes(given))), runner)
    mapped, program = launches(model, runner, Device("cuda", tf32=options.tf32), **wanted)
    values = {each.name: each.value for each in given}
    return mapped, program, {p.name: value(p, values) for p in program.scop.parameters}


def launches_of(function, shapes, dtype=np.float32, machine=H100, **wanted):
    """The model of each launch of a kernel, for zeros of these shapes."""
    mapped, program, sizes = program_of(function, [np.zeros(shape, dtype) for shape in shapes], **wanted)
    return modelled(program, mapped, sizes, machine)


def predicted(found):
    """{(version, array, whether it is written, "global" or "shared"): (requests, lanes, sectors or wavefronts)} in the text of launches."""
    sums = Counter()
    for each in found.accesses:
        touch, made = each.access.touch, each.requests
        assert made.accuracy == "exact"
        moved = made.sectors if not touch.is_shared else made.wavefronts
        key = each.access.version, touch.array, touch.is_write, "global" if not touch.is_shared else "shared"
        sums[key] += np.array((made.requests, made.lanes, moved))
    return {key: tuple(map(int, each)) for key, each in sums.items()}
