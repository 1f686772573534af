"""Kernels mapped to threads, for the tests."""

import numpy as np

import polyml
from polyml import config
from polyml.api.calls.call_arguments import types_of
from polyml.api.compiling.compile_lock import alone
from polyml.codegen.ir.array_layout import placed_whole
from polyml.gpu.coalescing import requests
from polyml.gpu.thread_accesses import uses
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import AccessBlock
from polyml.measure import lookup
from polyml.model.core.call_interface import value
from polyml.performance.variants import KernelCall, source_schedule
from polyml.runtime.calling.arguments import shapes
from polyml.runtime.storage.size_classes import sizes_of
from polyml.schedule.gpu.mapping import mapped, nests
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
    return nests(loop_tree.read(found.scop.schedule, found.scop.statements), found.scop, found.dependences)


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
        (made,) = requests(use.points, [use.address], AccessBlock(axes, threads, (use.element_bytes, 32, 128)), most)
        counted["store " * use.is_write + use.text] = made
    return counted, places, sizes
