"""The directive `commands`: every subcommand of `polyml` with its arguments and options, as click knows them."""

from __future__ import annotations

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from polyml.cli import main


class Commands(SphinxDirective):
    """A section for each subcommand."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n\n".join(described(main, "polyml")), allow_section_headings=True)


def described(command: click.Command, path: str) -> list[str]:
    """Returns the Markdown of a command and of its subcommands.

    >>> @click.command(help="Adds.")
    ... @click.argument("n")
    ... @click.option("--fast", is_flag=True, help="In less time.")
    ... def add(n, fast): ...
    >>> print(*described(add, "sum add"), sep="\\n")
    ## `sum add`
    Adds.
    ```text
    sum add [OPTIONS] N
    ```
    * `--fast`: In less time.
    """
    with click.Context(command, info_name=path) as context:
        usage = f"{path} {' '.join(command.collect_usage_pieces(context))}"
        records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    options = "\n".join(f"* `{names}`: {_escaped(text)}" for names, text in records if text and names != "--help")
    own = [f"## `{path}`", _escaped(" ".join((command.help or "").split("\b")[0].split())), f"```text\n{usage}\n```", options]
    inner = command.commands.items() if isinstance(command, click.Group) else ()
    return [*own, *(part for name, each in inner if not each.hidden for part in described(each, f"{path} {name}"))]


def _escaped(text: str) -> str:
    """Returns a help text whose asterisks, brackets and braces stand for themselves in Markdown."""
    return "".join(f"\\{c}" if c in "*[]{}<>_" else c for c in text)


def setup(app: Sphinx) -> dict[str, object]:
    """Adds the directive to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
