"""Each notebook runs from a clean kernel, and its pictures show what the sets are; it is kept without outputs, and is easy to read."""

import html
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from polyml.explorer.page import packed_data
from tests.notebooks.notebook import ROOT, imported, paths, python, read, sources, stripped, text
from tests.notebooks.running import run
from tests.pictures.test_nests import elements

NOTEBOOKS = pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
PUBLIC = {"polyml", "polyml.kernels", "numpy", "numba"}
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_LONGEST_CELL, _WIDEST = 20, 88  # lines of a cell, characters of a line


@pytest.fixture(scope="module")
def shown():
    """What the cells of a notebook show, by the first letters of its name; each is run once."""
    found = {}

    def of(name):
        (path,) = (each for each in paths() if each.name.startswith(name))
        if name not in found:
            found[name] = run(path)
        return found[name]

    return of


@NOTEBOOKS
def test_a_notebook_runs_and_its_pictures_show_what_the_sets_are(shown, path):
    cells = shown(path.name[:2])
    found = [picture for cell in cells for output in cell.pictures for picture in _SVG.findall(output)]
    assert len(found) >= 3
    for picture in found:
        root = ElementTree.fromstring(picture)
        assert root.get("role") in ("img", "group", "figure") and root.get("aria-label")
    compared = 0
    for cell in cells:
        nests = [each for output in cell.pictures for each in _SVG.findall(output) if " nest " in ElementTree.fromstring(each).get("class", "")]
        if cell.facts is not None:
            assert len(nests) >= len(cell.facts)
            for picture, facts in zip((nests[0], nests[-1]), cell.facts):
                assert_shows(picture, facts)
            compared += 1
        else:
            assert not nests, f"nothing says what this picture has to show:\n{cell.source}"
    assert compared


def test_the_first_notebook_uses_the_magic(shown):
    (cell,) = (each for each in shown("01") if each.source.startswith("%%polyml"))
    assert re.search(r"for c0 in range\(.*\):.*parallel", "".join(cell.pictures))


def test_a_notebook_on_gpus_draws_threads_of_blocks_and_boxes_of_shared_memory(shown):
    (cell,) = (each for each in shown("07") if '"gpu"' in each.source)
    (drawn,) = _SVG.findall(cell.pictures[0])
    assert drawn.count('class="outline"') == 2
    assert {each.get("data-array"): each.get("data-bytes") for each in elements(drawn, "shared-box")}.keys() == {"A", "B"}
    cells = [each for each in elements(drawn, "cell") if each.get("data-position")]
    assert len(cells) == 16 * 16
    for each in cells:
        x, y = map(int, each.get("data-position").split(","))
        assert each.get("data-block") == f"{x // 16},{y // 8}" and each.get("data-thread") == f"{x % 8},{y % 4}"


def test_a_notebook_on_schedules_has_the_page_on_which_they_are_steered(shown):
    (cell,) = (each for each in shown("08") if ".explore(" in each.source)
    text = html.unescape(re.search(r'<iframe srcdoc="([^"]*)"', cell.pictures[0])[1])
    found = packed_data(text)
    assert found["kernel"] == "shares" and found["pictures"][0]["sizes"] == {"n": 3, "m": 4}
    verdicts = {each["step"]: each["verdict"] for each in found["steps"]}
    assert verdicts['fuse("S0.i", "S1.i")'] == "illegal" and verdicts['interchange("S0.i", "S0.j")'] == "legal"


def assert_shows(picture: str, facts: dict) -> None:
    """Fails unless the picture has the instances, arrows, times and tiles of the facts, and no others."""
    drawn = {each.get("data-instance"): each.get("data-time") for each in elements(picture, "point")}
    assert sorted(drawn) == facts["instances"] and len(elements(picture, "point")) == len(drawn)
    arrows = [[each.get("data-kind"), each.get("data-source"), each.get("data-sink")] for each in elements(picture, "arrow")]
    assert sorted(arrows) == facts.get("arrows", [])
    if "times" in facts:
        assert {each: int(time) for each, time in drawn.items()} == {each: number for number, each in enumerate(facts["times"])}
    tiles = [sorted(re.findall(r"\w+\[[^]]*\]", each.get("data-members"))) for each in elements(picture, "tile")]
    assert sorted(tiles) == [[each.replace(" ", "") for each in tile] for tile in facts.get("tiles", [])]


@NOTEBOOKS
def test_a_notebook_is_kept_without_outputs(path):
    assert path.read_text(encoding="utf-8") == text(stripped(read(path))), "python -m tests.notebooks strips them"


@NOTEBOOKS
def test_a_notebook_imports_public_names_alone(path):
    for source in sources(read(path), "code"):
        for name in imported(source):
            assert name in PUBLIC or name.partition(".")[0] in sys.stdlib_module_names, name


@NOTEBOOKS
def test_a_notebook_is_easy_to_read(path):
    notebook = read(path)
    for source in sources(notebook, "code"):
        lines = source.splitlines()
        assert len(lines) <= _LONGEST_CELL and max(map(len, lines)) <= _WIDEST, source
    words = sources(notebook, "markdown")
    number = int(path.stem[:2])
    assert words[0].startswith(f"# {number}. ") and words[-1].startswith("## Exercise")
    for each in re.findall(r"`(\d\d_\w+\.ipynb)`", "\n".join(words)):
        assert (path.parent / each).exists(), each


def test_a_page_lists_all_notebooks_and_others_lead_to_it():
    linked = re.findall(r"\(\.\./notebooks/([\w.]+)\)", Path(ROOT, "docs/notebooks.md").read_text(encoding="utf-8"))
    assert linked == [path.name for path in paths()]
    assert "(docs/notebooks.md)" in Path(ROOT, "README.md").read_text(encoding="utf-8")
    assert "(notebooks.md)" in Path(ROOT, "docs/index.md").read_text(encoding="utf-8")


def test_notebooks_are_numbered_from_one():
    assert [int(path.stem[:2]) for path in paths()] == list(range(1, len(paths()) + 1))
    assert all(python(source) == source or source.startswith("%") for path in paths() for source in sources(read(path), "code"))


FACTS = {
    "instances": ["S0[0]", "S0[1]"], "arrows": [["flow", "S0[0]", "S0[1]"]], "times": ["S0[1]", "S0[0]"],
    "tiles": [["S0[0]"], ["S0[1]"]],
}  # fmt: skip
DRAWN = (
    '<svg xmlns="http://www.w3.org/2000/svg"><circle class="point" data-instance="S0[0]" data-time="1"/>'
    '<circle class="point" data-instance="S0[1]" data-time="0"/>'
    '<path class="arrow a0" data-kind="flow" data-source="S0[0]" data-sink="S0[1]"/>'
    '<path class="tile" data-members="S0[0]"/><path class="tile" data-members="S0[1]"/></svg>'
)


def test_a_right_picture_passes():
    assert_shows(DRAWN, FACTS)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ('<circle class="point" data-instance="S0[1]" data-time="0"/>', ""),
        ('data-sink="S0[1]"', 'data-sink="S0[0]"'),
        ('data-kind="flow"', 'data-kind="anti"'),
        ('data-time="0"', 'data-time="2"'),
        ('<path class="tile" data-members="S0[1]"/>', ""),
    ],
)
def test_a_wrong_picture_is_found(right, wrong):
    planted = DRAWN.replace(right, wrong)
    assert planted != DRAWN
    with pytest.raises(AssertionError):
        assert_shows(planted, FACTS)
