"""Kernels mapped to threads, for the tests."""

import numpy as np

import polyml
from polyml import config
from polyml.api.compiling import alone
from polyml.api.given import types_of
from polyml.caches.placement import placed_whole
from polyml.gpu.blocks import Threads
from polyml.gpu.requests import requests
from polyml.gpu.uses import uses
from polyml.machines import find
from polyml.model.interface import value
from polyml.report.forms import Call, source_schedule
from polyml.runtime.sizes import sizes_of
from polyml.schedule import loops
from polyml.schedule.gpu import mapped, nests

H100 = find.find("h100")


def problem(function, *arguments):
    """The kernel in the source's order for arrays of these shapes, and the sizes of its parameters."""
    kernel = polyml.kernel(function, cache=False)
    given = kernel._arguments(kernel._bound(arguments, {}))
    types, layouts = types_of(given)
    call = Call(kernel._parsed(), types, layouts, sizes_of(given), config.resolve(kernel.settings), alone)
    found = source_schedule(call).problem
    values = {each.name: each.value for each in given}
    return found, {p.name: value(p, values) for p in found.scop.parameters}


def source_nests(found):
    return nests(loops.read(found.scop.schedule, found.scop.statements), found.scop, found.dependences)


def all_requests(function, shapes, dtype, order, block, most=1 << 20):
    """text of a use -> its requests, of a kernel with one nest. order: of the grid's loops, x first."""
    found, sizes = problem(function, *(np.zeros(shape, dtype) for shape in shapes))
    (nest,) = source_nests(found)
    places = placed_whole(found.scop, sizes, 256)
    on = mapped(nest, order, block)
    threads = Threads(tuple(block[: len(order)]), 32)
    counted = {}
    for use in uses(nest, found.scop, sizes, places).uses:
        axes = {use.loops.index(axis.loop.name): k for k, axis in enumerate(on.axes)}
        (made,) = requests(use.points, [use.address], axes, threads, use.element_bytes, 32, 128, most)
        counted["store " * use.is_write + use.text] = made
    return counted, places, sizes
