"""ARCHITECTURE.md's map is the tree's, and its doors exist."""

import ast
import re

import pytest

from tests.docs.blocks import ROOT
from tests.test_layering import LAYERS

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
FOLDERS = re.findall(r"^\* `([\w/]+)/`: (.*\.)$", TEXT, re.MULTILINE)


def test_the_map_lists_every_folder_in_the_order_of_layers():
    layers = [name for line in LAYERS for name in line if (ROOT / "polyml" / name.replace(".", "/")).is_dir()]
    assert [name for name, _ in FOLDERS] == ["polyml", *(name.replace(".", "/") for name in layers)]


@pytest.mark.parametrize("folder, said", FOLDERS[1:], ids=lambda value: value if "/" in value else None)
def test_the_doors_of_a_folder_exist(folder, said):
    for module, name in re.findall(r"`(\w+)\.(\w+)`", said):
        if module == folder.split("/")[0]:  # a module of another folder, by its path
            assert (ROOT / "polyml" / module / f"{name}.py").exists()
            continue
        tree = ast.parse((ROOT / "polyml" / folder / f"{module}.py").read_text())
        assert name in {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}, f"{module}.{name}"


def test_files_of_the_life_of_a_kernel_exist():
    named = re.findall(r"`((?:frontend|model|schedule|codegen|runtime|pipeline)/[\w/]+(?:\.py|/))`", TEXT)
    assert len(named) > 10 and all((ROOT / "polyml" / name).exists() for name in named)


def test_a_decision_has_a_question_alternatives_and_a_choice():
    for path in (ROOT / "docs" / "design").glob("*.md"):
        if path.stem != "index":
            text = path.read_text()
            parts = [text.find(f"**{name}.**") for name in ("Question", "Alternatives", "Choice")]
            assert -1 not in parts and parts == sorted(parts), path.name
            assert len(text.splitlines()) <= 60, path.name
