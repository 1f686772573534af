"""docs/schemas: documents that commands write now keep to the schemas, and a damaged one does not."""

import copy
import json

import click
import pytest

from polyml.cli import main
from tests.docs import blocks, schemas
from tests.docs.schemas import DOCUMENTS, FOLDER

jsonschema = pytest.importorskip("jsonschema")
PAGE = (blocks.ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
WITHOUT = {"bisect"}  # it needs a bundle of a failure


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))


def checker(name):
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_commands_keep_to_their_schema(name):
    check = checker(name)
    for document in schemas.documents(DOCUMENTS[name].others):
        problems = [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in check.iter_errors(document)]
        assert not problems, (
            f"`python -m tests.docs.schemas` writes the schemas anew; docs/schemas/{name}.json does not have\n"
            + "\n".join(problems[:5])
        )


def test_a_document_with_a_field_more_or_less_or_of_another_type_is_found():
    check = checker("run")
    [document] = schemas.documents(DOCUMENTS["run"].others)
    assert check.is_valid(document)
    for name in document:
        without, other = copy.deepcopy(document), copy.deepcopy(document)
        del without[name]
        other[name] = [] if isinstance(document[name], dict) else {"no": "such thing"}
        assert not check.is_valid(without) and not check.is_valid(other), name
    assert not check.is_valid({**document, "more": 1})


def test_every_command_that_prints_json_has_a_schema_which_the_page_names():
    def printing(group, path=""):
        for name, each in group.commands.items():
            if isinstance(each, click.Group):
                yield from printing(each, f"{path}{name} ")
            elif any("--json" in option.opts for option in each.params):
                yield f"{path}{name}"

    described = [command for document in DOCUMENTS.values() for command in document.examples]
    missing = {name for name in printing(main) if not any(f"{command} ".startswith(f"{name} ") for command in described)}
    assert missing == WITHOUT, f"add a Document to tests/docs/schemas.py for {sorted(missing - WITHOUT)}"
    assert {path.stem for path in FOLDER.glob("*.json")} == set(DOCUMENTS)
    assert all(f"(../schemas/{name}.json)" in PAGE for name in DOCUMENTS)
