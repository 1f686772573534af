"""Formulas as MathML, which browsers show themselves: the site needs no network and no script for them."""

from __future__ import annotations

from functools import partial

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging


def markup(tex: str, *, block: bool = False) -> str:
    """Returns a formula in TeX's notation as MathML. block: whether it stands on lines of its own.

    >>> markup("i + 1").replace("\\n", "").replace(" ", "")
    '<mathxmlns="http://www.w3.org/1998/Math/MathML"><mi>i</mi><mo>+</mo><mn>1</mn></math>'
    """
    return tex2mathml(tex, as_block=block)


def _shown(translator: nodes.NodeVisitor, node: nodes.Element, block: bool) -> None:
    try:
        found = markup(node.astext(), block=block)
    except MathError as problem:
        logging.getLogger(__name__).warning("%s: %s", node.astext(), problem, location=node)
        found = ""
    translator.body.append(f'<div class="formula">{found}</div>' if block else found)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, object]:
    """Makes it one of Sphinx's ways to show formulas."""
    app.add_html_math_renderer("mathml", (partial(_shown, block=False), None), (partial(_shown, block=True), None))
    return {"parallel_read_safe": True}
