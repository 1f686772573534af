"""Fusion graphs: bytes that nests hand on, against all accesses in the source's order, and which nests are fused."""

from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.plotting.call_sizes import call_sizes
from polyml.pictures.graphs.fusion import fusion_graph
from polyml.pictures.graphs.fusion_svg import fusion_svg
from polyml.polyhedra.points import points

SIZE = 4


def handed_on(scop, parts, sizes):
    """{(array, source, sink): bytes} and [bytes that a part moves], by going through all accesses in the source's order."""
    times = {instance: time for instance, (_, time) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    of = {instance: number for number, each in enumerate(parts) for instance in points(each.instances, **sizes)}
    assert of.keys() == times.keys()
    reads, writes = {}, {}
    for statement in scop.statements.values():
        for access in statement.reads:
            for instance, element in points(access.relation.intersect_domain(statement.domain), **sizes):
                reads.setdefault(instance, set()).add(element)
        for instance, element in points(statement.write.relation.intersect_domain(statement.domain), **sizes):
            writes[instance] = element
    writer, found = {}, {}
    for instance in sorted(times, key=times.get):
        for element in reads.get(instance, ()):
            if element in writer and writer[element] != of[instance]:
                found.setdefault((element[0], writer[element], of[instance]), set()).add(element)
        writer[writes[instance]] = of[instance]
    size = {name: array.element.size_bytes for name, array in scop.arrays.items()}
    moved = []
    for number in range(len(parts)):
        own = [instance for instance in times if of[instance] == number]
        every = {element for instance in own for element in (*reads.get(instance, ()), writes[instance])}
        moved.append(sum(size[e[0]] for e in every) + sum(size[e[0]] for e in {writes[instance] for instance in own}))
    return {key: len(elements) * size[key[0]] for key, elements in found.items()}, moved


@pytest.mark.sweep(keep=8)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_bytes_are_those_of_all_accesses(name):
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    schedule = polyml.kernel(found.kernel.py_func, cache=False).schedule(*arguments.values())
    scop = schedule.problem.scop
    sizes = call_sizes(scop, {}, SIZE)
    graph = fusion_graph(scop, schedule.problem.dependences, schedule.tree, sizes)
    root = ElementTree.fromstring(fusion_svg(graph))
    edges = {
        (each.get("data-array"), int(each.get("data-source")), int(each.get("data-sink"))): int(each.get("data-bytes"))
        for each in root.iter()
        if each.get("data-source") is not None
    }
    moved = [int(each.get("data-bytes")) for each in root.iter() if each.get("data-statements")]
    assert (edges, moved) == handed_on(scop, graph.parts, sizes)


def chain(A, B, C, D):
    for i in range(A.shape[0]):
        B[i] = A[i] * 2.0
    for i in range(A.shape[0]):
        C[i] = B[i] + A[i]
    for i in range(A.shape[0]):
        D[i] = C[i] - 1.0


def groups(schedule) -> list[str]:
    root = ElementTree.fromstring(polyml.plot(schedule, "fusion", {"A_0": 10}))
    return [each.get("data-nests") for each in root.iter() if each.get("data-group")]


def test_fused_nests_are_in_one_box():
    source = polyml.kernel(chain, cache=False).schedule("source", *["f64[:]"] * 4)
    assert groups(source) == ["0", "1", "2"]
    fused = source.fuse("S0.i", "S1.i")
    assert groups(fused) == ["0,1", "2"]
    svg = polyml.plot(fused, "fusion", {"A_0": 10})
    assert "fused: 2 nests move 400 bytes together, 160 fewer" in svg  # A and B once, C once, B and C once more: 5 * 80 bytes
    assert "80 bytes of B from nest 0 to nest 1" in svg and "1 group of fused ones" in svg


def test_time_loops_are_common_to_nests_and_their_tiles_are_not():
    def sweeps(A, B, T):
        for t in range(T):
            for i in range(1, A.shape[0] - 1):
                B[i] = A[i - 1] + A[i + 1]
            for i in range(1, A.shape[0] - 1):
                A[i] = B[i]

    source = polyml.kernel(sweeps, cache=False).schedule("source", "f64[:]", "f64[:]", "int")
    assert groups(source) == ["0", "1"]
    fused = source.shift("S1.i", S1=1).fuse("S0.i", "S1.i")
    assert groups(fused) == ["0,1"]
