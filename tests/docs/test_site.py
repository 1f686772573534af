"""The site that Sphinx builds of docs/: without a warning, with each public name, its pictures inside, and links that lead somewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag
from xml.etree import ElementTree

import pytest

import tasks
from tests.docs import blocks
from tests.docs.test_public_names import public_names

pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")
SVG = re.compile(r"<svg xmlns=[^>]*polyml-picture.*?</svg>", re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built by the command of `python -m tasks site`."""
    folder = tmp_path_factory.mktemp("site")
    [command] = tasks.TASKS["site"][1]
    done = subprocess.run([sys.executable, *command[:-1], str(folder)], cwd=blocks.ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return folder


class _Page(HTMLParser):
    """The links of a page, the names that links may lead to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "link") and (given.get("src") or given.get("href")):
            self.loads.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_links_of_the_site_lead_to_pages_and_places(pages):
    lost = []
    for path, page in pages.items():
        for link in page.links:
            target, place = urldefrag(link)
            if re.match(r"\w+:", link):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            if not found.exists() or place and found in pages and unquote(place) not in pages[found].names | {""}:
                lost.append(f"{path.name} -> {link}")
    assert not lost, lost[:10]


def test_the_site_needs_no_network(pages):
    assert not [(path.name, load) for path, page in pages.items() for load in page.loads if re.match(r"(?:https?:)?//", load)]


def test_each_public_name_has_a_place_on_the_site(pages):
    names = {name for page in pages.values() for name in page.names}
    methods = [name for name, _ in public_names() if name.startswith("polyml.")]
    assert len(methods) > 20 and not [name for name in methods if name not in names and name != "polyml.config"]
    for owner, members in (
        ("polyml.Kernel", "explain report schedule lower"),
        ("polyml.report.report.Report", "data page pictures"),
    ):
        assert {f"{owner}.{member}" for member in members.split()} <= names


def test_each_drawn_block_is_a_picture_with_a_text_alternative(site):
    for page in blocks.PAGES:
        drawn = [block for block in blocks.blocks(page) if block.kind == "{drawn}"]
        if drawn:
            html = (site / page.removeprefix("docs/")).with_suffix(".html").read_text(encoding="utf-8")
            pictures = [ElementTree.fromstring(found) for found in SVG.findall(html)]
            assert len(pictures) == len(drawn) and all(picture.get("aria-label") for picture in pictures), page
