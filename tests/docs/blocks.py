"""The fenced blocks of a Markdown page, and what running them gives."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import linecache
import re
import shlex
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from polyml.machines import catalogue, cpu
from tests.cli.running import run as run_command

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")),
)
KINDS = (  # each is run, checked or known to need neither
    "python", "pycon", "console", "toml", "sh", "diff", "text", "{drawn}", "{toctree}", "{reference}", "{commands}", "{include}",
)  # fmt: skip
ANYTHING = "..."  # a line of a console block that stands for any lines
PINNED = ("show", "explain")  # commands whose output depends on the machine that code is made for, and that run none of it
_FENCE = re.compile(r"^( *)```(\S*)(?: ([^\n]*))?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)  # with words behind the kind
_DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block. kind: the word after the fence. line: the page's line on which its text begins. words: those behind the kind, such
    as the caption of a picture, or `raises NAME` for the error that it ends with.
    """

    kind: str
    text: str
    line: int
    words: str = ""

    @property
    def file(self) -> str:
        """The name on a first line `# NAME.py` or `# NAME.toml`: the file that the block is; "" for none."""
        found = re.match(r"# (\w+\.(?:py|toml))\n", self.text)
        return found[1] if found else ""


@dataclass(frozen=True)
class Command:
    """A command of a console block with the lines that it is said to print."""

    words: tuple[str, ...]
    output: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """The blocks of a page, by its path from the root, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = _FENCE.finditer(text)
    return [Block(m[2], textwrap.dedent(m[4]), text.count("\n", 0, m.start()) + 2, m[3] or "") for m in found]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: each begins with `$ `."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        words, *output = part.rstrip("\n").split("\n")
        yield Command(tuple(shlex.split(words)), tuple(output))


def run_page(page: str, folder: Path) -> list[tuple[Command, list[str]]]:
    """Runs a page's Python and doctests, in the present folder, which is `folder`; the commands of its console blocks, each with the
    lines that it prints. Raises AssertionError where a doctest prints something else.
    """
    made = []
    for block, names in _prepared(page, folder):
        if block.kind == "python" and block.words.startswith("raises "):
            _check_raised(page, block, names)
        elif block.kind == "python":
            execute(page, block, names)
        elif block.kind == "{drawn}":
            _check_picture(execute(page, block, names))
        elif block.kind == "pycon":
            _check_doctest(page, block, names)
        elif block.kind == "console":
            made += [(command, _printed(command, folder)) for command in commands(block)]
    return made


def _prepared(page: str, folder: Path) -> Iterator[tuple[Block, dict[str, object]]]:
    """Yields a page's blocks with the names that they share, once its files are written. A page may show how to filter warnings."""
    found, names = blocks(page), {"__name__": "__main__"}
    files = [block for block in found if block.file]
    for block in files:
        (folder / block.file).write_text(block.text)
    sys.path.insert(0, str(folder))  # so that a page may import its files
    try:
        with warnings.catch_warnings():
            yield from ((block, names) for block in found)
    finally:
        sys.path.remove(str(folder))
        for block in files:
            sys.modules.pop(Path(block.file).stem, None)


def pictures(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Yields each block of a page that draws a picture, with the picture; blocks of Python run in the present folder, which is `folder`."""
    for block, names in _prepared(page, folder):
        if block.kind == "{drawn}" or block.kind == "python" and not block.words.startswith("raises "):
            value = execute(page, block, names)
            if block.kind == "{drawn}":
                yield block, _check_picture(value)


def _check_picture(value: object) -> str:
    """The SVG text that a block has drawn; it has to be XML, and to say in words what it shows."""
    assert isinstance(value, str), f"the last line of a drawn block is a picture, not {value!r}"
    root = ElementTree.fromstring(value)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("aria-label"), "a picture has a text alternative"
    return str(value)


def _check_raised(page: str, block: Block, names: dict[str, object]) -> None:
    """Runs a block that has to end with the error that its fence names."""
    try:
        execute(page, block, names)
    except Exception as problem:
        assert type(problem).__name__ == block.words.split()[1], problem
    else:
        raise AssertionError(f"{page}:{block.line} does not raise {block.words.split()[1]}")


def execute(page: str, block: Block, names: dict[str, object]) -> object:
    """The value of the last line, if it is an expression. The text is where `inspect` looks for it, so that kernels have a source; error
    messages have the page's lines.
    """
    text, file = "\n" * (block.line - 1) + block.text, block.file or f"<{page}:{block.line}>"
    if block.file:
        text = block.text
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    tree = ast.parse(text, file)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else ast.parse("None", mode="eval")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, file, "exec"), names)
        return eval(compile(last, file, "eval"), names)


def _check_doctest(page: str, block: Block, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line - 1)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=_DOCTEST_FLAGS)
    runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, report.getvalue()


def _printed(command: Command, folder: Path) -> list[str]:
    """The lines of standard output and standard error, with paths from the folder."""
    name, *words = command.words
    assert name == "polyml", f"{name} is not run: a console block holds polyml's commands"
    code = 1 if any(": error: " in line for line in command.output) else 0
    with made_for_two_cores() if words[0] in PINNED else contextlib.nullcontext():
        out, err = run_command(*words, code=code)
    return re.sub(rf"{re.escape(str(folder))}/|{re.escape(str(folder.resolve()))}/", "", out + err).rstrip("\n").split("\n")


@contextlib.contextmanager
def made_for_two_cores() -> Iterator[None]:
    """Code is made for a machine that is the same everywhere: two cores with AVX2."""
    machine = replace(catalogue.processor("avx2"), cores=2)
    with mock.patch.object(cpu, "host", lambda: machine), mock.patch.object(cpu, "usable_cores", lambda: 2):
        yield


def agrees(said: tuple[str, ...], printed: list[str]) -> bool:
    """Whether the lines printed are those said, where a line `...` stands for any lines.

    >>> agrees(("a", "...", "d"), ["a", "b", "c", "d"]), agrees(("a", "..."), ["a"]), agrees(("a", "...", "d"), ["a", "b"])
    (True, True, False)
    """
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == ANYTHING else re.escape(line.rstrip()) + r"[ ]*\n" for line in said)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def refreshed(page: str, results: Mapping[Command, list[str]]) -> str:
    """The page's text, in which commands without a line `...` are followed by what they print now."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for command, printed in results.items():
        old, new = "\n".join(command.output), "\n".join(line.rstrip() for line in printed)
        if not any(line.strip() == ANYTHING for line in command.output):
            text = text.replace(f"{old}\n```", f"{new}\n```") if old else text
    return text
