"""Kernels and explorations that the tests of pages share."""

import functools

import polyml
from polyml import kernels
from polyml.explorer.exploration import Exploration


def kernel(name, **settings):
    return polyml.kernel(kernels.load(name).kernel.py_func, cache=False, **settings)


def types(name):
    """The types with which a kernel of PolyBench is compiled: those of its inputs."""
    import numpy as np

    found = kernels.load(name)
    return tuple(found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype).values())


@functools.cache
def exploration(name, fp="strict", size=4, tiles=(2, 3)):
    """A kernel of PolyBench in the source's order, with one choice of sizes: all equal."""
    from polyml.pictures.nests import parameters

    schedule = kernel(name, fp=fp).schedule("source", *types(name))
    return Exploration(schedule, (dict.fromkeys(parameters(schedule.problem.scop), size),), tiles)


def in_order(tree, view, leaves, statements):
    """The instances in the order in which a reader would run the tree that a page shows: loops upwards, sequences from the first part on."""
    numbers = {loop["address"]: number for number, loop in enumerate(view["loops"])}

    def run(node, alive):
        if node["node"] == "leaf":
            for name in [each["name"] for each in node["statements"]]:
                yield from [(name, point) for leaf, point, _ in alive if leaf["statement"] == name]
        elif node["node"] == "loop":
            number = numbers[node["address"]]
            own = [each for each in alive if number in each[0]["loops"]]
            values = sorted({each[2][number] for each in own})
            for value in values:
                yield from run(node["children"][0], [each for each in own if each[2][number] == value])
        else:
            for child in node["children"]:
                names, loops = {*_names(child)}, _loops(child, numbers)
                yield from run(
                    child, [each for each in alive if each[0]["statement"] in names and (not loops or loops & {*each[0]["loops"]})]
                )

    alive = []
    for leaf in leaves:
        width = len(leaf["loops"])
        for n, point in enumerate(leaf["points"]):
            values = dict(zip(leaf["loops"], leaf["values"][n * width : (n + 1) * width]))
            alive.append((leaf, tuple(statements[leaf["statement"]][point]), values))
    return [*run(tree, alive)]


def _names(node):
    if node["node"] == "leaf":
        return [each["name"] for each in node["statements"]]
    return [name for child in node["children"] for name in _names(child)]


def _loops(node, numbers):
    own = {numbers[node["address"]]} if node["node"] == "loop" else set()
    return own.union(*(_loops(child, numbers) for child in node.get("children", ())))
