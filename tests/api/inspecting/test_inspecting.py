"""What inspection returns can be computed with, and notebooks show it."""

from dataclasses import FrozenInstanceError
from xml.etree import ElementTree

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml.api.inspecting.texts import DependenceText, StageText


@polyml.kernel
def smooth(A, B):
    for i in range(1, A.shape[0] - 1):
        B[i] = A[i - 1] + A[i + 1]
    for i in range(1, A.shape[0] - 1):
        A[i] = B[i] * 0.5


TYPES = ("f64[:]", "f64[:]")


def test_the_model_is_isl_objects():
    model = smooth.model(*TYPES)
    sizes = isl.Set("[A_0, B_0] -> { : A_0 = 5 and B_0 = 5 }")
    expected = {
        "domain": "{ S0[i] : 1 <= i <= 3; S1[i] : 1 <= i <= 3 }",
        "reads": "{ S0[i] -> A[i - 1] : 1 <= i <= 3; S0[i] -> A[i + 1] : 1 <= i <= 3; S1[i] -> B[i] : 1 <= i <= 3 }",
        "writes": "{ S0[i] -> B[i] : 1 <= i <= 3; S1[i] -> A[i] : 1 <= i <= 3 }",
        "flow": "{ S0[i] -> S1[i] : 1 <= i <= 3 }",
        "anti": "{ S0[i] -> S1[i - 1] : 2 <= i <= 3; S0[i] -> S1[i + 1] : 1 <= i <= 2 }",
        "output": "{ }",
    }
    for name, text in expected.items():
        made = getattr(model, name).intersect_params(sizes)
        assert made.is_equal(type(made)(text).intersect_params(sizes)), name
    assert model.accesses.is_equal(model.reads.union(model.writes))
    assert model.dependences.is_equal(model.flow.union(model.anti))
    assert isinstance(model.schedule, isl.Schedule) and isinstance(model.source_order, isl.Schedule)
    order = model.source_order.get_map()
    later = order.lex_gt_union_map(order)
    assert model.dependences.is_subset(later.reverse()) and model.parameters["A_0"] == "A.shape[0]"
    with pytest.raises(FrozenInstanceError):
        model.domain = None


def test_dependences_are_text_and_values():
    deps = smooth.inspect_deps(*TYPES)
    assert isinstance(deps, str) and deps.missing == ()
    whole = smooth.model(*TYPES)
    by_kind = {kind: [d.relation for d in deps.dependences if d.kind == kind] for kind in ("flow", "anti", "output")}
    assert len(by_kind["anti"]) == 2 and by_kind["output"] == []
    for kind, relations in by_kind.items():
        union = isl.UnionMap("{ }")
        for relation in relations:
            union = union.union(isl.UnionMap.from_map(relation))
        assert union.is_equal(getattr(whole, kind))


def test_notebooks_show_dependences_as_a_table():
    deps = smooth.inspect_deps(*TYPES)
    root = ElementTree.fromstring(f"<div>{deps._repr_html_()}</div>")
    rows = [["".join(cell.itertext()) for cell in row.iter("td")] for row in root.iter("tr")][1:]
    assert [row[:2] for row in rows] == [["flow", "B"], ["anti", "A"], ["anti", "A"]]
    for row, each in zip(rows, deps.dependences, strict=True):
        assert row[2] == f"S0 {each.source.text} line {each.source.loc.line}"
        assert isl.Map(f"[A_0, B_0] -> {{ {row[6]} }}").is_equal(each.relation)
    assert rows[1][4:6] == ["no loop", ""]
    assert root.find(".//caption").text == "dependences between references in test_inspecting.py"
    assert root.find("div").get("style") == "overflow-x: auto"
    assert all("white-space: nowrap" in cell.get("style") for cell in root.iter("td"))


def test_notebooks_show_other_stages_line_by_line():
    for text in (smooth.inspect_domain(*TYPES), smooth.inspect_schedule(*TYPES), smooth.inspect_ast(*TYPES)):
        assert type(text) is StageText
        root = ElementTree.fromstring(text._repr_html_())
        assert root.tag == "pre" and root.text == str(text)


def test_kinds_that_are_missing_are_said_to_be():
    text = DependenceText({"flow": None, "anti": ()})
    assert text.missing == ("flow",) and "flow: isl would need too many operations" in text._repr_html_()


def test_the_last_call_gives_the_types():
    A = np.ones(4)
    smooth(A, np.ones(4))
    assert smooth.model().domain.is_equal(smooth.model(*TYPES).domain)
