"""An artifact survives its journey through bytes, and damage is noticed."""

import json

import pytest

from polyml.dtypes import F32, F64, PYINT
from polyml.frontend.syntax import ArrayType, ScalarType
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult, SizeRelation
from polyml.runtime.storage import artifact as module
from polyml.runtime.storage.artifact import Artifact, ResultArray
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.records import CheckRecord, parse_type
from polyml.source import Loc, Source

SOURCE = Source("some/file.py", 10, ("def f(A, n):\n", "    A[n + 1] = ü\n"))
FULL = Artifact(
    name="f",
    params=("A", "n"),
    types=(ArrayType(F64, 2), ScalarType(PYINT)),
    layouts=("F",),
    entry="kernel",
    object_code=(bytes(range(256)), b"", b"more"),
    checks=(
        CheckRecord(
            kind="bounds", what="A[n + 1]", violated="[N] -> { : N < 0 }", instances="[N] -> { S[i] : i = N }",
            iterators=("i",), may=True, dim=1, subscript="{ S[i] -> [(i)] }", size="[N] -> { [(N)] }",
            loc=Loc(SOURCE, 11, 5, 8),
        ),
        CheckRecord(kind="shape", what="T", violated="{ }", instances="{ }"),
    ),
    parameters=(Parameter("N", "A", 1), Parameter("n")),
    results=(ScalarResult("s", F32), ArrayResult("A"), ArrayResult("T")),
    result_is_tuple=True,
    result_arrays=(ResultArray("T", "int8", ("N + 1", "2")),),
    written=("A",),
    aliased=True,
    relations=(SizeRelation("A", 1, "A", 0, 0),),
    notes=("a note", "ünother"),
)  # fmt: skip


def test_bytes_give_back_the_artifact():
    again = Artifact.from_bytes(FULL.to_bytes())
    assert again == FULL
    assert again.object_code == FULL.object_code
    assert str(again.checks[0].loc) == "some/file.py:11:5" and again.checks[1].loc is None
    assert again.checks[0].loc.excerpt() == FULL.checks[0].loc.excerpt()


def test_the_smallest_artifact_survives_too():
    least = Artifact(name="f", params=(), types=(), layouts=(), entry="k", object_code=())
    assert Artifact.from_bytes(least.to_bytes()) == least


@pytest.mark.parametrize("kept", [0, 1, 8, 23, 24, 100, -1])
def test_a_truncated_artifact_is_noticed(kept):
    with pytest.raises(Damaged):
        Artifact.from_bytes(FULL.to_bytes()[:kept])


def test_another_version_of_the_format_is_not_read(monkeypatch):
    old = FULL.to_bytes()
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    with pytest.raises(Damaged, match=f"version {module.VERSION - 1} of the format, not {module.VERSION}"):
        Artifact.from_bytes(old)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xff\xff\x7f{}", b"\x02\x00\x00\x00{}", b"\x02\x00\x00\x00[]", b"\x01\x00\x00\x00\xff"]
)
def test_intact_bytes_that_are_no_artifact_are_refused(content):
    with pytest.raises(Damaged, match="not an artifact"):
        Artifact.from_bytes(content)


def test_a_missing_field_is_refused():
    content = FULL.to_bytes()
    head = json.loads(content[4 : 4 + int.from_bytes(content[:4], "little")])
    del head["written"]
    head["object_bytes"] = []
    text = json.dumps(head).encode()
    with pytest.raises(Damaged, match="not an artifact: 'written'"):
        Artifact.from_bytes(len(text).to_bytes(4, "little") + text)


WRONG = [None, "1", -1, 2**63, 10**400, 1.5, [], ["x"], {}, {"a": 1}, True, [[[]]], "__import__('os')"]


@pytest.mark.parametrize("field", [
    "version", "name", "params", "types", "layouts", "entry", "object_bytes", "checks", "parameters", "results", "result_is_tuple", "result_form",
    "result_arrays", "written", "aliased", "notes", "sized", "relations",
])  # fmt: skip
def test_a_field_that_has_another_type_is_refused(field):
    head = json.loads(FULL.to_bytes()[4:-260])
    kind = type(head[field])
    for value in WRONG:
        if isinstance(value, kind) and (kind is not list or not value or field in ("notes", "written")) or value is head[field]:
            continue
        text = json.dumps({**head, field: value}).encode()
        with pytest.raises(Damaged):
            Artifact.from_bytes(len(text).to_bytes(4, "little") + text + FULL.to_bytes()[-260:])


@pytest.mark.parametrize("field", ["checks", "parameters", "result_arrays", "relations", "results"])
def test_so_is_one_within_a_field(field):
    head = json.loads(FULL.to_bytes()[4:-260])
    for key in head[field][0]:
        for value in ({"a": 1}, [[]], 1.5, -(2**70)):
            changed = [{**head[field][0], key: value}, *head[field][1:]]
            text = json.dumps({**head, field: changed}).encode()
            with pytest.raises(Damaged):
                Artifact.from_bytes(len(text).to_bytes(4, "little") + text + FULL.to_bytes()[-260:])


def test_data_that_are_nested_without_end_are_refused():
    text = b"[" * 100_000
    with pytest.raises(Damaged, match="not an artifact"):
        Artifact.from_bytes(len(text).to_bytes(4, "little") + text)


@pytest.mark.parametrize("text", ["f64", "int", "float", "pybool", "bool", "u8[:]", "f32[:, :, :]", "i64[]"])
def test_a_type_prints_as_it_is_read(text):
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    "text, problem",
    [
        ("c32", "'c32' is not a type; element types: c128, c64, f64, f32, f16, bf16, i8, "),
        ("", "'' is not a type"),
        ("f64[", "'f64[' is not an array type; one is written f64[:, :]"),
        ("f64[:,]", "'f64[:,]' is not an array type"),
        ("f64[x]", "'f64[x]' is not an array type"),
        ("int[:]", "'int[:]' is not an array type"),
    ],
)
def test_what_is_not_a_type_is_refused(text, problem):
    with pytest.raises(ValueError) as caught:
        parse_type(text)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"layouts": ()}, "1 array arguments, but layouts \\(\\)"),
        ({"written": ("n",)}, "there is no array n"),
        ({"results": (ArrayResult("X"),)}, "there is no array X"),
        ({"relations": (SizeRelation("A", 0, "B", 0, 1),)}, "there is no array B"),
        ({"relations": (SizeRelation("A", 2, "A", 0, 1),)}, "sizes are related that no array has"),
        ({"parameters": (Parameter("N", "A", 2),)}, "no argument has the parameter N"),
        ({"parameters": (Parameter("N", "X", 0),)}, "no argument has the parameter N"),
        ({"parameters": (Parameter("N"),)}, "no argument has the parameter N"),
    ],
)
def test_an_artifact_that_contradicts_itself_is_refused(fields, problem):
    given = {
        "name": "f",
        "params": ("A", "n"),
        "types": FULL.types,
        "layouts": ("C",),
        "entry": "k",
        "object_code": (),
    }
    with pytest.raises(ValueError, match=problem):
        Artifact(**given | fields)
