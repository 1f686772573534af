"""The directive `drawn`: a picture that its Python code draws whenever the site is built, so that none is stale.

    ```{drawn} What the picture shows, as its caption.
    polyml.plot(kernel, "tiles")
    ```

The value of the last line is the picture. The block shares names with the page's other `python` and `drawn` blocks, which run in their
order. Below the picture stands its code, folded.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tests.docs.blocks import pictures

_DARK = re.compile(r"@media \(prefers-color-scheme: ?dark\) ?\{(.*?\})\}</style>", re.DOTALL)


@cache
def _drawn(page: str) -> dict[int, str]:
    """Returns {line of a block: its picture} of a page, by its path from the root."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return {block.line: picture for block, picture in pictures(page, Path(folder))}
        finally:
            os.chdir(here)


def switched(picture: str) -> str:
    """Returns a picture whose dark colours follow the site's switch of light and dark, not the reader's system alone.

    >>> switched("<style>a{b:c}@media (prefers-color-scheme: dark){a{b:d}}</style>")
    '<style>a{b:c}@media (prefers-color-scheme: dark){body:not([data-theme="light"]){a{b:d}}}body[data-theme="dark"]{a{b:d}}</style>'
    """

    def rules(found: re.Match[str]) -> str:
        system = f'@media (prefers-color-scheme: dark){{body:not([data-theme="light"]){{{found[1]}}}}}'
        return f'{system}body[data-theme="dark"]{{{found[1]}}}</style>'

    return _DARK.sub(rules, picture)


class Drawn(SphinxDirective):
    """A figure of the picture that the body's last line is."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        page = f"docs/{self.env.docname}.md"
        try:
            picture = _drawn(page).get(self.lineno + 1)
        except Exception as problem:  # of the page's code, whatever it is
            raise self.error(f"a block of {page} cannot be run: {type(problem).__name__}: {problem}") from problem
        if picture is None:
            raise self.error(f"no picture of line {self.lineno} of {page}")
        figure = nodes.container(classes=["drawn"])
        figure += nodes.raw("", f"<figure>{switched(picture)}", format="html")
        figure += self.parse_text_to_nodes(self.arguments[0])
        code = nodes.literal_block("\n".join(self.content), "\n".join(self.content), language="python")
        figure += [nodes.raw("", "<details><summary>The code that draws it</summary>", format="html"), code]
        figure += nodes.raw("", "</details></figure>", format="html")
        return [figure]


def setup(app: Sphinx) -> dict[str, object]:
    """Adds the directive to Sphinx."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True}
