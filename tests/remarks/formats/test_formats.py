"""Remarks in other forms: read back, and held against what the forms ask for."""

import json
import re

import pytest

import polyml
from polyml.errors import ConfigError
from polyml.remarks.formats import data, editors, html, text
from polyml.remarks.values import Place
from tests.api.explaining.test_explained import Words

START = Place(__file__, 1, 1)


def smoothed(A, B):
    for i in range(1, A.shape[0] - 1):
        A[i] = A[i - 1] + A[i]
    for i in range(A.shape[0]):
        B[i] = A[i]


def remarks():
    [found] = polyml.kernel(smoothed).remarks("f64[:]", "f64[:]")
    return found


def test_lines_for_editors_are_those_that_editors_parse():
    found = remarks()
    lines = editors.gcc(found, START).splitlines()
    assert all(re.match(r"^/.*\.py:\d+:\d+: (remark|note): \S", line) for line in lines)
    remarked = [line for line in lines if ": remark: " in line]
    assert len(remarked) == sum(1 for _ in found.all())
    source = open(__file__).read().splitlines()
    for line in lines:
        file, number, column = re.match(r"^(.*\.py):(\d+):(\d+):", line).groups()
        assert file == __file__ and source[int(number) - 1][int(column) - 1] not in " "
    assert any("the second reference, S0[2] reads A[1]" in line for line in lines)


def test_sarif_has_what_the_standard_requires():
    """OASIS, SARIF 2.1.0: sections 3.13 (log), 3.14 (run), 3.19 (tool component), 3.27 (result), 3.28 (location)."""
    found = remarks()
    log = json.loads(json.dumps(editors.sarif(found, START, "1.0")))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and len(log["runs"]) == 1
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "polyml" and isinstance(run["results"], list)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids)) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    for result in run["results"]:
        assert result["message"]["text"] and ids[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] in ("pass", "fail", "informational", "open", "review", "notApplicable")
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["level"] == "none" or result["kind"] == "fail"  # 3.27.10
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            place = location["physicalLocation"]
            assert place["artifactLocation"]["uri"].startswith("file:///")
            assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
        ids_of_related = [location["id"] for location in result.get("relatedLocations", ())]
        assert len(ids_of_related) == len(set(ids_of_related))
    assert sum(result["kind"] == "fail" for result in run["results"]) == sum(r.kind == "missed" for _, r in found.all())


def test_json_has_every_field_and_is_read_back():
    found = remarks()
    saved = json.dumps(data.data(found))
    again = data.read(saved, "x.json")
    assert [loop["name"] for loop in again["loops"]] == [loop.name for loop in found.loops]
    conflict = again["loops"][0]["remarks"][0]["conflict"]
    assert (conflict["source"]["instance"], conflict["sink"]["text"], conflict["distance"]) == ("S0[1]", "A[i - 1]", {"i": 1})
    assert data.difference(again, again) == ""


@pytest.mark.parametrize(
    "saved, message",
    [
        ("", "x.json is not JSON"),
        ("[1]", "x.json has no remarks of polyml"),
        ('{"kind": "polyml remarks", "version": 99}', "version 99"),
        ('{"kind": "polyml remarks", "version": 1}', "`loops` is not a list"),
        (
            '{"kind": "polyml remarks", "version": 1, "loops": [3], "statements": [], "arrays": [], "notes": []}',
            "an entry of `loops`",
        ),
        (
            '{"kind": "polyml remarks", "version": 1, "loops": [{"name": "i", "remarks": [{}]}], "statements": [], "arrays": [], "notes": []}',
            "a remark of loops: i",
        ),
        ("[" * 100_000, "x.json is not JSON"),
    ],
)
def test_other_files_are_refused(saved, message):
    with pytest.raises(ConfigError, match=message):
        data.read(saved, "x.json")


def test_a_difference_shows_what_changed_and_not_that_lines_moved():
    old = data.data(remarks())
    new = json.loads(json.dumps(old).replace("(line ", "(line 1"))
    new["loops"][0]["remarks"][1]["text"] = "its iterations are lanes: 9 vectors of 9"
    gone = new["loops"].pop(1)
    lines = data.difference(old, new).splitlines()
    assert lines[0] == "for i in range(1, A.shape[0] - 1):  # S0.i"
    assert (
        lines[1].startswith("  - vectorized ")
        and lines[2] == f"  + vectorized {old['loops'][0]['remarks'][1]['kind']}: its iterations are lanes: 9 vectors of 9"
    )
    assert f"{gone['written']}  # S1.i  (gone)" in lines


def test_the_source_has_one_remark_beside_each_loop():
    found = remarks()
    source = open(__file__).read().splitlines()
    first = smoothed.__code__.co_firstlineno
    lines = text.annotated(found, source[first - 1 : first + 4], first, __file__).splitlines()
    beside = {number: line.partition("  # ")[2] for number, line in enumerate(lines, first)}
    assert [number for number, remark in beside.items() if remark] == [first + 1, first + 3]
    assert "not parallel: flow dependence through A[1] (i +1)" in beside[first + 1]
    assert all(line[7:].rstrip().startswith(source[number - 1].rstrip()) for number, line in enumerate(lines, first))


def test_the_page_has_every_remark_and_its_tags_nest():
    found = remarks()
    words = " ".join(Words(html.document(found)).words)
    for _, remark in found.all():
        assert " ".join(remark.text.split()) in words
    assert "<script" not in html.document(found)
