"""The directive `reference`: what the docstrings of names say, with an entry of Sphinx's Python domain for each.

    ```{reference} polyml.Kernel
    ```

A class comes with all its public methods and properties, unless the option `:alone:` is given, and a module alone. A name that does not
exist is an error of the build.
"""

from __future__ import annotations

import inspect
from typing import ClassVar

from docstring_text import markdown, members, resolved, role, signature
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Reference(SphinxDirective):
    """What the docstring of each argument says."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"alone": directives.flag}

    def run(self) -> list[nodes.Node]:
        alone = "alone" in self.options
        for name in self.arguments[0].split():
            try:
                resolved(name)
            except (AttributeError, ImportError) as problem:
                raise self.error(f"{name} does not exist: {problem}") from problem
        return [node for name in self.arguments[0].split() for node in self.parse_text_to_nodes(entry(name, alone=alone))]


def entry(name: str, *, alone: bool = False) -> str:
    """Returns the entry of a name as MyST's Markdown. alone: whether a class comes without its methods."""
    value = resolved(name)
    if role(value) == "module":
        return f"`````{{py:module}} {name}\n`````\n\n{markdown(inspect.getdoc(value) or '')}"
    owner, _, short = name.rpartition(".")
    if inspect.isclass(resolved(owner)):
        return member(owner, short, value, named=True)
    head = f"``````{{py:{role(value)}}} {short}{signature(value)}\n:module: {owner}\n\n"
    inner = [member(name, each, method) for each, method in members(value)] if inspect.isclass(value) and not alone else []
    return "\n\n".join([head + markdown(inspect.getdoc(value) or ""), *inner, "``````"])


def member(owner: str, name: str, value: object, *, named: bool = False) -> str:
    """Returns the entry of a method or a property of a class. named: whether it stands outside the entry of its class."""
    kind = {"function": "method", "property": "property"}.get(role(value), "attribute")
    static = "\n:staticmethod:" if isinstance(value, staticmethod) else "\n:classmethod:" if isinstance(value, classmethod) else ""
    text = markdown(inspect.getdoc(getattr(resolved(owner), name)) or "")
    module, _, short = owner.rpartition(".")
    head = f"{short}.{name}{signature(value)}\n:module: {module}" if named else f"{name}{signature(value)}"
    return f"`````{{py:{kind}}} {head}{static}\n\n{text}\n`````"


def setup(app: Sphinx) -> dict[str, object]:
    """Adds the directive to Sphinx."""
    app.add_directive("reference", Reference)
    return {"parallel_read_safe": True}
