"""Pages beside docs/ (ARCHITECTURE.md and its kin) are on the site too, in docs/built/: links to the files lead to those pages there."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

PAGES = {"ARCHITECTURE": "architecture", "CONTRIBUTING": "contributing", "BENCHMARKS": "benchmarks", "CHANGELOG": "changelog"}
_LINK = re.compile(rf"\]\((?:\.\./)+({'|'.join(PAGES)})\.md")


def on_site(text: str) -> str:
    """Returns a page's text with its links to files beside docs/ as links to the site's pages.

    >>> on_site("[times](../BENCHMARKS.md#gemm), [more](../more.md)")
    '[times](/built/benchmarks.md#gemm), [more](../more.md)'
    """
    return _LINK.sub(lambda found: f"](/built/{PAGES[found[1]]}.md", text)


def setup(app: Sphinx) -> dict[str, object]:
    """Makes Sphinx read pages so."""
    app.connect("source-read", lambda _app, _page, source: source.__setitem__(0, on_site(source[0])))
    return {"parallel_read_safe": True}
