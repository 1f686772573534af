"""The list of dependences: each line's pairs and distance against all accesses, one after the other."""

import pytest

from polyml.explorer.exploration import dependence_data
from polyml.polyhedra.points import points
from tests.explorer.pages import exploration
from tests.pictures.test_nests import direct, text


def lines(name):
    explored = exploration(name)
    return explored, [(dependence_data(each), each.relation) for each in explored.dependences]


@pytest.mark.parametrize("name", ["gemm", "jacobi_1d", "jacobi_2d", "seidel_2d", "trisolv", "lu", "durbin", "fdtd_2d"])
def test_the_lines_together_are_the_direct_dependences(name):
    explored, found = lines(name)
    sizes = explored.sizes[0]
    pairs = {(line["kind"], text(source), text(sink)) for line, relation in found for source, sink in points(relation, **sizes)}
    assert pairs == direct(explored.scop, sizes) and pairs


@pytest.mark.parametrize("name", ["gemm", "jacobi_2d", "seidel_2d", "trisolv", "lu"])
def test_a_distance_is_that_of_all_pairs(name):
    explored, found = lines(name)
    numbers = 0
    for line, relation in found:
        for dim, told in enumerate(line["distance"]):
            own = {sink[1][dim] - source[1][dim] for source, sink in points(relation, **dict.fromkeys(explored.sizes[0], 6))}
            if told.lstrip("-").isdigit():
                assert own == {int(told)} or not own
                numbers += 1
            elif told == "+":
                assert min(own) > 0 and len(own) > 1
            elif told == "-":
                assert max(own) < 0
            else:
                assert told == "*" and len(own) > 1
    assert numbers


def test_distances_of_seidel_are_those_of_its_nine_references():
    _, found = lines("seidel_2d")
    flow = {tuple(line["distance"]) for line, _ in found if line["kind"] == "flow"}
    assert flow == {("0", "1", "1"), ("0", "1", "0"), ("0", "1", "-1"), ("0", "0", "1"), ("1", "0", "0"), ("1", "0", "-1"),
                    ("1", "-1", "1"), ("1", "-1", "0"), ("1", "-1", "-1")}  # fmt: skip


def test_kinds_that_isl_does_not_find_in_time_are_told(monkeypatch):
    monkeypatch.setattr("polyml.model.core.printer.OPERATIONS", 1)
    explored = exploration.__wrapped__("jacobi_2d")
    assert explored.dependences == [] and explored.unknown == ["flow", "anti", "output"]
    monkeypatch.undo()
    assert exploration.__wrapped__("jacobi_2d").unknown == []
