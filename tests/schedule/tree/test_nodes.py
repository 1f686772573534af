"""Trees that are built from texts which are read once are those that isl's own reader makes."""

import re

import islpy as isl
import pytest

from polyml.polyhedra import parameter_names
from polyml.schedule.tree import nodes
from polyml.schedule.tree.text import parse_tree, print_tree
from tests.schedule.scheduling import scheduled

NAMES = ["gemm", "atax", "correlation", "fdtd_2d", "lu", "ludcmp", "seidel_2d", "nussinov", "adi"]
SETS = re.compile(r'"[^"]*\bS\d[^"]*"')  # domains, filters and bands; marks, flags and options are left
UNION = re.compile(r"\{ ([^{}]*) \}")


def in_order(text):
    """The text with the statements of each union in the order of their names."""
    return UNION.sub(lambda found: "{ " + "; ".join(sorted(found[1].split("; "))) + " }", text)


@pytest.mark.parametrize("name", NAMES)
def test_schedules_built_node_by_node_are_those_that_isl_reads(name):
    text = str(scheduled(name).tree)
    made = nodes.schedule(parse_tree(text))
    assert SETS.sub("", str(made)) == SETS.sub("", text)
    assert made.get_map().is_equal(isl.Schedule(text).get_map())


@pytest.mark.parametrize("name", [*NAMES, "doitgen", "deriche", "cholesky"])
def test_trees_of_schedules_are_those_of_their_texts(name):
    made = scheduled(name).tree
    tree = nodes.tree_of(made)
    assert tree == parse_tree(str(made))
    assert nodes.schedule(tree).plain_is_equal(made)


def test_trees_with_other_kinds_of_nodes_are_read_from_the_text():
    made = scheduled("gemm").tree.insert_guard(isl.Set("[N] -> { : N > 9 }"))
    assert "guard" in str(made)
    assert nodes.tree_of(made) == parse_tree(str(made))


def test_sets_of_children_marks_and_options_are_kept():
    tree = {
        "domain": "[N, M] -> { S[i] : 0 <= i < N; T[j] : 0 <= j < M }",
        "child": {"set": [
            {"filter": "[N, M] -> { S[i] }", "child": {"mark": "tile", "child": {
                "schedule": "[N, M] -> [{ S[i] -> [(i - (i) mod 8)] }, { S[i] -> [(i)] }]", "permutable": 1, "coincident": [1, 0],
                "options": "{ atomic[0] }"}}},
            {"filter": "[N, M] -> { T[j] }"},
        ]},
    }  # fmt: skip
    assert in_order(str(nodes.schedule(tree))) == in_order(str(isl.Schedule(print_tree(tree))))


@pytest.mark.parametrize("text", ["[N, M, K] -> { S[i] : i < M; T[i, j] }", "[N, NN, N1] -> { NN[i] : i < N1 }", "{ S[i] }"])
def test_parameters_that_are_not_mentioned_are_there_in_their_order(text):
    made = nodes.instances(text)
    assert made.is_equal(isl.UnionSet(text)) and parameter_names(made) == parameter_names(isl.UnionSet(text))
    band = re.sub(r"\{.*\}", "[{ S[i] -> [(i)] }, { S[i] -> [(M - i)] }]", text)
    if "M" in parameter_names(made):
        assert nodes.values(band).plain_is_equal(isl.MultiUnionPwAff(band))
        assert str(nodes.values(band)) == str(isl.MultiUnionPwAff(band))
