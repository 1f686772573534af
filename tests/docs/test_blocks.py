"""Every block of the README and of docs/ runs, prints what it says, or names commands that exist."""

import doctest
import importlib.util
import re

import pytest

import tasks
from polyml.cli import main
from polyml.measure import lookup
from tests.docs import blocks
from tests.docs.blocks import KINDS, PAGES, ROOT, agrees, run_page


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A folder of compiled kernels that all pages share."""
    return str(tmp_path_factory.mktemp("pages") / "cache")


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_and_print_what_they_say(page, tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", cache)
    for command, printed in run_page(page, tmp_path):
        now = "\n".join(printed)
        assert agrees(command.output, printed), (
            f"`python -m tests.docs {page}` prints the page anew; {' '.join(command.words)} prints\n{now}"
        )


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_what_it_is(page):
    found = blocks.blocks(page)
    assert {block.kind for block in found} <= set(KINDS)
    assert all(block.file for block in found if block.kind == "toml")
    assert not any("`" in block.words for block in found), "Markdown takes no backtick behind a fence"


@pytest.mark.parametrize("page", PAGES)
def test_a_machine_that_a_page_shows_is_one(page, tmp_path):
    for block in blocks.blocks(page):
        if block.kind == "toml":
            (tmp_path / block.file).write_text(block.text)
            assert lookup.find(str(tmp_path / block.file)).name in block.text


@pytest.mark.parametrize("page", PAGES)
def test_shell_commands_name_what_exists(page):
    for block in blocks.blocks(page):
        if block.kind != "sh":
            continue
        lines = block.text.splitlines()
        assert {name for line in lines for name in re.findall(r"(?:^|/)polyml (\w+)", line)} <= set(main.commands)
        for module in (name for line in lines for name in re.findall(r"python -m ([\w.]+)", line)):
            assert importlib.util.find_spec(module), module
        assert {name for line in lines for name in re.findall(r"python -m tasks (\w+)", line)} <= set(tasks.TASKS)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if not re.match(r"https?:", target):
            file, _, heading = target.partition("#")
            path = (ROOT / page).parent / file if file else ROOT / page
            assert path.exists(), f"{page} refers to {target}"
            assert not heading or heading in anchors(path.read_text()), f"{page} refers to {target}"


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text()
    for name in re.findall(r"`((?:polyml|tests|docs|kernels|benchmarks|notebooks)/[\w/.]+)`|`(\w+\.md)`", text):
        path = "".join(name)
        assert (ROOT / path).exists() or (ROOT / page).with_name(path).exists(), f"{page} names {path}"


def anchors(text):
    """The names of a page's headings as GitHub and MyST make them."""
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_every_page_of_the_documentation_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for block in blocks.blocks(page):
            if block.kind == "{toctree}":
                names = [name for name in block.text.split("\n") if name and not name.startswith(":")]
                listed |= {f"{(ROOT / page).parent.relative_to(ROOT)}/{name}.md" for name in names}
    assert listed | {"docs/index.md"} == {page for page in PAGES if page.startswith("docs/")}


def test_a_block_that_does_not_hold_would_be_found(tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.md"
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    wrong.write_text("```python\nassert 1 + 1 == 3\n```\n")
    with pytest.raises(AssertionError):
        run_page("wrong.md", tmp_path)
    wrong.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError):
        run_page("wrong.md", tmp_path)
    wrong.write_text("```python raises KeyError\n{}\n```\n")
    with pytest.raises(AssertionError):
        run_page("wrong.md", tmp_path)
    wrong.write_text("```{drawn} A picture.\n'<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n```\n")
    with pytest.raises(AssertionError, match="text alternative"):
        run_page("wrong.md", tmp_path)
    wrong.write_text("```console\n$ polyml machine --list\nnothing\n```\n")
    [(command, printed)] = run_page("wrong.md", tmp_path)
    assert not agrees(command.output, printed)
    assert doctest.testmod(blocks).failed == 0
