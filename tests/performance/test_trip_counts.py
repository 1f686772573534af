"""How often loops run, against a walk through the program in plain Python."""

from collections import Counter

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.program import Guard, Jam, Loop, Unroll
from polyml.performance.trip_counts import executions
from tests.caches.simulator.test_lane_order import CASES, compiled, product, triangle


def walked(program, sizes):
    """How often each loop and condition is come to, and how often its body runs, by identity."""
    starts, runs = Counter(), Counter()

    def walk(nodes, values):
        for node in nodes:
            if isinstance(node, Loop):
                starts[id(node)] += 1
                low, high = max(e.evaluate(values) for e in node.lower), min(e.evaluate(values) for e in node.upper)
                for value in range(low, high + 1, node.step):
                    runs[id(node)] += 1
                    walk(node.body, {**values, node.last: high, node.var: value})
            elif isinstance(node, Guard):
                starts[id(node)] += 1
                if node.condition.evaluate(values):
                    runs[id(node)] += 1
                    walk(node.body, values)
            elif isinstance(node, Jam):
                walk(node.body, {**values, node.var: node.base.evaluate(values)})
            elif isinstance(node, Unroll):
                for place in range(node.count):
                    walk(node.body, {**values, node.var: node.base.evaluate(values) + place})

    walk(program.body, sizes)
    return starts, runs


def check(program, sizes):
    starts, runs = walked(program, sizes)
    found = executions(program, sizes, placed(program, sizes))
    for site in found:
        wanted = (1, 1) if site.node is None else (starts[id(site.node)], runs[id(site.node)])
        assert (site.starts, site.iterations) == wanted
    return found


@pytest.mark.parametrize("function", CASES)
def test_vectorised_loops(function):
    program, sizes = compiled(function)
    found = check(program, sizes)
    lanes = [around for site in found for _, around in site.instances if any(isinstance(n, Jam) for n in around)]
    assert lanes


def test_copies_and_register_tiles():
    arrays = [np.zeros((75, 131)), np.zeros((131, 100)), np.zeros((75, 100))]
    program = polyml.kernel(cache=False, threads=1)(product).lower(*arrays).program
    sizes = {p.name: dict(zip("ABC", arrays))[p.array].shape[p.dim] for p in program.scop.parameters}
    check(program, sizes)


def test_tiles_and_conditions():
    def wave(A, T: int):
        for t in range(T):
            for i in range(1, A.shape[0] - 1):
                A[i] = A[i - 1] + A[i + 1]
            if T > 3:
                A[0] = A[1]

    for function, arguments in ((wave, (np.zeros(40), 7)), (triangle, (np.zeros((50, 50)), np.zeros(50), np.zeros(50)))):
        schedule = polyml.kernel(function, cache=False, threads=1).schedule("source", *arguments)
        if function is triangle:
            schedule = schedule.tile({"i": 8, "j": 8})
        problem = schedule.problem
        program = build(problem.scop, schedule.tree, problem.reductions)
        known = {"T": 7}
        sizes = {p.name: known.get(p.name, len(arguments[0])) for p in program.scop.parameters}
        check(program, sizes)
