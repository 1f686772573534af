"""Copies to arrays of other shapes go through the array that they read: every element once, where it belongs."""

import itertools
from math import prod

import numpy as np
import pytest

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core import nest as nodes
from polyml.model.lowering.resolve import resolve
from polyml.model.nest_passes.reshaped_copies import in_source_order
from tests.frontend.define import define

SHAPES = [  # the array that is read, the one that is made, and whether the loops are to be those of the former
    ((2, 12, 5), (8, 3, 5), True), ((8, 3, 5), (2, 12, 5), True), ((3, 4, 5), (12, 5), True), ((3, 4, 5), (2, 6, 5), True),
    ((7, 2, 12, 2), (7, 8, 3, 2), True), ((2, 3, 4), (24,), True), ((6, 2, 3), (4, 3, 3), True), ((1, 6, 2), (3, 2, 2), False),
    ((2, 12), (8, 3), False), ((8, 3), (2, 12), False), ((12, 5), (3, 4, 5), False), ((6, 10), (4, 15), False), ((4, 9), (6, 6), False),
]  # fmt: skip


def source(shape, other, value="T[{}]", extent=None):
    """The text of a kernel that makes an array of another shape; the subscripts are an element's number, divided by sizes."""
    loops = [f"{'    ' * (d + 1)}for i{d} in range({n}):" for d, n in enumerate(shape)]
    own = ", ".join(f"i{d}" for d in range(len(shape)))
    lines = ["def kernel(A, C):", f"    T = np.empty({shape})", *loops]
    lines.append(f"{'    ' * (len(shape) + 1)}T[{own}] = A[{own}] * 2.0")
    number = " + ".join(f"{prod(other[d + 1 :])} * j{d}" for d in range(len(other)))
    parts = [f"(({number}) // {prod(shape[d + 1 :])}) % {n}" for d, n in enumerate(shape)]
    lines += [f"{'    ' * (d + 1)}for j{d} in range({n}):" for d, n in enumerate(extent or other)]
    at = ", ".join(f"j{d}" for d in range(len(other)))
    lines.append(f"{'    ' * (len(other) + 1)}C[{at}] = {value.format(', '.join(parts))}")
    return "\n".join(lines) + "\n"


def nest_of(text, shape, other):
    function = define(text, "kernel")
    types = (arg_type(np.zeros(shape)), arg_type(np.zeros(other)))
    return resolve(infer(parse(function), types))


def points(body, values=()):
    """Every assignment of the last nest, in the order of its loops: (index of the target, index of what it reads of T)."""
    node = body[-1]
    loops = []
    while isinstance(node, nodes.Loop):
        loops.append(node)
        (node,) = node.body
    read = next(r for r in nodes.reads(node.value) if r.array == "T")
    for point in itertools.product(*(range(loop.stop.evaluate({})) for loop in loops)):
        known = dict(zip((loop.iterator for loop in loops), point))
        yield tuple(s.evaluate(known) for s in node.subscripts), tuple(s.evaluate(known) for s in read.subscripts)


@pytest.mark.parametrize(("shape", "other", "fires"), SHAPES, ids=str)
def test_each_element_is_read_once_in_order_and_goes_where_reshape_puts_it(shape, other, fires):
    nest = nest_of(source(shape, other), shape, other)
    made = in_source_order(nest)
    assert fires == (made is not nest)
    numbers = np.arange(prod(shape))
    before, after = numbers.reshape(shape), numbers.reshape(other)
    found = [(after[target], before[read]) for target, read in points(made.body)]
    assert found == [(n, n) for n in numbers]
    if fires:
        read = next(r for r in nodes.reads([*nodes.assigns(made.body)][-1].value))
        assert all(str(s) in ("0", f"_r{d}") for d, s in enumerate(read.subscripts))


STAYS = {
    "a part alone": source((2, 12, 5), (8, 3, 5), extent=(7, 3, 5)),
    "in another order": source((2, 12, 5), (8, 3, 5)).replace("T[((15", "T[1 - ((15"),
    "another value needs quotients": source((2, 12, 5), (8, 3, 5), value="T[{}] + A[0, j1, j2]"),
    "the number of a point is used": source((2, 12, 5), (8, 3, 5), value="T[{}] + j0"),
    "what is made is read": source((2, 12, 5), (8, 3, 5), value="T[{}] + C[0, 0, 0]"),
    "elements as they lie": source((2, 12, 5), (2, 12, 5)),
}


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name):
    nest = nest_of(STAYS[name], (2, 12, 5), (2, 12, 5) if "as they lie" in name else (8, 3, 5))
    assert in_source_order(nest) is nest
